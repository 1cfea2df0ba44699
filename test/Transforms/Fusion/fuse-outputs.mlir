// RUN: gnnc-opt %s --gnnc-fuse-O0 | FileCheck %s
// RUN: gnnc-opt %s --gnnc-fuse-O1 | FileCheck %s --check-prefix=FUSED

// Every output has memory of its own, also where one value is returned three times: equal copies are not merged.

mpdfg.space @node root

// CHECK-LABEL: func @thrice
// CHECK: %[[A:.*]] = mpk.sweep over @node(%arg0)
// CHECK: %[[B:.*]] = mpk.sweep over @node(%[[A]])
// CHECK: %[[C:.*]] = mpk.sweep over @node(%[[A]])
// CHECK: return %[[A]], %[[B]], %[[C]]
// FUSED-LABEL: func @thrice
// FUSED: %[[S:.*]]:3 = mpk.sweep over @node(%arg0)
// FUSED: return %[[S]]#0, %[[S]]#1, %[[S]]#2
func.func @thrice(%x: tensor<?xf32, #mpdfg.on<@node>>) ->
    (tensor<?xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.unary relu %x : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@node>>
  return %0, %0, %0 : tensor<?xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
}
