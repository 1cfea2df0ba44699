// RUN: gnnc-opt %s --order-aggregation --split-input-file | FileCheck %s --check-prefixes=CHECK,ORDER
// RUN: gnnc-opt %s --group-types --split-input-file | FileCheck %s

// A map of a space to itself gives its elements the rows of others: these are on the same space, and yet not the
// members' own, so a weight by the members' types is not one by the owners' types, nor constant in their sum.

mpdfg.space @node root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @mate root from @node to @node
mpdfg.map @kind_of root from @node to @kind

// CHECK-LABEL: func @sum_of_sums
// ORDER: %[[W:.*]] = mpdfg.broadcast %arg1 along @kind_of
// ORDER: %[[P:.*]] = mpdfg.contract %arg0 [0], %[[W]] [0, 1] -> [1]
// ORDER: %[[S:.*]] = mpdfg.reduce sum %[[P]] along @mate
// ORDER: %[[T:.*]] = mpdfg.reduce sum %[[S]] along @kind_of
// ORDER: return %[[T]]
func.func @sum_of_sums(%x: tensor<?x2xf32, #mpdfg.on<@node>>, %w: tensor<3x2x4xf32, #mpdfg.on<@kind>>) -> tensor<3x4xf32, #mpdfg.on<@kind>> {
  %0 = mpdfg.broadcast %w along @kind_of : tensor<3x2x4xf32, #mpdfg.on<@kind>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %0 [0, 1] -> [1] : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reduce sum %1 along @mate : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @kind_of : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<3x4xf32, #mpdfg.on<@kind>>
  return %3 : tensor<3x4xf32, #mpdfg.on<@kind>>
}

// -----

mpdfg.space @node root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.space @team root
mpdfg.map @mate root from @node to @node
mpdfg.map @kind_of root from @node to @kind
mpdfg.map @team_of root from @node to @team

// CHECK-LABEL: func @sum_of_moved
// CHECK: %[[W:.*]] = mpdfg.broadcast %arg1 along @kind_of
// CHECK: %[[P:.*]] = mpdfg.contract %arg0 [0], %[[W]] [0, 1] -> [1]
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[P]] along @mate
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[M]] along @team_of
// CHECK: return %[[S]]
func.func @sum_of_moved(%x: tensor<?x2xf32, #mpdfg.on<@node>>, %w: tensor<3x2x4xf32, #mpdfg.on<@kind>>) -> tensor<?x4xf32, #mpdfg.on<@team>> {
  %0 = mpdfg.broadcast %w along @kind_of : tensor<3x2x4xf32, #mpdfg.on<@kind>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %0 [0, 1] -> [1] : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.broadcast %1 along @mate : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @team_of : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@team>>
  return %3 : tensor<?x4xf32, #mpdfg.on<@team>>
}
