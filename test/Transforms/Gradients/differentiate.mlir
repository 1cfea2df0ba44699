// RUN: gnnc-opt %s --split-input-file --differentiate --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --differentiate=inputs=false --canonicalize | FileCheck %s --check-prefix=PARAMS

// A product: each operand's gradient is a product with the other, summed over the rows that a shared one met.
// CHECK: func.func @gradient(%[[X:[^:]*]]: {{.*}}mpdfg.name = "x"{{.*}}, %[[W:[^:]*]]: {{.*}}mpdfg.name = "w"{{.*}}, %[[G:[^:]*]]: tensor<?x6xf32, #mpdfg.on<@node>> {mpdfg.axes = ["out"], mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
// CHECK-SAME: mpdfg.name = "y"}, tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.x"}, tensor<4x6xf32> {mpdfg.name = "grad.w"})
// CHECK-NEXT: %[[Y:.*]] = mpdfg.contract %[[X]] [0], %[[W]] [0, 1] -> [1]
// CHECK-NEXT: %[[GX:.*]] = mpdfg.contract %[[G]] [1], %[[W]] [0, 1] -> [0]
// CHECK-NEXT: %[[GW:.*]] = mpdfg.contract %[[G]] [1], %[[X]] [0] -> [0, 1]
// CHECK-NEXT: %[[SUM:.*]] = mpdfg.reduce sum %[[GW]] along @all : {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: return %[[Y]], %[[GX]], %[[SUM]]

// Gradients of parameters alone.
// PARAMS: func.func @gradient
// PARAMS-NOT: grad.x
// PARAMS: mpdfg.contract %{{.*}} [0], %{{.*}} [0, 1] -> [1]
// PARAMS-NEXT: mpdfg.contract %{{.*}} [1], %{{.*}} [0] -> [0, 1]
// PARAMS-NEXT: mpdfg.reduce sum
// PARAMS-NEXT: return
module {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                     %w: tensor<4x6xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
      -> (tensor<?x6xf32, #mpdfg.on<@node>> {mpdfg.axes = ["out"], mpdfg.name = "y"}) {
    %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x6xf32>
      -> tensor<?x6xf32, #mpdfg.on<@node>>
    return %0 : tensor<?x6xf32, #mpdfg.on<@node>>
  }
}

// -----

// Attention. The softmax's gradient needs its own result and one sum for each owner; a sum is the transpose of a broadcast
// along the same map.
// CHECK: func.func @gradient(%[[S:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[G:[^:]*]]: {{.*}}"grad.y"
// CHECK-NEXT: %[[P:.*]] = mpdfg.norm %[[S]] along @dst
// CHECK-NEXT: %[[M:.*]] = mpdfg.broadcast %[[V]] along @src
// CHECK: %[[Y:.*]] = mpdfg.reduce sum %{{.*}} along @dst
// CHECK-NEXT: %[[B:.*]] = mpdfg.broadcast %[[G]] along @dst
// CHECK-NEXT: %[[BM:.*]] = mpdfg.binary mul %[[B]], %[[M]]
// CHECK-NEXT: %[[BP:.*]] = mpdfg.binary mul %[[B]], %[[P]]
// CHECK-NEXT: %[[GP:.*]] = mpdfg.fold sum %[[BM]] [0]
// CHECK-NEXT: %[[GV:.*]] = mpdfg.reduce sum %[[BP]] along @src
// CHECK-NEXT: %[[PG:.*]] = mpdfg.binary mul %[[P]], %[[GP]]
// CHECK-NEXT: %[[INNER:.*]] = mpdfg.reduce sum %[[PG]] along @dst
// CHECK-NEXT: %[[BACK:.*]] = mpdfg.broadcast %[[INNER]] along @dst
// CHECK-NEXT: %[[DIFFERENCE:.*]] = mpdfg.binary sub %[[GP]], %[[BACK]]
// CHECK-NEXT: %[[GS:.*]] = mpdfg.binary mul %[[P]], %[[DIFFERENCE]]
// CHECK-NEXT: return %[[Y]], %[[GS]], %[[GV]]

// Nothing is computed where only inputs lead to the output; the argument is there nevertheless.
// PARAMS: func.func @gradient({{.*}}"grad.y"
// PARAMS-NEXT: mpdfg.norm
// PARAMS-NEXT: mpdfg.broadcast
// PARAMS-NEXT: mpdfg.binary mul
// PARAMS-NEXT: mpdfg.reduce sum
// PARAMS-NEXT: return %{{[^,]*}} :
module {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%s: tensor<?x1xf32, #mpdfg.on<@edge>> {mpdfg.name = "s", mpdfg.role = #mpdfg.role<input>},
                     %v: tensor<?x8xf32, #mpdfg.on<@node>> {mpdfg.name = "v", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
      -> (tensor<?x8xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
    %0 = mpdfg.norm %s along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.broadcast %v along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.binary mul %0, %1 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x8xf32, #mpdfg.on<@edge>>
      -> tensor<?x8xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.reduce sum %2 along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    return %3 : tensor<?x8xf32, #mpdfg.on<@node>>
  }
}

// -----

// A maximum: of the members the one whose number won gets the gradient. States get none.
// CHECK: func.func @gradient(%[[W:[^:]*]]: {{.*}}, %[[S:[^:]*]]: {{.*}}, %[[G:[^:]*]]: {{.*}}"grad.y"
// CHECK-NOT: "grad.s"
// CHECK: %[[X:.*]] = mpdfg.binary mul
// CHECK-NEXT: %[[Y:.*]] = mpdfg.reduce max %[[X]] along @dst
// CHECK-NEXT: %[[WINNER:.*]] = mpdfg.reduce argmax %[[X]] along @dst
// CHECK-NEXT: %[[NUMBER:.*]] = mpdfg.broadcast %[[WINNER]] along @dst
// CHECK-NEXT: %[[OWN:.*]] = mpdfg.element
// CHECK-NEXT: %[[MINE:.*]] = mpdfg.is_element %[[NUMBER]], %[[OWN]]
// CHECK-NEXT: %[[B:.*]] = mpdfg.broadcast %[[G]] along @dst
// CHECK-NEXT: %[[ZERO:.*]] = mpdfg.constant 0
// CHECK-NEXT: %[[GX:.*]] = mpdfg.select %[[MINE]], %[[B]], %[[ZERO]]
// CHECK-NEXT: %[[GW:.*]] = mpdfg.binary mul %[[GX]], %[[S]]
// CHECK-NEXT: %[[SUM:.*]] = mpdfg.reduce sum %[[GW]] along @all
// CHECK-NEXT: return %[[Y]], %[[SUM]]
module {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%w: tensor<4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>},
                     %s: tensor<?x4xf32, #mpdfg.on<@edge>> {mpdfg.name = "s", mpdfg.role = #mpdfg.role<state>})
      -> (tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
    %0 = mpdfg.binary mul %w, %s : tensor<4xf32>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.reduce max %0 along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
    return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
  }
}

// -----

// Uses add up, also those by several outputs; an output may be an input.
// CHECK: func.func @gradient(%[[X:[^:]*]]: {{.*}}, %[[GY:[^:]*]]: {{.*}}"grad.y"{{.*}}, %[[GZ:[^:]*]]: {{.*}}"grad.z"
// CHECK-NEXT: %[[Y:.*]] = mpdfg.unary exp %[[X]]
// CHECK-NEXT: %[[G:.*]] = mpdfg.binary mul %[[GY]], %[[Y]]
// CHECK-NEXT: %[[SUM:.*]] = mpdfg.binary add %[[GZ]], %[[G]]
// CHECK-NEXT: return %[[Y]], %[[X]], %[[SUM]]
module {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
      -> (tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "z"}) {
    %0 = mpdfg.unary exp %x : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@node>>
    return %0, %x : tensor<?xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
  }
}

// -----

// What no output depends on has the gradient 0.
// CHECK: func.func @gradient
// CHECK: %[[ZERO:.*]] = mpdfg.constant 0.000000e+00 : tensor<3xf32>
// CHECK: %[[ROWS:.*]] = mpdfg.broadcast %[[ZERO]] along @all : tensor<3xf32> -> tensor<?x3xf32, #mpdfg.on<@node>>
// CHECK: %[[NONE:.*]] = mpdfg.constant 0.000000e+00 : tensor<3xf32>
// CHECK: return %{{.*}}, %[[ROWS]], %[[NONE]]
module {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x3xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                     %w: tensor<3xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
      -> (tensor<?x3xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
    %0 = mpdfg.binary mul %x, %w : tensor<?x3xf32, #mpdfg.on<@node>>, tensor<3xf32> -> tensor<?x3xf32, #mpdfg.on<@node>>
    %1 = mpdfg.detach %0 : tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?x3xf32, #mpdfg.on<@node>>
    return %1 : tensor<?x3xf32, #mpdfg.on<@node>>
  }
}

// -----

// The slope of a leaky_relu whose result a row of attention multiplies goes to that row, where all elements share it.
// CHECK: func.func @gradient(%[[X:[^:]*]]: {{.*}}"x"{{.*}}, %[[A:[^:]*]]: {{.*}}"a"{{.*}}, %[[W:[^:]*]]: {{.*}}"w"{{.*}}, %[[GY:[^:]*]]: {{.*}}"grad.y"{{.*}}, %[[GZ:[^:]*]]: {{.*}}"grad.z"
// CHECK-DAG: %[[AS:.*]] = mpdfg.binary mul %[[A]], %{{.*}} : tensor<2x4xf32>
// CHECK-DAG: %[[SA:.*]] = mpdfg.select %{{.*}}, %[[A]], %[[AS]]
// CHECK-DAG: mpdfg.contract %[[GY]] [0], %[[SA]] [0, 1] -> [0, 1]
// CHECK-DAG: %[[WS:.*]] = mpdfg.binary mul %[[W]], %{{.*}} : tensor<2x4xf32>
// CHECK-DAG: %[[SW:.*]] = mpdfg.select %{{.*}}, %[[W]], %[[WS]]
// CHECK-DAG: mpdfg.binary mul %[[GZ]], %[[SW]]
// PARAMS: func.func @gradient
module {
  mpdfg.space @edge root
  func.func @forward(%x: tensor<?x2x4xf32, #mpdfg.on<@edge>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                     %a: tensor<2x4xf32> {mpdfg.name = "a", mpdfg.role = #mpdfg.role<param>},
                     %w: tensor<2x4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
      -> (tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "y"}, tensor<?x2x4xf32, #mpdfg.on<@edge>> {mpdfg.name = "z"}) {
    %0 = mpdfg.unary leaky_relu %x {alpha = 2.0e-01 : f64} : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.contract %0 [0, 1], %a [0, 1] -> [0] : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<2x4xf32> -> tensor<?x2xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.unary leaky_relu %x {alpha = 3.0e-01 : f64} : tensor<?x2x4xf32, #mpdfg.on<@edge>> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.binary mul %2, %w : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<2x4xf32> -> tensor<?x2x4xf32, #mpdfg.on<@edge>>
    return %1, %3 : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2x4xf32, #mpdfg.on<@edge>>
  }
}
