// RUN: gnnc-opt %s --reuse-sums -split-input-file | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// sum of p <g, v> is <g, sum of p v>, which is there already.
// CHECK-LABEL: func @inner_product
// CHECK: %[[O:.*]] = mpdfg.reduce sum {{.*}} along @dst
// CHECK: %[[PRODUCT:.*]] = mpdfg.binary mul %arg2, %[[O]]
// CHECK: %[[FOLD:.*]] = mpdfg.fold sum %[[PRODUCT]] [1]
// CHECK: %[[DELTA:.*]] = mpdfg.reshape %[[FOLD]]
// CHECK-NOT: mpdfg.reduce
// CHECK: return %[[O]], %[[DELTA]]
func.func @inner_product(%p: tensor<?x2xf32, #mpdfg.on<@edge>>, %x: tensor<?x2x4xf32, #mpdfg.on<@node>>,
                         %g: tensor<?x2x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
  %v = mpdfg.broadcast %x along @src : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %q = mpdfg.reshape %p : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %q, %v : tensor<?x2x1xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [1] : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %h = mpdfg.reshape %f : tensor<?x2x1xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %h : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// A factor that comes along another map differs from member to member.
// CHECK-LABEL: func @factor_of_the_member
// CHECK-COUNT-2: mpdfg.reduce sum {{.*}} along @dst
func.func @factor_of_the_member(%p: tensor<?x1xf32, #mpdfg.on<@edge>>, %x: tensor<?x4xf32, #mpdfg.on<@node>>,
                                %g: tensor<?x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>) {
  %v = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %p, %v : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [0] : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %f : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// The sum that would be left does not exist: it would be wider than the one it replaces.
// CHECK-LABEL: func @no_such_sum
// CHECK: mpdfg.reduce sum {{.*}} along @dst : tensor<?x1xf32, #mpdfg.on<@edge>>
func.func @no_such_sum(%p: tensor<?x1xf32, #mpdfg.on<@edge>>, %x: tensor<?x4xf32, #mpdfg.on<@node>>,
                       %g: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %v = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [0] : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %f : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %d : tensor<?x1xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// A weight of two factors, as of attention that is dropped: sum of p (<g, v> k) is <g, sum of (p k) v>.
// CHECK-LABEL: func @product_of_weights
// CHECK: %[[O:.*]] = mpdfg.reduce sum {{.*}} along @dst
// CHECK: %[[PRODUCT:.*]] = mpdfg.binary mul %arg3, %[[O]]
// CHECK: mpdfg.fold sum %[[PRODUCT]] [1]
// CHECK-NOT: mpdfg.reduce
// CHECK: return
func.func @product_of_weights(%p: tensor<?x2xf32, #mpdfg.on<@edge>>, %k: tensor<?x2xf32, #mpdfg.on<@edge>>,
    %x: tensor<?x2x4xf32, #mpdfg.on<@node>>, %g: tensor<?x2x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
  %v = mpdfg.broadcast %x along @src : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %pk = mpdfg.binary mul %p, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %q = mpdfg.reshape %pk : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %q, %v : tensor<?x2x1xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [1] : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %h = mpdfg.reshape %f : tensor<?x2x1xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %t = mpdfg.binary mul %h, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %t : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// The sum that is there has one factor less.
// CHECK-LABEL: func @other_weight
// CHECK-COUNT-2: mpdfg.reduce sum {{.*}} along @dst
func.func @other_weight(%p: tensor<?x2xf32, #mpdfg.on<@edge>>, %k: tensor<?x2xf32, #mpdfg.on<@edge>>,
    %x: tensor<?x2x4xf32, #mpdfg.on<@node>>, %g: tensor<?x2x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
  %v = mpdfg.broadcast %x along @src : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %pk = mpdfg.binary mul %p, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %q = mpdfg.reshape %p : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %q, %v : tensor<?x2x1xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [1] : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %h = mpdfg.reshape %f : tensor<?x2x1xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %t = mpdfg.binary mul %h, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %t : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// The weight of the sum that is there has each factor once.
// CHECK-LABEL: func @weight_twice
// CHECK-COUNT-2: mpdfg.reduce sum {{.*}} along @dst
func.func @weight_twice(%p: tensor<?x2xf32, #mpdfg.on<@edge>>, %k: tensor<?x2xf32, #mpdfg.on<@edge>>,
    %x: tensor<?x2x4xf32, #mpdfg.on<@node>>, %g: tensor<?x2x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
  %v = mpdfg.broadcast %x along @src : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %pk = mpdfg.binary mul %p, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %q = mpdfg.reshape %pk : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %q, %v : tensor<?x2x1xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [1] : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x1xf32, #mpdfg.on<@edge>>
  %h = mpdfg.reshape %f : tensor<?x2x1xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %t = mpdfg.binary mul %h, %k : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %pk, %t : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// A sum over no members is 0, and an infinite factor times that is not.
// CHECK-LABEL: func @infinite_factor
// CHECK: %[[O:.*]] = mpdfg.reduce sum {{.*}} along @dst
// CHECK: mpdfg.binary mul %{{.*}}, %[[O]]
// CHECK: %[[FOLD:.*]] = mpdfg.fold sum
// CHECK: %[[N:.*]] = mpdfg.degree along @dst
// CHECK: %[[C:.*]] = mpdfg.reshape %[[N]]
// CHECK: %[[DELTA:.*]] = mpdfg.select %[[C]], %[[FOLD]], %{{.*}}
// CHECK-NOT: mpdfg.reduce
// CHECK: return %[[O]], %[[DELTA]]
func.func @infinite_factor(%p: tensor<?x1xf32, #mpdfg.on<@edge>>, %x: tensor<?x4xf32, #mpdfg.on<@node>>,
                           %u: tensor<?x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>) {
  %g = mpdfg.unary recip %u : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %v = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %m = mpdfg.binary mul %p, %v : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %o = mpdfg.reduce sum %m along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %g along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %i = mpdfg.binary mul %b, %v : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %f = mpdfg.fold sum %i [0] : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %w = mpdfg.binary mul %p, %f : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %d = mpdfg.reduce sum %w along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %o, %d : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>
}
