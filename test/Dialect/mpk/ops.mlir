// RUN: gnnc-opt %s --verify-roundtrip | FileCheck %s
// RUN: gnnc-opt %s --mlir-print-op-generic | gnnc-opt | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @edge_type static {extent = 9 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @edge_type
mpdfg.map @mate root from @node to @node {partial}

// GAT's aggregation: the example of the operation's description.
// CHECK-LABEL: func @gat
func.func @gat(%sd: tensor<?x8x1xf32, #mpdfg.on<@node>>, %ss: tensor<?x8x1xf32, #mpdfg.on<@node>>,
               %z: tensor<?x8x8xf32, #mpdfg.on<@node>>) -> tensor<?x8x8xf32, #mpdfg.on<@node>> {
  // CHECK: mpk.sweep over @node along @dst(%{{.*}}, %{{.*}}, %{{.*}}) access [#mpk.access<owner>, #mpk.access<gather_member @src>, #mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x1xf32>, %{{.*}}: tensor<8x1xf32>, %{{.*}}: tensor<8x8xf32>):
  // CHECK: mpk.softmax %{{.*}} : tensor<8x1xf32>
  // CHECK: mpk.accumulate sum %{{.*}} : tensor<8x8xf32>
  // CHECK-NEXT: mpk.yield %{{.*}} : tensor<8x8xf32>
  // CHECK-NEXT: } : (tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x8xf32, #mpdfg.on<@node>>) -> tensor<?x8x8xf32, #mpdfg.on<@node>>
  %y = mpk.sweep over @node along @dst (%sd, %ss, %z)
      access [#mpk.access<owner>, #mpk.access<gather_member @src>, #mpk.access<gather_member @src>]
      yields [#mpk.access<owner>] {
  ^bb0(%d: tensor<8x1xf32>, %s: tensor<8x1xf32>, %v: tensor<8x8xf32>):
    %0 = mpdfg.binary add %s, %d : tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x1xf32>
    %1 = mpdfg.unary leaky_relu %0 {alpha = 2.0e-01 : f64} : tensor<8x1xf32> -> tensor<8x1xf32>
    %2 = mpk.softmax %1 : tensor<8x1xf32>
    %3 = mpdfg.binary mul %2, %v : tensor<8x1xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %4 = mpk.accumulate sum %3 : tensor<8x8xf32>
    mpk.yield %4 : tensor<8x8xf32>
  } : (tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x8xf32, #mpdfg.on<@node>>)
    -> tensor<?x8x8xf32, #mpdfg.on<@node>>
  return %y : tensor<?x8x8xf32, #mpdfg.on<@node>>
}

// Every access, and several results: by owner, by member, shared.
// CHECK-LABEL: func @accesses
func.func @accesses(%o: tensor<?x4xf32, #mpdfg.on<@node>>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>, %b: tensor<4xf32>) {
  // CHECK: access [#mpk.access<owner>, #mpk.access<member>, #mpk.access<gather_owner @mate fill 1.000000e+00>, #mpk.access<gather_member @src>, #mpk.access<shared>] yields [#mpk.access<owner>, #mpk.access<member>, #mpk.access<shared>]
  %0:3 = mpk.sweep over @node along @dst (%o, %e, %o, %o, %b)
      access [#mpk.access<owner>, #mpk.access<member>, #mpk.access<gather_owner @mate fill 1.0>,
              #mpk.access<gather_member @src>, #mpk.access<shared>]
      yields [#mpk.access<owner>, #mpk.access<member>, #mpk.access<shared>] {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>, %3: tensor<4xf32>, %4: tensor<4xf32>):
    %5 = mpdfg.binary add %1, %3 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %6 = mpdfg.binary add %0, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    // CHECK: mpk.accumulate max %{{.*}} shared : tensor<4xf32>
    %7 = mpk.accumulate max %5 shared : tensor<4xf32>
    mpk.yield %6, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>,
       tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<4xf32>)
  return
}

// Elementwise work has no members; work on shared values has no owners either.
// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %b: tensor<4xf32>) {
  // CHECK: mpk.sweep over @node(%{{.*}}, %{{.*}}) access
  %0 = mpk.sweep over @node (%x, %b) access [#mpk.access<owner>, #mpk.access<shared>] yields [#mpk.access<owner>] {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = mpdfg.binary add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  // CHECK: mpk.sweep(%{{.*}}) access
  %1 = mpk.sweep (%b) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%2: tensor<4xf32>):
    %3 = mpdfg.unary exp %2 : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mpk.sweep over @node()
  // CHECK-NEXT: mpk.yield
  mpk.sweep over @node () access [] yields [] {
    mpk.yield
  } : () -> ()
  return
}

// CHECK-LABEL: func @products
func.func @products(%x: tensor<?x64xf32, #mpdfg.on<@node>>, %w: tensor<64x16xf32>,
                    %t: tensor<9x64x16xf32, #mpdfg.on<@edge_type>>) {
  // CHECK: mpk.product over @node(%{{.*}}, %{{.*}}) batch 1 rows 1 k 64 n 16 : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>) -> tensor<?x16xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 64 n 16
     : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>) -> tensor<?x16xf32, #mpdfg.on<@node>>
  // CHECK: mpk.product over @edge(%{{.*}}, %{{.*}}) batch 1 rows 1 k 64 n 16 gather @src group @etype : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<9x64x16xf32, #mpdfg.on<@edge_type>>) -> tensor<?x16xf32, #mpdfg.on<@edge>>
  %2 = mpk.product over @edge (%x, %t) batch 1 rows 1 k 64 n 16 gather @src group @etype
     : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<9x64x16xf32, #mpdfg.on<@edge_type>>)
     -> tensor<?x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpk.product over @node(%{{.*}}, %{{.*}}) batch 8 rows 1 k 8 n 16
  %3 = mpk.product over @node (%x, %w) batch 8 rows 1 k 8 n 16
     : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>) -> tensor<?x128xf32, #mpdfg.on<@node>>
  // CHECK: mpk.outer_sum over @node(%{{.*}}, %{{.*}}) batch 1 k 64 n 16 : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<64x16xf32>
  %4 = mpk.outer_sum over @node (%x, %1) batch 1 k 64 n 16
     : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<64x16xf32>
  // CHECK: mpk.outer_sum over @edge(%{{.*}}, %{{.*}}) batch 8 k 8 n 2 gather_lhs @src gather_rhs @dst along @etype
  %5 = mpk.outer_sum over @edge (%x, %1) batch 8 k 8 n 2 gather_lhs @src gather_rhs @dst along @etype
     : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>)
     -> tensor<9x8x8x2xf32, #mpdfg.on<@edge_type>>
  return
}

// CHECK: mpk.arena [@node, unit] bytes [64, 4] first [0, 1] last [2, 1]
mpk.arena [@node, unit] bytes [64, 4] first [0, 1] last [2, 1]
