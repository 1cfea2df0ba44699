// RUN: gnnc-opt %s --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O1 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// A partial map in the middle of everything: what fusion must not mix up. Elements 1 and 4 belong to nobody.
//   x       -1  5 -3 -2  9
//   exp(x)  0.367879  148.413  0.0497871  0.135335  8103.08
// CHECK: result0: 5 rows [1]
// CHECK-NEXT: 0.367879
// CHECK-NEXT: 148.413
// CHECK-NEXT: 0.0497871
// CHECK-NEXT: 0.135335
// CHECK-NEXT: 8103.08
// CHECK-NEXT: result1: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 0.553002
// CHECK-NEXT: result2: 5 rows [1]
// CHECK-NEXT: 0.920881
// CHECK-NEXT: 151.413
// CHECK-NEXT: 0.602789
// CHECK-NEXT: 0.688337
// CHECK-NEXT: 8106.08
// CHECK-NEXT: result3: shared [1]
// CHECK-NEXT: 8259.71
// CHECK-NEXT: result4: 5 rows [1]
// CHECK-NEXT: 0.764697
// CHECK-NEXT: 148.413
// CHECK-NEXT: 0.338486
// CHECK-NEXT: 0.449819
// CHECK-NEXT: 8103.08
// CHECK-NEXT: result5: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 0.396817
// CHECK-NEXT: result6: shared [1]
// CHECK-NEXT: 8103.08
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!e = tensor<?x1xf32, #mpdfg.on<@item>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 2, item = 5},
  test.maps = {of = array<i64: 1, -1, 1, 1, -1>},
  test.inputs = {x = dense<[[-1.0], [5.0], [-3.0], [-2.0], [9.0]]> : tensor<5x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @item root
  mpdfg.map @of root from @item to @node {partial}
  func.func @forward(%x: !e {mpdfg.name = "x"}) -> (!e, !n, !e, !r, !e, !n, !r) {
    %0 = mpdfg.unary exp %x : !e -> !e
    %1 = mpdfg.reduce sum %0 along @of : !e -> !n
    %2 = mpdfg.broadcast %1 along @of {fill = 3.0 : f64} : !n -> !e
    %3 = mpdfg.binary add %0, %2 : !e, !e -> !e
    %4 = mpdfg.reduce sum %3 along @all : !e -> !r
    %5 = mpdfg.norm %3 along @of : !e -> !e
    %6 = mpdfg.reduce max %5 along @of : !e -> !n
    %7 = mpdfg.binary add %5, %0 : !e, !e -> !e
    %8 = mpdfg.reduce logsumexp %7 along @all : !e -> !r
    return %0, %1, %3, %4, %7, %6, %8 : !e, !n, !e, !r, !e, !n, !r
  }
}
