// RUN: gnnc-opt %s --differentiate | FileCheck %s

// The first operand is the value, the second has the gradient; inputs that only the second had go with it.
mpdfg.space @node root

// CHECK-LABEL: func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {mpdfg.name = "x"{{[^}]*}}}) ->
// CHECK-NEXT: return %[[X]] : tensor<4xf32>
// CHECK-LABEL: func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {mpdfg.name = "x"
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<4xf32> {mpdfg.name = "grad.y"
// CHECK-NOT: derive_as
// CHECK: mpdfg.unary exp %[[X]]
// CHECK: %[[R:[a-z0-9]+]] = mpdfg.binary mul %[[G]], %{{.*}}
// CHECK-NEXT: return %[[X]], %[[R]] : tensor<4xf32>, tensor<4xf32>
func.func @forward(%x: tensor<4xf32> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
    %n: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "node.order", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>})
    -> (tensor<4xf32> {mpdfg.name = "y"}) {
  %0 = mpdfg.unary exp %x : tensor<4xf32> -> tensor<4xf32>
  %1 = mpdfg.reduce sum %n along @all : tensor<?xf32, #mpdfg.on<@node>> -> tensor<f32>
  %2 = mpdfg.reshape %1 : tensor<f32> -> tensor<1xf32>
  %3 = mpdfg.binary add %0, %2 : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
  %4 = mpdfg.derive_as %x, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
