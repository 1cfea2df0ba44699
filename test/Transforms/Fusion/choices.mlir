// Operations that name a map which the program chooses come after what chooses, though it is no operand of theirs. What
// nobody follows is not chosen.
//
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --join-launches --place-updates --plan-memory | FileCheck %s --check-prefix=PLAN

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node
mpdfg.space @far selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @node

!x = tensor<?x4xf32, #mpdfg.on<@node>>
!e = tensor<?x4xf32, #mpdfg.on<@near>>
!f = tensor<?x4xf32, #mpdfg.on<@far>>

// The second search is by what was summed along the first one's map; its sum cannot be of the first sweep, though both
// are over nodes. The result of the first is in memory until the last sweep that follows it.
// CHECK-LABEL: func @twice
// CHECK: %[[N:.*]] = mpdfg.nearest %arg0, %arg0 along @near.src owner @near.dst
// CHECK: %[[H:.*]] = mpk.sweep over @node along @near.dst(%arg0) access [#mpk.access<gather_member @near.src>]
// CHECK: mpdfg.nearest %[[H]], %[[H]] along @far.src owner @far.dst
// CHECK: mpk.sweep over @node along @far.dst(%[[H]]) access [#mpk.access<gather_member @far.src>]
// CHECK: mpk.sweep over @node along @near.src(%arg0) access [#mpk.access<gather_member @near.dst>]
// PLAN-LABEL: func @twice
// PLAN: mpk.arena [@near, @node, @far] bytes [4, 16, 4] first [0, 1, 2] last [4, 3, 3]
// PLAN: mpdfg.nearest %arg0, %arg0 along @near.src
// PLAN: mpk.sweep
// PLAN: mpdfg.nearest
// PLAN: mpk.sweep
// PLAN: mpk.sweep
// PLAN-NEXT: ^bb0
func.func @twice(%x: !x) -> (!x, !x) {
  %list = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> tensor<?xf32, #mpdfg.on<@near>>
  %0 = mpdfg.broadcast %x along @near.src : !x -> !e
  %h = mpdfg.reduce sum %0 along @near.dst : !e -> !x
  %more = mpdfg.nearest %h, %h along @far.src owner @far.dst : !x, !x -> tensor<?xf32, #mpdfg.on<@far>>
  %1 = mpdfg.broadcast %h along @far.src : !x -> !f
  %y = mpdfg.reduce sum %1 along @far.dst : !f -> !x
  %2 = mpdfg.broadcast %x along @near.dst : !x -> !e
  %z = mpdfg.reduce sum %2 along @near.src : !e -> !x
  return %y, %z : !x, !x
}

// CHECK-LABEL: func @unused
// CHECK-NOT: mpdfg.nearest
// CHECK: return
func.func @unused(%x: !x) -> !x {
  %list = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> tensor<?xf32, #mpdfg.on<@near>>
  %0 = mpdfg.broadcast %x along @near.dst : !x -> !e
  %1 = mpdfg.reduce sum %0 along @near.dst : !e -> !x
  return %1 : !x
}

// A degree is no kernel's, and stays behind the choice.
// CHECK-LABEL: func @degree
// CHECK: mpdfg.nearest
// CHECK-NEXT: %[[D:.*]] = mpdfg.degree along @near.src
// CHECK-NEXT: mpk.sweep over @node(%arg0, %[[D]])
func.func @degree(%x: !x) -> !x {
  %list = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> tensor<?xf32, #mpdfg.on<@near>>
  %0 = mpdfg.degree along @near.src : tensor<?xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reshape %0 : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %x, %1 : !x, tensor<?x1xf32, #mpdfg.on<@node>> -> !x
  return %2 : !x
}
