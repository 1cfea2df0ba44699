// RUN: gnnc-opt %s --fuse-message-passing=keep=false | FileCheck %s

// The largest number of a row that a kernel makes for itself is found in that kernel: another one may have added the
// numbers of its rows in another order, so that none of these is equal to what it found.

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node

// CHECK-LABEL: func @again
// CHECK: %[[MOST:.*]] = mpk.sweep over @node
// CHECK: mpdfg.fold max
// CHECK: mpk.sweep over @edge(%arg1, %[[MOST]])
// CHECK: mpk.sweep over @node along @src(
// CHECK-NOT: %[[MOST]]
// CHECK: %[[ROW:.*]] = mpdfg.fold mean
// CHECK: %[[AGAIN:.*]] = mpdfg.fold max %[[ROW]]
// CHECK: mpdfg.binary eq %[[ROW]], %[[AGAIN]]
// CHECK: return
func.func @again(%x: tensor<?x7x16xf32, #mpdfg.on<@node>>, %e: tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1x16xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.fold mean %x [0] : tensor<?x7x16xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  %1 = mpdfg.fold max %0 [1] : tensor<?x1x16xf32, #mpdfg.on<@node>> -> tensor<?x1x1xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reshape %1 : tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %3 = mpdfg.broadcast %2 along @src : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.binary sub %e, %3 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.reduce sum %e along @src : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %6 = mpdfg.reshape %5 : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1x1xf32, #mpdfg.on<@node>>
  %7 = mpdfg.binary eq %0, %1 : tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  %8 = mpdfg.binary mul %7, %6 : tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  return %4, %8 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1x16xf32, #mpdfg.on<@node>>
}

// A row that is kept is the same for all.
// CHECK-LABEL: func @kept
// CHECK: %[[BOTH:.*]]:2 = mpk.sweep over @node
// CHECK: mpdfg.fold max
// CHECK: mpk.sweep over @node along @src(
// CHECK-NOT: mpdfg.fold mean
// CHECK: mpdfg.binary eq
// CHECK: return
func.func @kept(%x: tensor<?x7x16xf32, #mpdfg.on<@node>>, %e: tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x16xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.fold mean %x [0] : tensor<?x7x16xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  %1 = mpdfg.fold max %0 [1] : tensor<?x1x16xf32, #mpdfg.on<@node>> -> tensor<?x1x1xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reshape %1 : tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %3 = mpdfg.broadcast %2 along @src : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.binary sub %e, %3 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.reduce sum %e along @src : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %6 = mpdfg.reshape %5 : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1x1xf32, #mpdfg.on<@node>>
  %7 = mpdfg.binary eq %0, %1 : tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  %8 = mpdfg.binary mul %7, %6 : tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x1xf32, #mpdfg.on<@node>> -> tensor<?x1x16xf32, #mpdfg.on<@node>>
  return %4, %8, %0 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1x16xf32, #mpdfg.on<@node>>, tensor<?x1x16xf32, #mpdfg.on<@node>>
}
