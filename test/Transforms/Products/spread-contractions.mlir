// RUN: gnnc-opt %s --spread-contractions --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --spread-contractions --form-outer-sums --form-products | FileCheck %s --check-prefix=FORMED
// RUN: gnnc-opt %s --spread-contractions --remark-format=emitRemark --remarks-filter=spread-contractions \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Sums of 9000 terms: the terms become rows, and the sum a product over all of them.
// CHECK: mpdfg.space @rows.9000 static {extent = 9000 : i64}
// CHECK-LABEL: func @long
// CHECK: %[[A:.*]] = mpdfg.transpose %arg0 [1, 0] : tensor<90x9000xf32> -> tensor<9000x90xf32>
// CHECK: %[[X:.*]] = mpdfg.spread %[[A]]
// CHECK: %[[Y:.*]] = mpdfg.spread %arg1
// CHECK: %[[P:.*]] = mpdfg.contract %[[X]] [0], %[[Y]] [1] -> [0, 1]
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[P]] along @all {{.*}} -> tensor<90x30xf32>
// CHECK: %[[R:.*]] = mpdfg.transpose %[[S]] [1, 0] : tensor<90x30xf32> -> tensor<30x90xf32>
// CHECK: return %[[R]]
// FORMED-LABEL: func @long
// FORMED: mpk.outer_sum over @rows.9000
func.func @long(%c: tensor<90x9000xf32>, %w: tensor<9000x30xf32>) -> tensor<30x90xf32> {
  %0 = mpdfg.contract %c [0, 2], %w [2, 1] -> [1, 0] : tensor<90x9000xf32>, tensor<9000x30xf32> -> tensor<30x90xf32>
  return %0 : tensor<30x90xf32>
}

// Several axes are summed together, and several make the result.
// CHECK-LABEL: func @axes
// CHECK: mpdfg.reshape {{.*}} -> tensor<6400x6xf32>
// CHECK: mpdfg.reshape {{.*}} -> tensor<6400x5xf32>
// CHECK: mpdfg.reduce sum {{.*}} -> tensor<6x5xf32>
// CHECK: mpdfg.reshape {{.*}} : tensor<6x5xf32> -> tensor<2x3x5xf32>
func.func @axes(%c: tensor<2x80x3x80xf32>, %w: tensor<80x80x5xf32>) -> tensor<2x3x5xf32> {
  %0 = mpdfg.contract %c [0, 3, 1, 4], %w [3, 4, 2] -> [0, 1, 2] : tensor<2x80x3x80xf32>, tensor<80x80x5xf32> -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// Not: short sums; more numbers in the result than terms in a sum; an axis in all three; an operand without an axis of
// its own; rows of a space.
// CHECK-LABEL: func @left
// CHECK-NOT: mpdfg.spread
// CHECK: return
// REMARK-COUNT-3: [Missed] spread
// REMARK-NOT: [Missed]
mpdfg.space @node root
func.func @left(%a: tensor<90x900xf32>, %b: tensor<30x900xf32>, %c: tensor<90x5000xf32>, %d: tensor<5000x60xf32>,
                %e: tensor<2x5000xf32>, %x: tensor<?x5000xf32, #mpdfg.on<@node>>, %f: tensor<5000xf32>)
    -> (tensor<90x30xf32>, tensor<90x60xf32>, tensor<2xf32>, tensor<?x60xf32, #mpdfg.on<@node>>, tensor<60xf32>) {
  %0 = mpdfg.contract %a [0, 2], %b [1, 2] -> [0, 1] : tensor<90x900xf32>, tensor<30x900xf32> -> tensor<90x30xf32>
  %1 = mpdfg.contract %c [0, 2], %d [2, 1] -> [0, 1] : tensor<90x5000xf32>, tensor<5000x60xf32> -> tensor<90x60xf32>
  %2 = mpdfg.contract %e [0, 1], %e [0, 1] -> [0] : tensor<2x5000xf32>, tensor<2x5000xf32> -> tensor<2xf32>
  %3 = mpdfg.contract %x [0], %d [0, 1] -> [1] : tensor<?x5000xf32, #mpdfg.on<@node>>, tensor<5000x60xf32> -> tensor<?x60xf32, #mpdfg.on<@node>>
  %4 = mpdfg.contract %f [0], %d [0, 1] -> [1] : tensor<5000xf32>, tensor<5000x60xf32> -> tensor<60xf32>
  return %0, %1, %2, %3, %4 : tensor<90x30xf32>, tensor<90x60xf32>, tensor<2xf32>, tensor<?x60xf32, #mpdfg.on<@node>>, tensor<60xf32>
}
