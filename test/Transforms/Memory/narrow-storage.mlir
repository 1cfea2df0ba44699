// RUN: gnnc-opt %s --narrow-storage -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --narrow-storage=storage=f16 -split-input-file | FileCheck %s --check-prefix=HALF
// RUN: gnnc-opt %s --narrow-storage=storage=as-computed -split-input-file | FileCheck %s --check-prefix=WHOLE
// RUN: gnnc-opt %s --narrow-storage=whole-interface -split-input-file | FileCheck %s --check-prefix=BETWEEN
// RUN: gnnc-opt %s --narrow-storage -split-input-file --remark-format=emitRemark --remarks-filter=narrow-storage -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// Inputs, outputs and wide rows between kernels; bodies compute as before. Parameters stay, and so do rows of one sector.
// CHECK-LABEL: func @forward(
// CHECK-SAME: tensor<?x16xbf16, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>}
// CHECK-SAME: tensor<16x16xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}
// CHECK-SAME: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "e", mpdfg.role = #mpdfg.role<param>}
// CHECK-SAME: tensor<f32> {mpdfg.name = "s", mpdfg.role = #mpdfg.role<input>}
// CHECK-SAME: -> (tensor<?x2xbf16, #mpdfg.on<@node>>
// CHECK: %{{.*}}:2 = mpk.product
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<16xf32>, %{{.*}}: tensor<f32>):
// CHECK: : (tensor<?x16xbf16, #mpdfg.on<@node>>, tensor<16x16xf32>, tensor<f32>) -> (tensor<?x16xbf16, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>)
// CHECK: mpk.sweep
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<16xf32>, %{{.*}}: tensor<1xf32>, %{{.*}}: tensor<16xf32>, %{{.*}}: tensor<f32>):
// CHECK: -> tensor<?x2xbf16, #mpdfg.on<@node>>
// HALF-LABEL: func @forward(
// HALF-SAME: %arg0: tensor<?x16xf16, #mpdfg.on<@node>>
// WHOLE-NOT: bf16
// BETWEEN-LABEL: func @forward(%arg0: tensor<?x16xf32, #mpdfg.on<@node>>
// BETWEEN-SAME: -> (tensor<?x2xf32, #mpdfg.on<@node>>
// BETWEEN: -> (tensor<?x16xbf16, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>)
// BETWEEN: -> tensor<?x2xf32, #mpdfg.on<@node>>
// REMARK: [Missed] kept-whole | Category:narrow-storage | Function=forward | Reason="its rows are one sector of memory either way"
func.func @forward(%x: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                   %w: tensor<16x16xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>},
                   %e: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "e", mpdfg.role = #mpdfg.role<param>},
                   %s: tensor<f32> {mpdfg.name = "s", mpdfg.role = #mpdfg.role<input>}) -> (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
  %z:2 = mpk.product over @node (%x, %w) batch 1 rows 1 k 16 n 16 epilogue (%s) access [#mpk.access<shared>] {
  ^bb0(%row: tensor<16xf32>, %t: tensor<f32>):
    %0 = mpdfg.fold sum %row [0] : tensor<16xf32> -> tensor<1xf32>
    mpk.yield %row, %0 : tensor<16xf32>, tensor<1xf32>
  } : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<16x16xf32>, tensor<f32>) -> (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>)
  %y = mpk.sweep over @node along @dst (%z#0, %z#1, %e, %s)
      access [#mpk.access<gather_member @src>, #mpk.access<owner>, #mpk.access<owner>, #mpk.access<shared>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<16xf32>, %b: tensor<1xf32>, %c: tensor<16xf32>, %d: tensor<f32>):
    %1 = mpk.accumulate sum %a : tensor<16xf32>
    %2 = mpdfg.slice %1 axis 0 from 0 : tensor<16xf32> -> tensor<2xf32>
    mpk.yield %2 : tensor<2xf32>
  } : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<f32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %y : tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Element numbers are bits, and the exponential of a log-sum-exp is taken again.
// CHECK-LABEL: func @statistics(
// CHECK: mpk.sweep
// CHECK: : (tensor<?x16xbf16, #mpdfg.on<@edge>>) -> (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xbf16, #mpdfg.on<@node>>)
// REMARK: Function=statistics | Reason="it holds element numbers"
// REMARK: Function=statistics | Reason="it is a log-sum-exp or a softmax's statistic, whose exponential is taken again"
func.func @statistics(%x: tensor<?x16xf32, #mpdfg.on<@edge>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (tensor<?x16xf32, #mpdfg.on<@edge>> {mpdfg.name = "y"}) {
  %0:3 = mpk.sweep over @node along @dst (%x) access [#mpk.access<member>] yields [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<16xf32>):
    %1 = mpk.accumulate argmax %a : tensor<16xf32>
    %2 = mpk.accumulate logsumexp %a : tensor<16xf32>
    %3 = mpk.accumulate max %a : tensor<16xf32>
    mpk.yield %1, %2, %3 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  } : (tensor<?x16xf32, #mpdfg.on<@edge>>) -> (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>)
  %4 = mpk.sweep over @edge (%x, %0#0, %0#1, %0#2)
      access [#mpk.access<owner>, #mpk.access<gather_owner @dst>, #mpk.access<gather_owner @dst>, #mpk.access<gather_owner @dst>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<16xf32>, %w: tensor<16xf32>, %l: tensor<16xf32>, %m: tensor<16xf32>):
    %n = mpdfg.element : tensor<1xf32>
    %5 = mpdfg.is_element %w, %n : tensor<16xf32>, tensor<1xf32> -> tensor<16xf32>
    %6 = mpdfg.binary sub %m, %l : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
    %7 = mpdfg.binary mul %5, %6 : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
    mpk.yield %7 : tensor<16xf32>
  } : (tensor<?x16xf32, #mpdfg.on<@edge>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<?x16xf32, #mpdfg.on<@edge>>
  return %4 : tensor<?x16xf32, #mpdfg.on<@edge>>
}

// -----

mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @kind root from @node to @type

// Weights, also those of types; gradients of parameters, wherever they are; what replaces a state.
// CHECK-LABEL: func @weights(
// CHECK-SAME: tensor<?x16xbf16, #mpdfg.on<@node>>
// CHECK-SAME: tensor<3x16x16xf32, #mpdfg.on<@type>>
// CHECK-SAME: -> (tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.e"}, tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "e", mpdfg.updates = #mpdfg.argument<1>
// CHECK-SAME: tensor<3x16x16xf32, #mpdfg.on<@type>> {mpdfg.name = "g"})
func.func @weights(%x: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                   %e: tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "e", mpdfg.role = #mpdfg.role<param>},
                   %w: tensor<3x16x16xf32, #mpdfg.on<@type>> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.e"}, tensor<?x16xf32, #mpdfg.on<@node>> {mpdfg.name = "e", mpdfg.updates = #mpdfg.argument<1>},
        tensor<3x16x16xf32, #mpdfg.on<@type>> {mpdfg.name = "g"}) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 16 n 16 group @kind : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<3x16x16xf32, #mpdfg.on<@type>>) -> tensor<?x16xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%0, %w) batch 1 rows 1 k 16 n 16 group @kind : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<3x16x16xf32, #mpdfg.on<@type>>) -> tensor<?x16xf32, #mpdfg.on<@node>>
  %2 = mpk.outer_sum over @node (%x, %0) batch 1 k 16 n 16 along @kind : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<3x16x16xf32, #mpdfg.on<@type>>
  return %0, %1, %2 : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>, tensor<3x16x16xf32, #mpdfg.on<@type>>
}

// -----

mpdfg.space @node root
mpdfg.space @send root
mpdfg.space @halo root

// Digits of element numbers stay whole, also where they are chosen and compared; what is chosen by them does not.
// CHECK-LABEL: func @digits(
// CHECK: mpk.sweep
// CHECK: -> (tensor<?x16xf32, #mpdfg.on<@send>>, tensor<?x16xbf16, #mpdfg.on<@send>>)
// CHECK: mpdfg.transfer %{{.*}} : tensor<?x16xf32, #mpdfg.on<@send>> -> tensor<?x16xf32, #mpdfg.on<@halo>>
// CHECK: mpdfg.transfer %{{.*}} : tensor<?x16xbf16, #mpdfg.on<@send>> -> tensor<?x16xbf16, #mpdfg.on<@halo>>
func.func @digits(%n: tensor<?x1xf32, #mpdfg.on<@send>> {mpdfg.name = "send.order", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>},
                  %x: tensor<?x16xf32, #mpdfg.on<@send>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (tensor<?x16xf32, #mpdfg.on<@halo>> {mpdfg.name = "y"}, tensor<?x16xf32, #mpdfg.on<@halo>> {mpdfg.name = "z"}) {
  %0:2 = mpk.sweep over @send (%n, %x) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<1xf32>, %b: tensor<16xf32>):
    %none = mpdfg.constant 0x7FF0000000000000 : tensor<1xf32>
    %1 = mpdfg.select %b, %a, %none : tensor<16xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<16xf32>
    %2 = mpdfg.binary eq %a, %1 : tensor<1xf32>, tensor<16xf32> -> tensor<16xf32>
    %3 = mpdfg.select %2, %b, %none : tensor<16xf32>, tensor<16xf32>, tensor<1xf32> -> tensor<16xf32>
    mpk.yield %1, %3 : tensor<16xf32>, tensor<16xf32>
  } : (tensor<?x1xf32, #mpdfg.on<@send>>, tensor<?x16xf32, #mpdfg.on<@send>>) -> (tensor<?x16xf32, #mpdfg.on<@send>>, tensor<?x16xf32, #mpdfg.on<@send>>)
  %4 = mpdfg.transfer %0#0 : tensor<?x16xf32, #mpdfg.on<@send>> -> tensor<?x16xf32, #mpdfg.on<@halo>>
  %5 = mpdfg.transfer %0#1 : tensor<?x16xf32, #mpdfg.on<@send>> -> tensor<?x16xf32, #mpdfg.on<@halo>>
  return %4, %5 : tensor<?x16xf32, #mpdfg.on<@halo>>, tensor<?x16xf32, #mpdfg.on<@halo>>
}
