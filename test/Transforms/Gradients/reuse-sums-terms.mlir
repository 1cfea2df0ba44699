// Inner products that are contractions, and the sum of several inner products.
// RUN: gnnc-opt %s --reuse-sums -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --reuse-sums -split-input-file --remark-format=emitRemark --remarks-filter=reuse-sums -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!heads = tensor<?x2xf32, #mpdfg.on<@edge>>
!attr = tensor<?x3xf32, #mpdfg.on<@edge>>
!pairs = tensor<?x2x3xf32, #mpdfg.on<@edge>>
!owner = tensor<?x2x3xf32, #mpdfg.on<@node>>
!few = tensor<?x2xf32, #mpdfg.on<@node>>

// Features that each edge gives to all heads: sum p <g, a> = <g, sum p a>.
// CHECK-LABEL: func @contraction
// CHECK: %[[O:.*]] = mpdfg.reduce sum %{{.*}} along @dst
// CHECK: %[[D:.*]] = mpdfg.contract %arg2 [0, 2], %[[O]] [0, 2] -> [0]
// CHECK-NOT: mpdfg.reduce
// CHECK: return %[[O]], %[[D]]
// REMARK: Function=contraction | Remark="sum along @dst follows from an earlier one"
func.func @contraction(%p: !heads, %a: !attr, %g: !owner) -> (!owner, !few) {
  %0 = mpdfg.contract %p [0], %a [2] -> [0, 2] : !heads, !attr -> !pairs
  %o = mpdfg.reduce sum %0 along @dst : !pairs -> !owner
  %b = mpdfg.broadcast %g along @dst : !owner -> !pairs
  %i = mpdfg.contract %b [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %t = mpdfg.binary mul %p, %i : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %o, %d : !owner, !few
}

// The axes of the sum stand in another order: labels follow them.
// CHECK-LABEL: func @turned
// CHECK: %[[O:.*]] = mpdfg.reduce sum %{{.*}} along @dst
// CHECK: mpdfg.contract %arg2 [0, 2], %[[O]] [2, 0] -> [0]
// CHECK-NOT: mpdfg.reduce
func.func @turned(%p: !heads, %a: !attr, %g: !owner) -> (tensor<?x3x2xf32, #mpdfg.on<@node>>, !few) {
  %0 = mpdfg.contract %a [5], %p [4] -> [5, 4] : !attr, !heads -> tensor<?x3x2xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %0 along @dst : tensor<?x3x2xf32, #mpdfg.on<@edge>> -> tensor<?x3x2xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : !owner -> !pairs
  %i = mpdfg.contract %b [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %t = mpdfg.binary mul %p, %i : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %o, %d : tensor<?x3x2xf32, #mpdfg.on<@node>>, !few
}

// The owner's factor does not move along the map of the sum.
// CHECK-LABEL: func @other_end
// CHECK-COUNT-2: mpdfg.reduce sum
func.func @other_end(%p: !heads, %a: !attr, %g: !owner) -> (!owner, !few) {
  %0 = mpdfg.contract %p [0], %a [2] -> [0, 2] : !heads, !attr -> !pairs
  %o = mpdfg.reduce sum %0 along @dst : !pairs -> !owner
  %b = mpdfg.broadcast %g along @src : !owner -> !pairs
  %i = mpdfg.contract %b [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %t = mpdfg.binary mul %p, %i : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %o, %d : !owner, !few
}

// The weight of the sum that is there meets the features' own axis: it is no sum of all pairs.
// CHECK-LABEL: func @other_axes
// CHECK-COUNT-2: mpdfg.reduce sum
func.func @other_axes(%p: !heads, %a: !heads, %g: tensor<?x2x2xf32, #mpdfg.on<@node>>) -> (!few, !few) {
  %0 = mpdfg.contract %p [0], %a [0] -> [0] : !heads, !heads -> !heads
  %o = mpdfg.reduce sum %0 along @dst : !heads -> !few
  %b = mpdfg.broadcast %g along @dst : tensor<?x2x2xf32, #mpdfg.on<@node>> -> tensor<?x2x2xf32, #mpdfg.on<@edge>>
  %i = mpdfg.contract %b [0, 2], %a [2] -> [0] : tensor<?x2x2xf32, #mpdfg.on<@edge>>, !heads -> !heads
  %t = mpdfg.binary mul %p, %i : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %o, %d : !few, !few
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!heads = tensor<?x2xf32, #mpdfg.on<@edge>>
!ones = tensor<?x2x1xf32, #mpdfg.on<@edge>>
!attr = tensor<?x3xf32, #mpdfg.on<@edge>>
!pairs = tensor<?x2x3xf32, #mpdfg.on<@edge>>
!row = tensor<?x2x4xf32, #mpdfg.on<@edge>>
!out = tensor<?x2x4xf32, #mpdfg.on<@node>>
!owner = tensor<?x2x3xf32, #mpdfg.on<@node>>
!few = tensor<?x2xf32, #mpdfg.on<@node>>
!flat = tensor<?x1x3xf32, #mpdfg.on<@edge>>
!w = tensor<3x2x4xf32>

// An attention over rows and features of edges: sum p (<g, v> + <g W, a>) = <g, sum p v + (sum p a) W>, and that is what
// the layer gives.
// CHECK-LABEL: func @attention
// CHECK: %[[Y:.*]] = mpdfg.binary add
// CHECK: mpdfg.contract %arg4
// CHECK: %[[M:.*]] = mpdfg.binary mul %arg4, %[[Y]]
// CHECK: %[[F:.*]] = mpdfg.fold sum %[[M]] [1]
// CHECK: %[[D:.*]] = mpdfg.reshape %[[F]]
// CHECK-NOT: mpdfg.reduce
// CHECK: return %[[Y]], %[[D]]
// REMARK: Function=attention | Remark="sum along @dst follows from 2 earlier ones"
func.func @attention(%p: !heads, %x: !out, %a: !attr, %w: !w, %g: !out) -> (!out, !few) {
  %v = mpdfg.broadcast %x along @src : !out -> !row
  %q = mpdfg.reshape %p : !heads -> !ones
  %m = mpdfg.binary mul %q, %v : !ones, !row -> !row
  %o = mpdfg.reduce sum %m along @dst : !row -> !out
  %n = mpdfg.contract %p [0], %a [2] -> [0, 2] : !heads, !attr -> !pairs
  %s = mpdfg.reduce sum %n along @dst : !pairs -> !owner
  %sw = mpdfg.contract %s [0, 2], %w [2, 0, 1] -> [0, 1] : !owner, !w -> !out
  %y = mpdfg.binary add %o, %sw : !out, !out -> !out
  %b = mpdfg.broadcast %g along @dst : !out -> !row
  %gv = mpdfg.binary mul %b, %v : !row, !row -> !row
  %i = mpdfg.fold sum %gv [1] : !row -> !ones
  %gw = mpdfg.contract %g [0, 1], %w [2, 0, 1] -> [0, 2] : !out, !w -> !owner
  %c = mpdfg.broadcast %gw along @dst : !owner -> !pairs
  %j = mpdfg.contract %c [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %k = mpdfg.reshape %j : !heads -> !ones
  %l = mpdfg.binary add %i, %k : !ones, !ones -> !ones
  %r = mpdfg.reshape %l : !ones -> !heads
  %t = mpdfg.binary mul %p, %r : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %y, %d : !out, !few
}

// The same by hand: features that repeat for each head are multiplied and folded.
// CHECK-LABEL: func @by_hand
// CHECK: %[[Y:.*]] = mpdfg.binary add
// CHECK: %[[M:.*]] = mpdfg.binary mul %arg4, %[[Y]]
// CHECK: mpdfg.fold sum %[[M]] [1]
// CHECK-NOT: mpdfg.reduce
// CHECK: return %[[Y]]
func.func @by_hand(%p: !heads, %x: !out, %a: !attr, %w: !w, %g: !out) -> (!out, !few) {
  %v = mpdfg.broadcast %x along @src : !out -> !row
  %q = mpdfg.reshape %p : !heads -> !ones
  %e = mpdfg.reshape %a : !attr -> !flat
  %m = mpdfg.binary mul %q, %v : !ones, !row -> !row
  %o = mpdfg.reduce sum %m along @dst : !row -> !out
  %n = mpdfg.binary mul %q, %e : !ones, !flat -> !pairs
  %s = mpdfg.reduce sum %n along @dst : !pairs -> !owner
  %sw = mpdfg.contract %s [0, 2], %w [2, 0, 1] -> [0, 1] : !owner, !w -> !out
  %y = mpdfg.binary add %o, %sw : !out, !out -> !out
  %b = mpdfg.broadcast %g along @dst : !out -> !row
  %gv = mpdfg.binary mul %b, %v : !row, !row -> !row
  %i = mpdfg.fold sum %gv [1] : !row -> !ones
  %gw = mpdfg.contract %g [0, 1], %w [2, 0, 1] -> [0, 2] : !out, !w -> !owner
  %c = mpdfg.broadcast %gw along @dst : !owner -> !pairs
  %ga = mpdfg.binary mul %c, %e : !pairs, !flat -> !pairs
  %k = mpdfg.fold sum %ga [1] : !pairs -> !ones
  %l = mpdfg.binary add %i, %k : !ones, !ones -> !ones
  %t = mpdfg.binary mul %q, %l : !ones, !ones -> !ones
  %d = mpdfg.reduce sum %t along @dst : !ones -> tensor<?x2x1xf32, #mpdfg.on<@node>>
  %f = mpdfg.reshape %d : tensor<?x2x1xf32, #mpdfg.on<@node>> -> !few
  return %y, %f : !out, !few
}

// What the layer gives is made with another weight: two inner products.
// CHECK-LABEL: func @other_weight
// CHECK-COUNT-2: mpdfg.reduce sum
// CHECK: mpdfg.fold sum
// CHECK: mpdfg.contract {{.*}} -> [0]
// CHECK: mpdfg.binary add
// CHECK-NOT: mpdfg.reduce
func.func @other_weight(%p: !heads, %x: !out, %a: !attr, %w: !w, %u: !w, %g: !out) -> (!out, !few) {
  %v = mpdfg.broadcast %x along @src : !out -> !row
  %q = mpdfg.reshape %p : !heads -> !ones
  %m = mpdfg.binary mul %q, %v : !ones, !row -> !row
  %o = mpdfg.reduce sum %m along @dst : !row -> !out
  %n = mpdfg.contract %p [0], %a [2] -> [0, 2] : !heads, !attr -> !pairs
  %s = mpdfg.reduce sum %n along @dst : !pairs -> !owner
  %sw = mpdfg.contract %s [0, 2], %u [2, 0, 1] -> [0, 1] : !owner, !w -> !out
  %y = mpdfg.binary add %o, %sw : !out, !out -> !out
  %b = mpdfg.broadcast %g along @dst : !out -> !row
  %gv = mpdfg.binary mul %b, %v : !row, !row -> !row
  %i = mpdfg.fold sum %gv [1] : !row -> !ones
  %gw = mpdfg.contract %g [0, 1], %w [2, 0, 1] -> [0, 2] : !out, !w -> !owner
  %c = mpdfg.broadcast %gw along @dst : !owner -> !pairs
  %j = mpdfg.contract %c [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %k = mpdfg.reshape %j : !heads -> !ones
  %l = mpdfg.binary add %i, %k : !ones, !ones -> !ones
  %r = mpdfg.reshape %l : !ones -> !heads
  %t = mpdfg.binary mul %p, %r : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %y, %d : !out, !few
}

// One of the two has no sum: members are walked over in any case.
// CHECK-LABEL: func @one_is_missing
// CHECK-COUNT-2: mpdfg.reduce sum
// REMARK: Function=one_is_missing | Reason="the sum that would be left does not exist, and is wider"
func.func @one_is_missing(%p: !heads, %x: !out, %a: !attr, %w: !w, %g: !out) -> (!out, !few) {
  %v = mpdfg.broadcast %x along @src : !out -> !row
  %q = mpdfg.reshape %p : !heads -> !ones
  %m = mpdfg.binary mul %q, %v : !ones, !row -> !row
  %o = mpdfg.reduce sum %m along @dst : !row -> !out
  %b = mpdfg.broadcast %g along @dst : !out -> !row
  %gv = mpdfg.binary mul %b, %v : !row, !row -> !row
  %i = mpdfg.fold sum %gv [1] : !row -> !ones
  %gw = mpdfg.contract %g [0, 1], %w [2, 0, 1] -> [0, 2] : !out, !w -> !owner
  %c = mpdfg.broadcast %gw along @dst : !owner -> !pairs
  %j = mpdfg.contract %c [0, 2], %a [2] -> [0] : !pairs, !attr -> !heads
  %k = mpdfg.reshape %j : !heads -> !ones
  %l = mpdfg.binary add %i, %k : !ones, !ones -> !ones
  %r = mpdfg.reshape %l : !ones -> !heads
  %t = mpdfg.binary mul %p, %r : !heads, !heads -> !heads
  %d = mpdfg.reduce sum %t along @dst : !heads -> !few
  return %o, %d : !out, !few
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!pp = tensor<?x2x2xf32, #mpdfg.on<@edge>>
!p1 = tensor<?x2x2x1xf32, #mpdfg.on<@edge>>
!row = tensor<?x2x2x3xf32, #mpdfg.on<@edge>>
!out = tensor<?x2x2x3xf32, #mpdfg.on<@node>>
!attr = tensor<?x2xf32, #mpdfg.on<@edge>>
!pairs = tensor<?x2x2x2xf32, #mpdfg.on<@edge>>
!owner = tensor<?x2x2x2xf32, #mpdfg.on<@node>>
!few = tensor<?x2x2xf32, #mpdfg.on<@node>>
!w = tensor<3x2xf32>

// Two axes of heads, which the second inner product exchanges: what the layer gives has them in one order alone, so the
// two stay apart.
// CHECK-LABEL: func @exchanged_axes
// CHECK: mpdfg.fold sum
// CHECK: mpdfg.contract %{{.*}} [1, 0, 3], %{{.*}} [0, 1, 3] -> [0, 1]
// CHECK: mpdfg.binary add
// CHECK-NOT: mpdfg.reduce
// CHECK: return
func.func @exchanged_axes(%p: !pp, %v: !row, %a: !attr, %w: !w, %g: !out) -> (!out, !few) {
  %q = mpdfg.reshape %p : !pp -> !p1
  %m = mpdfg.binary mul %q, %v : !p1, !row -> !row
  %o = mpdfg.reduce sum %m along @dst : !row -> !out
  %n = mpdfg.contract %p [0, 1], %a [3] -> [0, 1, 3] : !pp, !attr -> !pairs
  %s = mpdfg.reduce sum %n along @dst : !pairs -> !owner
  %sw = mpdfg.contract %s [0, 1, 3], %w [2, 3] -> [1, 0, 2] : !owner, !w -> !out
  %y = mpdfg.binary add %o, %sw : !out, !out -> !out
  %b = mpdfg.broadcast %g along @dst : !out -> !row
  %gv = mpdfg.binary mul %b, %v : !row, !row -> !row
  %i = mpdfg.fold sum %gv [2] : !row -> !p1
  %gw = mpdfg.contract %g [0, 1, 2], %w [2, 3] -> [0, 1, 3] : !out, !w -> !owner
  %c = mpdfg.broadcast %gw along @dst : !owner -> !pairs
  %j = mpdfg.contract %c [1, 0, 3], %a [3] -> [0, 1] : !pairs, !attr -> !pp
  %k = mpdfg.reshape %j : !pp -> !p1
  %l = mpdfg.binary add %i, %k : !p1, !p1 -> !p1
  %r = mpdfg.reshape %l : !p1 -> !pp
  %t = mpdfg.binary mul %p, %r : !pp, !pp -> !pp
  %d = mpdfg.reduce sum %t along @dst : !pp -> !few
  return %y, %d : !out, !few
}

// Both factors move along the map, and only the second is the owner's.
// CHECK-LABEL: func @owner_twice
// CHECK: %[[O:.*]] = mpdfg.reduce sum
// CHECK: mpdfg.contract %arg1 [2, 1], %[[O]] [0, 1, 2] -> [0, 1]
// CHECK-NOT: mpdfg.reduce
// CHECK: return
func.func @owner_twice(%p: !pp, %g: !few) -> (!owner, !few) {
  %b = mpdfg.broadcast %g along @dst : !few -> !pp
  %0 = mpdfg.contract %p [0, 1], %b [0, 2] -> [0, 1, 2] : !pp, !pp -> !pairs
  %o = mpdfg.reduce sum %0 along @dst : !pairs -> !owner
  %i = mpdfg.contract %b [0, 2], %b [2, 1] -> [0, 1] : !pp, !pp -> !pp
  %t = mpdfg.binary mul %p, %i : !pp, !pp -> !pp
  %d = mpdfg.reduce sum %t along @dst : !pp -> !few
  return %o, %d : !owner, !few
}
