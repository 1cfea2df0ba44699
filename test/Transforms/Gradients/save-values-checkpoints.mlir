// The forward half in segments: what crosses from one to the next is kept, and the first ones are copied for the backward
// half, each right before what reads it. The last is read as it is.
//
// RUN: gnnc-opt %s --save-values='checkpoints=2' | FileCheck %s
// RUN: gnnc-opt %s --save-values='checkpoints=1' | FileCheck %s --check-prefix=WHOLE
// RUN: gnnc-opt %s --save-values='checkpoints=2' -o /dev/null --remark-format=emitRemark --remarks-filter=save-values 2>&1 | FileCheck %s --check-prefix=KEPT

mpdfg.space @node root

// y = x4, where each value is 16 numbers of the one before.
// KEPT: [Passed] checkpoint {{.*}}value is kept between two segments: 16 numbers for each element of @node
// KEPT: [Passed] repeat {{.*}}value is computed once more for the backward half: 16 numbers for each element of @node
// WHOLE-NOT: mpdfg.again
// WHOLE-NOT: mpdfg.keep
// CHECK-LABEL: func @gradient
func.func @gradient(%x: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                    %g: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
    -> (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) {
  // CHECK: %[[X1:.*]] = mpdfg.unary tanh %arg0 :
  %1 = mpdfg.unary tanh %x : tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK: %[[X2:.*]] = mpdfg.unary sin %[[X1]] {mpdfg.keep}
  %2 = mpdfg.unary sin %1 : tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK: %[[X3:.*]] = mpdfg.unary tanh %[[X2]] :
  %3 = mpdfg.unary tanh %2 : tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  %4 = mpdfg.unary exp %3 : tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.binary mul %arg1
  %5 = mpdfg.binary mul %g, %4 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK-NEXT: mpdfg.binary mul %{{.*}}, %[[X3]]
  %6 = mpdfg.binary mul %5, %3 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK-NEXT: mpdfg.binary mul %{{.*}}, %[[X2]]
  %7 = mpdfg.binary mul %6, %2 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK-NEXT: %[[AGAIN:.*]] = mpdfg.unary tanh %arg0 {mpdfg.again}
  // CHECK-NEXT: mpdfg.binary mul %{{.*}}, %[[AGAIN]]
  %8 = mpdfg.binary mul %7, %1 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@node>>
  return %4, %8 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>
}
