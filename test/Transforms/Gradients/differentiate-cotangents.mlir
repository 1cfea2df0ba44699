// RUN: gnnc-opt %s --differentiate=cotangents=y | FileCheck %s

// Output z has no cotangent: its infinite derivative has no part in that of x. What no other output depends on, has a
// gradient of zeros.
mpdfg.space @node root
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: mpdfg.name = "grad.y"
// CHECK-NOT: grad.z
// CHECK-SAME: -> ({{.*}}mpdfg.name = "y"{{.*}}mpdfg.name = "z"{{.*}}mpdfg.name = "grad.x"{{.*}}mpdfg.name = "grad.w"
// CHECK: [[Y:%.*]] = mpdfg.unary neg %{{.*}}
// CHECK: [[Z:%.*]] = mpdfg.unary log
// CHECK: [[X:%.*]] = mpdfg.unary neg %arg2
// CHECK-NOT: mpdfg.binary
// CHECK: [[ZERO:%.*]] = mpdfg.constant 0
// CHECK: return [[Y]], {{%.*}}, [[X]], 
func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                   %w: tensor<2xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "z"}) {
  %0 = mpdfg.unary neg %x : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  %1 = mpdfg.unary log %x : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %1, %w : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0, %2 : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}
