// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s

// A moved copy that is kept is read where it is in memory, so the kernel that makes it comes first: also where the reader
// is pulled to the front by a sweep that was begun before both.

mpdfg.space @node root
mpdfg.space @entry root
mpdfg.space @columns static {extent = 5 : i64}
mpdfg.map @row root from @entry to @node
mpdfg.map @column root from @entry to @columns

// CHECK-LABEL: func @kept
// CHECK: %[[W:.*]] = mpdfg.spread %arg1
// CHECK-NOT: mpdfg.broadcast
// CHECK: %[[MOVED:.*]] = mpk.sweep over @entry(%[[W]]) access [#mpk.access<gather_owner @column>]
// CHECK-NOT: mpdfg.broadcast
// CHECK: mpk.sweep over @entry(%arg0, %[[MOVED]]) access [#mpk.access<owner>, #mpk.access<owner>]
// CHECK-NOT: mpdfg.broadcast
// CHECK: mpk.sweep over @node along @row
// CHECK-NOT: mpdfg.broadcast
// CHECK: return
func.func @kept(%v: tensor<?x7xf32, #mpdfg.on<@entry>>, %w: tensor<5x7xf32>)
    -> (tensor<?x7xf32, #mpdfg.on<@node>>, tensor<?x7xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.reduce sum %v along @row : tensor<?x7xf32, #mpdfg.on<@entry>> -> tensor<?x7xf32, #mpdfg.on<@node>>
  %1 = mpdfg.spread %w : tensor<5x7xf32> -> tensor<5x7xf32, #mpdfg.on<@columns>>
  %2 = mpdfg.broadcast %1 along @column {mpdfg.keep} : tensor<5x7xf32, #mpdfg.on<@columns>> -> tensor<?x7xf32, #mpdfg.on<@entry>>
  %3 = mpdfg.unary cos %v {mpdfg.keep} : tensor<?x7xf32, #mpdfg.on<@entry>> -> tensor<?x7xf32, #mpdfg.on<@entry>>
  %4 = mpdfg.binary mul %3, %2 {mpdfg.keep} : tensor<?x7xf32, #mpdfg.on<@entry>>, tensor<?x7xf32, #mpdfg.on<@entry>> -> tensor<?x7xf32, #mpdfg.on<@entry>>
  %5 = mpdfg.binary mul %4, %v : tensor<?x7xf32, #mpdfg.on<@entry>>, tensor<?x7xf32, #mpdfg.on<@entry>> -> tensor<?x7xf32, #mpdfg.on<@entry>>
  %6 = mpdfg.reduce max %5 along @row : tensor<?x7xf32, #mpdfg.on<@entry>> -> tensor<?x7xf32, #mpdfg.on<@node>>
  return %0, %6 : tensor<?x7xf32, #mpdfg.on<@node>>, tensor<?x7xf32, #mpdfg.on<@node>>
}
