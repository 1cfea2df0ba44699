// RUN: gnnc-opt %s --distribute=along=dst --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gnnc-opt %s --distribute=along=dst --split-input-file --verify-diagnostics | gnnc-opt --split-input-file -o /dev/null

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!type = tensor<3x8xf32, #mpdfg.on<@type>>

// Edges are with the node that dst leads to; src may lead to nodes of other ranks. Elements of types are everywhere.
// CHECK-DAG: mpdfg.space @node.halo root
// CHECK-DAG: mpdfg.space @node.send root
// CHECK-DAG: mpdfg.space @node.all union {parts = [@node, @node.halo]}
// CHECK-DAG: mpdfg.map @node.sent root from @node.send to @node
// CHECK-DAG: mpdfg.map @node.all.own part from @node.all to @node {part = 0 : i64, partial}
// CHECK-DAG: mpdfg.map @node.all.halo part from @node.all to @node.halo {part = 1 : i64, partial}
// CHECK-DAG: mpdfg.map @node.all.in injection from @node to @node.all {part = 0 : i64}
// CHECK-DAG: mpdfg.map @src root from @edge to @node.all
// CHECK-DAG: mpdfg.map @dst root from @edge to @node{{$}}
// CHECK-DAG: mpdfg.map @type_of root from @node to @type
// What is derived from src follows it; other maps that meet it lead into the union.
// CHECK-DAG: mpdfg.map @dst.in compose from @edge to @node.all {parts = [@dst, @node.all.in]}
// CHECK-DAG: mpdfg.space @real filter {base = @edge, maps = [@src, @dst.in]}
// CHECK-DAG: mpdfg.map @real.src compose from @real to @node.all {parts = [@real.edge, @src]}
// CHECK-DAG: mpdfg.map @ring.src parts from @ring to @node.all {parts = [@real.src, @node.all.in]}
// CHECK-DAG: mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
// CHECK-NOT: mpdfg.map @src.type
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @type_of root from @node to @type
mpdfg.map @src.type compose from @edge to @type {parts = [@src, @type_of]}
mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
mpdfg.map @real.edge inclusion from @real to @edge
mpdfg.map @real.src compose from @real to @node {parts = [@real.edge, @src]}
mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
mpdfg.space @ring union {parts = [@real, @node]}
mpdfg.map @ring.src parts from @ring to @node {parts = [@real.src, unit]}
mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}

// Once for two reads.
// CHECK-LABEL: func @exchange(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
func.func @exchange(%x: !node) -> !node {
  // CHECK: %[[SENT:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @node.sent
  // CHECK: %[[CAME:[a-z0-9]+]] = mpdfg.transfer %[[SENT]] : tensor<?x8xf32, #mpdfg.on<@node.send>> -> tensor<?x8xf32, #mpdfg.on<@node.halo>>
  // CHECK-DAG: %[[OWN:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @node.all.own
  // CHECK-DAG: %[[HALO:[a-z0-9]+]] = mpdfg.broadcast %[[CAME]] along @node.all.halo
  // CHECK: %[[ALL:[a-z0-9]+]] = mpdfg.binary add %[[OWN]], %[[HALO]]
  // CHECK-NOT: transfer
  // CHECK: mpdfg.broadcast %[[ALL]] along @src
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  // CHECK: mpdfg.broadcast %[[X]] along @dst
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary mul %0, %1 : !edge, !edge -> !edge
  // CHECK: mpdfg.reduce max %{{.*}} along @dst
  %3 = mpdfg.reduce max %2 along @dst : !edge -> !node
  %4 = mpdfg.broadcast %x along @ring.src : !node -> tensor<?x8xf32, #mpdfg.on<@ring>>
  %5 = mpdfg.reduce sum %4 along @ring.dst : tensor<?x8xf32, #mpdfg.on<@ring>> -> !node
  %6 = mpdfg.binary add %3, %5 : !node, !node -> !node
  return %6 : !node
}

// CHECK-LABEL: func @bring_back
func.func @bring_back(%x: !edge) -> (!node, !node) {
  // CHECK: %[[ALL:[a-z0-9]+]] = mpdfg.reduce sum %{{.*}} along @src : {{.*}} -> tensor<?x8xf32, #mpdfg.on<@node.all>>
  // CHECK: %[[OWN:[a-z0-9]+]] = mpdfg.reduce sum %[[ALL]] along @node.all.own
  // CHECK: %[[HALO:[a-z0-9]+]] = mpdfg.reduce sum %[[ALL]] along @node.all.halo
  // CHECK: %[[BACK:[a-z0-9]+]] = mpdfg.transfer %[[HALO]] : tensor<?x8xf32, #mpdfg.on<@node.halo>> -> tensor<?x8xf32, #mpdfg.on<@node.send>>
  // CHECK: %[[SUM:[a-z0-9]+]] = mpdfg.reduce sum %[[BACK]] along @node.sent
  // CHECK: mpdfg.binary add %[[OWN]], %[[SUM]]
  %0 = mpdfg.reduce sum %x along @src : !edge -> !node
  // A mean is a sum, divided by a degree that is brought back too.
  // CHECK: mpdfg.reduce sum %{{.*}} along @src
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node.all>>
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.binary div
  %1 = mpdfg.reduce mean %x along @src : !edge -> !node
  return %0, %1 : !node, !node
}

// CHECK-LABEL: func @combine
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8xf32>, %[[P:[a-z0-9]+]]: tensor<3x8xf32, #mpdfg.on<@type>>
func.func @combine(%x: !node, %w: tensor<8xf32>, %p: !type) -> (tensor<8xf32>, tensor<8xf32>, !type) {
  // What is of all ranks varies where it meets what is divided, once.
  // CHECK-DAG: %[[V:[a-z0-9]+]] = mpdfg.vary %[[W]] : tensor<8xf32>
  // CHECK-DAG: %[[Q:[a-z0-9]+]] = mpdfg.vary %[[P]] : tensor<3x8xf32, #mpdfg.on<@type>>
  // CHECK: mpdfg.binary mul %{{.*}}, %[[V]]
  %0 = mpdfg.binary mul %x, %w : !node, tensor<8xf32> -> !node
  // CHECK: mpdfg.binary add %{{.*}}, %[[V]]
  %1 = mpdfg.binary add %0, %w : !node, tensor<8xf32> -> !node
  // CHECK: mpdfg.broadcast %[[Q]] along @type_of
  %2 = mpdfg.broadcast %p along @type_of : !type -> !node
  %3 = mpdfg.binary add %1, %2 : !node, !node -> !node
  // CHECK: mpdfg.reduce sum %{{.*}} along @all
  // CHECK-NEXT: mpdfg.all_reduce sum
  %4 = mpdfg.reduce sum %3 along @all : !node -> tensor<8xf32>
  // CHECK: mpdfg.all_reduce sum
  // CHECK-NEXT: %[[N:[a-z0-9]+]] = mpdfg.extent @node
  // CHECK-NEXT: mpdfg.all_reduce sum %[[N]] : tensor<f32>
  // CHECK: mpdfg.binary div
  %5 = mpdfg.reduce mean %3 along @all : !node -> tensor<8xf32>
  // CHECK: mpdfg.reduce sum %{{.*}} along @type_of
  // CHECK-NEXT: mpdfg.all_reduce sum %{{.*}} : tensor<3x8xf32, #mpdfg.on<@type>>
  %6 = mpdfg.reduce sum %3 along @type_of : !node -> !type
  // Among values of all ranks nothing happens.
  // CHECK-NEXT: mpdfg.binary mul %{{.*}}, %[[W]]
  %7 = mpdfg.binary mul %5, %w : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return %4, %7, %6 : tensor<8xf32>, tensor<8xf32>, !type
}

// A composition that leads through other ranks' elements is two movements.
// CHECK-LABEL: func @through
func.func @through(%p: !type, %x: !edge) -> (!edge, !type) {
  // CHECK: mpdfg.broadcast %{{.*}} along @type_of
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.broadcast %{{.*}} along @src
  %0 = mpdfg.broadcast %p along @src.type : !type -> !edge
  // CHECK: mpdfg.reduce sum %{{.*}} along @src
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.reduce sum %{{.*}} along @type_of
  // CHECK: mpdfg.all_reduce sum
  %1 = mpdfg.reduce sum %x along @src.type : !edge -> !type
  return %0, %1 : !edge, !type
}

// Ranks without elements have no say in a maximum. Of equal ones the least place is that of all ranks.
// CHECK-LABEL: func @largest
func.func @largest(%x: !node) -> tensor<8xf32> {
  // CHECK: mpdfg.reduce max
  // CHECK: mpdfg.constant 0xFFF0000000000000
  // CHECK: mpdfg.select
  // CHECK: mpdfg.all_reduce max
  // CHECK: mpdfg.all_reduce min
  // CHECK: mpdfg.all_reduce min
  // CHECK: mpdfg.all_reduce sum
  // CHECK: mpdfg.derive_as
  // CHECK: mpdfg.select
  %0 = mpdfg.reduce max %x along @all : !node -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What others have of an element comes back, and the largest of it is compared with the own. For the gradient alone, so do
// the places in the whole graph of those that have it, digit by digit; the least wins.
// CHECK-LABEL: func @largest_along(
// CHECK-SAME: %[[DIGITS:[a-z0-9]+]]: tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "edge.order", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>}
func.func @largest_along(%x: !edge) -> !node {
  // CHECK: %[[HIGH:[a-z0-9]+]] = mpdfg.slice %[[DIGITS]] axis 0 from 0
  // CHECK: %[[LOW:[a-z0-9]+]] = mpdfg.slice %[[DIGITS]] axis 0 from 1
  // CHECK: mpdfg.reduce max %{{.*}} along @src : {{.*}} -> tensor<?x8xf32, #mpdfg.on<@node.all>>
  // CHECK: mpdfg.reduce argmax %{{.*}} along @src
  // CHECK: mpdfg.is_element
  // CHECK: mpdfg.degree along @node.sent
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?x8xf32, #mpdfg.on<@node.halo>> -> tensor<?x8xf32, #mpdfg.on<@node.send>>
  // CHECK: mpdfg.reduce max %{{.*}} along @node.sent
  // CHECK: %[[BEST:[a-z0-9]+]] = mpdfg.binary maximum
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.reduce min %{{.*}} along @node.sent
  // CHECK: mpdfg.binary minimum
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.reduce min %{{.*}} along @node.sent
  // CHECK: mpdfg.binary minimum
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.reduce sum %{{.*}} along @node.sent
  // CHECK: %[[WINNER:[a-z0-9]+]] = mpdfg.binary add
  // CHECK: mpdfg.derive_as %[[BEST]], %[[WINNER]]
  %0 = mpdfg.reduce max %x along @src : !edge -> !node
  return %0 : !node
}

// A softmax is split into statistics of its owners.
// CHECK-LABEL: func @softmax
func.func @softmax(%x: !edge) -> !edge {
  // CHECK: mpdfg.reduce max %{{.*}} along @src
  // CHECK: mpdfg.detach
  // CHECK: %[[POWERS:[a-z0-9]+]] = mpdfg.unary exp
  // CHECK: mpdfg.reduce sum %[[POWERS]] along @src
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.binary div %[[POWERS]]
  %0 = mpdfg.norm %x along @src : !edge -> !edge
  return %0 : !edge
}

// Eight numbers are exchanged instead of 32 that are made of them; where fewer are made, these are.
// CHECK-LABEL: func @narrower
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
func.func @narrower(%x: !node, %w: tensor<8x32xf32>, %u: tensor<8x2xf32>)
    -> (tensor<?x32xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>>) {
  // CHECK: mpdfg.broadcast %[[X]] along @node.sent
  // CHECK: %[[HALO:[a-z0-9]+]] = mpdfg.transfer %{{.*}} : tensor<?x8xf32
  // CHECK: mpdfg.contract %[[X]]
  // CHECK-NEXT: mpdfg.contract %[[HALO]]
  // CHECK: mpdfg.broadcast %{{.*}} along @src
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node, tensor<8x32xf32> -> tensor<?x32xf32, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %0 along @src : tensor<?x32xf32, #mpdfg.on<@node>> -> tensor<?x32xf32, #mpdfg.on<@edge>>
  // CHECK: %[[FEW:[a-z0-9]+]] = mpdfg.contract
  // CHECK-NEXT: mpdfg.contract %[[HALO]]
  %2 = mpdfg.contract %x [0], %u [0, 1] -> [1] : !node, tensor<8x2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
  %3 = mpdfg.broadcast %2 along @src : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %1, %3 : tensor<?x32xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>>
}

// CHECK-LABEL: func @narrow_after
func.func @narrow_after(%x: !node, %u: tensor<8x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  // CHECK: %[[FEW:[a-z0-9]+]] = mpdfg.contract
  // CHECK: mpdfg.broadcast %[[FEW]] along @node.sent
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?x2xf32
  %0 = mpdfg.contract %x [0], %u [0, 1] -> [1] : !node, tensor<8x2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %0 along @src : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// Random numbers are those of an element's number in the whole graph.
// CHECK-LABEL: func @random
// CHECK-SAME: %[[OWN:[a-z0-9]+]]: tensor<?xf32, #mpdfg.on<@edge>> {mpdfg.name = "edge.global", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>}
func.func @random(%s: tensor<1xf32>) -> tensor<?x1xf32, #mpdfg.on<@edge>> {
  // CHECK: %[[NUMBERS:[a-z0-9]+]] = mpdfg.reshape %[[OWN]]
  // CHECK: mpdfg.random %{{.*}}, %{{.*}}, %{{.*}}, %[[NUMBERS]],
  %0 = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.iota : tensor<1xf32>
  %2 = mpdfg.random %s, %s, %s, %0, %1 site 0 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1xf32> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  return %2 : tensor<?x1xf32, #mpdfg.on<@edge>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@edge>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{cannot be distributed: 'argmax' along @src names one element of those of several ranks}}
  %0 = mpdfg.reduce argmax %x along @src : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x8xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @both union {parts = [@node, @edge]}
func.func @f(%s: tensor<1xf32>) -> tensor<?x1xf32, #mpdfg.on<@both>> {
  %0 = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@both>>
  %1 = mpdfg.iota : tensor<1xf32>
  // expected-error @+1 {{cannot be distributed: random numbers need each element's number in the whole graph, and elements of a distinct space have none}}
  %2 = mpdfg.random %s, %s, %s, %0, %1 site 0 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@both>>, tensor<1xf32> -> tensor<?x1xf32, #mpdfg.on<@both>>
  return %2 : tensor<?x1xf32, #mpdfg.on<@both>>
}

// -----

// A part has tuples in another order than the whole graph, so that their places are asked even where no rank but one has
// members.
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @pair distinct {base = @edge, maps = [@dst, @src]}
mpdfg.map @pair.dst projection from @pair to @node {part = 0 : i64}
// CHECK-LABEL: func @largest_of_tuples(
// CHECK-SAME: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "node.order", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>}
func.func @largest_of_tuples(%x: tensor<?x8xf32, #mpdfg.on<@pair>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?xf32, #mpdfg.on<@node.send>> -> tensor<?xf32, #mpdfg.on<@node.halo>>
  // CHECK: mpdfg.broadcast %{{.*}} along @pair.dst
  // CHECK: mpdfg.broadcast %{{.*}} along @pair.part1 : tensor<?xf32, #mpdfg.on<@node.all>> -> tensor<?xf32, #mpdfg.on<@pair>>
  // CHECK: %[[MOST:[a-z0-9]+]] = mpdfg.reduce max %{{.*}} along @pair.dst
  // CHECK-COUNT-4: mpdfg.reduce min %{{.*}} along @pair.dst
  // CHECK: %[[WINNER:[a-z0-9]+]] = mpdfg.reduce sum %{{.*}} along @pair.dst
  // CHECK: mpdfg.derive_as %{{.*}}, %[[WINNER]]
  %0 = mpdfg.reduce max %x along @pair.dst : tensor<?x8xf32, #mpdfg.on<@pair>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x8xf32, #mpdfg.on<@node>>
}

// -----

// Pairs of senders and types are on each rank that has such an edge: what is read there comes from the sender.
// CHECK-DAG: mpdfg.space @pair distinct {base = @edge, maps = [@src, @kind]}
// CHECK-DAG: mpdfg.map @pair.src projection from @pair to @node.all
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @kind root from @edge to @type
mpdfg.space @pair distinct {base = @edge, maps = [@src, @kind]}
mpdfg.map @pair.of class from @edge to @pair
mpdfg.map @pair.src projection from @pair to @node {part = 0 : i64}
// CHECK-LABEL: func @copies
func.func @copies(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@edge>> {
  // CHECK: mpdfg.transfer
  // CHECK: mpdfg.broadcast %{{.*}} along @pair.src : {{.*}} -> tensor<?x8xf32, #mpdfg.on<@pair>>
  // CHECK: mpdfg.broadcast %{{.*}} along @pair.of
  %0 = mpdfg.broadcast %x along @pair.src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@pair>>
  %1 = mpdfg.broadcast %0 along @pair.of : tensor<?x8xf32, #mpdfg.on<@pair>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x8xf32, #mpdfg.on<@edge>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @sender distinct {base = @edge, maps = [@src]}
mpdfg.map @sender.of class from @edge to @sender
func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@edge>>) -> tensor<?x8xf32, #mpdfg.on<@edge>> {
  // expected-error @+1 {{cannot be distributed: it is about elements of a distinct space that may be on several ranks; expected a map among those that the space is made of that leads to elements of the same rank}}
  %0 = mpdfg.reduce sum %x along @sender.of : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@sender>>
  %1 = mpdfg.broadcast %0 along @sender.of : tensor<?x8xf32, #mpdfg.on<@sender>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x8xf32, #mpdfg.on<@edge>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @sender distinct {base = @edge, maps = [@src]}
// expected-error @+1 {{cannot be distributed: it is derived from @sender, whose elements may be on several ranks}}
mpdfg.space @both union {parts = [@sender, @node]}

// -----

// Tuples of such elements are on several ranks, too.
mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @type_of root from @node to @type
mpdfg.space @used distinct {base = @node, maps = [@type_of]}
mpdfg.map @used.of class from @node to @used
mpdfg.space @pair distinct {base = @node, maps = [@type_of, @used.of]}
mpdfg.map @pair.of class from @node to @pair
func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{cannot be distributed: it is about elements of a distinct space that may be on several ranks}}
  %0 = mpdfg.reduce sum %x along @pair.of : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@pair>>
  %1 = mpdfg.broadcast %0 along @pair.of : tensor<?x8xf32, #mpdfg.on<@pair>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x8xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
// expected-error @+1 {{cannot be distributed: it leads from a static space to one that is divided}}
mpdfg.map @first root from @type to @node

// -----

mpdfg.space @node root
mpdfg.space @edge root
// expected-error @+1 {{has a name that distribution needs for space @node}}
mpdfg.space @node.halo root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
