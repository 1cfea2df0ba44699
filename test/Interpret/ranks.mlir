// RUN: gnnc-opt %s --gnnc-interpret=print-graph -o /dev/null | FileCheck %s --match-full-lines

// One rank alone: what it sends comes back, and it is all that there is to combine.
// CHECK: map second: 3 4
// CHECK: transferred: 2 rows [1]
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: here: 2 rows [1]
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: sum: shared [2]
// CHECK-NEXT: 3 -4
// CHECK-NEXT: same: shared [2]
// CHECK-NEXT: 3 -4
// CHECK-NEXT: in: 2 rows [1]
// CHECK-NEXT: 40
// CHECK-NEXT: 50
module attributes {
  test.extents = {node = 3, send = 2, halo = 2},
  test.maps = {},
  test.inputs = {x = dense<[[1.0], [2.0]]> : tensor<2x1xf64>, w = dense<[3.0, -4.0]> : tensor<2xf64>,
                 u = dense<[[10.0], [20.0], [30.0], [40.0], [50.0]]> : tensor<5x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @send root
  mpdfg.space @halo root
  mpdfg.space @all union {parts = [@node, @halo]}
  mpdfg.map @second injection from @halo to @all {part = 1 : i64}
  func.func @forward(%x: tensor<?x1xf32, #mpdfg.on<@send>> {mpdfg.name = "x"}, %w: tensor<2xf32> {mpdfg.name = "w"},
      %u: tensor<?x1xf32, #mpdfg.on<@all>> {mpdfg.name = "u"})
      -> (tensor<?x1xf32, #mpdfg.on<@halo>> {mpdfg.name = "transferred"}, tensor<?x1xf32, #mpdfg.on<@halo>> {mpdfg.name = "here"},
          tensor<2xf32> {mpdfg.name = "sum"},
          tensor<2xf32> {mpdfg.name = "same"}, tensor<?x1xf32, #mpdfg.on<@halo>> {mpdfg.name = "in"}) {
    %0 = mpdfg.transfer %x : tensor<?x1xf32, #mpdfg.on<@send>> -> tensor<?x1xf32, #mpdfg.on<@halo>>
    %begun = mpdfg.transfer %x : tensor<?x1xf32, #mpdfg.on<@send>> -> tensor<?x1xf32, #mpdfg.on<@halo>>
    %here = mpdfg.await %begun sent %x : tensor<?x1xf32, #mpdfg.on<@halo>>, tensor<?x1xf32, #mpdfg.on<@send>>
    %1 = mpdfg.all_reduce sum %w : tensor<2xf32>
    %2 = mpdfg.vary %w : tensor<2xf32>
    %c = mpdfg.constant 7.0 : tensor<2xf32>
    %d = mpdfg.derive_as %2, %c : tensor<2xf32>
    %3 = mpdfg.broadcast %u along @second : tensor<?x1xf32, #mpdfg.on<@all>> -> tensor<?x1xf32, #mpdfg.on<@halo>>
    return %0, %here, %1, %d, %3 : tensor<?x1xf32, #mpdfg.on<@halo>>, tensor<?x1xf32, #mpdfg.on<@halo>>, tensor<2xf32>, tensor<2xf32>, tensor<?x1xf32, #mpdfg.on<@halo>>
  }
}
