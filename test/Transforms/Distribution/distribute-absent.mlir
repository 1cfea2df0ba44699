// RUN: gnnc-opt %s --distribute=along=dst --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gnnc-opt %s --distribute=along=dst --split-input-file --verify-diagnostics | gnnc-opt --split-input-file -o /dev/null

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>

// The last edge of a node is on one rank if edges are with that node, else on any: no rank has a map then.
// CHECK-NOT: mpdfg.map @last_out
// CHECK: mpdfg.map @last_in last from @node to @edge
// CHECK-NOT: mpdfg.map @last_out
// CHECK-NOT: mpdfg.map @old
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @last_out last from @node to @edge {parts = [@src], partial}
mpdfg.map @last_in last from @node to @edge {parts = [@dst], partial}
mpdfg.space @ring union {parts = [@edge, @node]}
mpdfg.map @old parts from @ring to @edge {parts = [unit, @last_out], partial}

// CHECK-LABEL: func @own
func.func @own(%x: !edge) -> !node {
  // CHECK-NEXT: mpdfg.broadcast %{{.*}} along @last_in
  // CHECK-NEXT: return
  %0 = mpdfg.broadcast %x along @last_in : !edge -> !node
  return %0 : !node
}

// The greatest place among the edges of a node on all ranks, digit by digit, tells each edge whether it is the last. A
// value of that is the sum of the values of all, of which others are 0.
// CHECK-LABEL: func @read_last(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32, #mpdfg.on<@edge>>, %[[DIGITS:[a-z0-9]+]]: tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "edge.order"
func.func @read_last(%x: !edge) -> !node {
  // CHECK-COUNT-2: mpdfg.slice %[[DIGITS]]
  // CHECK: mpdfg.reduce max %{{.*}} along @src
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?xf32, #mpdfg.on<@node.halo>> -> tensor<?xf32, #mpdfg.on<@node.send>>
  // CHECK: mpdfg.reduce max %{{.*}} along @node.sent
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?xf32, #mpdfg.on<@node.send>> -> tensor<?xf32, #mpdfg.on<@node.halo>>
  // CHECK: mpdfg.binary eq
  // CHECK: mpdfg.reduce max %{{.*}} along @src
  // CHECK: mpdfg.binary eq
  // CHECK: %[[LAST:[a-z0-9]+]] = mpdfg.binary mul
  // CHECK: %[[IS:[a-z0-9]+]] = mpdfg.reshape %[[LAST]]
  // CHECK: %[[OF:[a-z0-9]+]] = mpdfg.select %[[IS]], %[[X]],
  // CHECK: mpdfg.reduce sum %[[OF]] along @src
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?x8xf32, #mpdfg.on<@node.halo>>
  %0 = mpdfg.broadcast %x along @last_out : !edge -> !node
  return %0 : !node
}

// What nodes tell their last edge is read by all edges, and left by others.
// CHECK-LABEL: func @reduce_last
func.func @reduce_last(%x: !node) -> !edge {
  // CHECK: %[[LAST:[a-z0-9]+]] = mpdfg.binary mul
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?x8xf32, #mpdfg.on<@node.send>>
  // CHECK: %[[READ:[a-z0-9]+]] = mpdfg.broadcast %{{.*}} along @src : tensor<?x8xf32, #mpdfg.on<@node.all>>
  // CHECK: mpdfg.select %{{.*}}, %[[READ]],
  %0 = mpdfg.reduce sum %x along @last_out : !node -> !edge
  return %0 : !edge
}

// Part by part.
// CHECK-LABEL: func @parts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32, #mpdfg.on<@edge>>
func.func @parts(%x: !edge) -> tensor<?x8xf32, #mpdfg.on<@ring>> {
  // CHECK: %[[EDGES:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @ring.part0
  // CHECK: %[[NODES:[a-z0-9]+]] = mpdfg.broadcast %{{.*}} along @ring.part1
  // CHECK: mpdfg.binary add %[[EDGES]], %[[NODES]]
  %0 = mpdfg.broadcast %x along @old : !edge -> tensor<?x8xf32, #mpdfg.on<@ring>>
  return %0 : tensor<?x8xf32, #mpdfg.on<@ring>>
}

// -----

// The last node of a type is one of all ranks'.
// CHECK-NOT: mpdfg.map @last
mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @type_of root from @node to @type
mpdfg.map @last last from @type to @node {parts = [@type_of], partial}
// CHECK-LABEL: func @of_type
func.func @of_type(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<3x8xf32, #mpdfg.on<@type>> {
  // CHECK: mpdfg.all_reduce max %{{.*}} : tensor<3xf32, #mpdfg.on<@type>>
  // CHECK: mpdfg.reduce sum %{{.*}} along @type_of
  // CHECK: mpdfg.all_reduce sum %{{.*}} : tensor<3x8xf32, #mpdfg.on<@type>>
  %0 = mpdfg.broadcast %x along @last : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<3x8xf32, #mpdfg.on<@type>>
  return %0 : tensor<3x8xf32, #mpdfg.on<@type>>
}

// -----

// A union has a static part on one rank alone.
// CHECK-DAG: mpdfg.space @type.own share {base = @type}
// CHECK-DAG: mpdfg.map @type.own.in inclusion from @type.own to @type
// CHECK-DAG: mpdfg.space @both union {parts = [@node, @type.own]}
// CHECK-DAG: mpdfg.map @both.type.own part from @both to @type.own {part = 1 : i64, partial}
// CHECK-DAG: mpdfg.map @both.type compose from @both to @type {partial, parts = [@both.type.own, @type.own.in]}
// CHECK-DAG: mpdfg.map @kind parts from @both to @type {parts = [@type_of, @type.own.in]}
// CHECK-DAG: mpdfg.map @family parts from @both to @family_of {parts = [@node_family, @type.own.in.type_family]}
// CHECK-DAG: mpdfg.map @type.own.in.type_family compose from @type.own to @family_of {parts = [@type.own.in, @type_family]}
mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.space @family_of static {extent = 2 : i64}
mpdfg.map @type_of root from @node to @type
mpdfg.map @node_family root from @node to @family_of
mpdfg.map @type_family root from @type to @family_of
mpdfg.space @both union {parts = [@node, @type]}
mpdfg.map @both.type part from @both to @type {part = 1 : i64, partial}
mpdfg.map @kind parts from @both to @type {parts = [@type_of, unit]}
mpdfg.map @family parts from @both to @family_of {parts = [@node_family, @type_family]}
// CHECK-LABEL: func @shared
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<3x8xf32, #mpdfg.on<@type>>
func.func @shared(%p: tensor<3x8xf32, #mpdfg.on<@type>>) -> tensor<3x8xf32, #mpdfg.on<@type>> {
  // CHECK: %[[V:[a-z0-9]+]] = mpdfg.vary %[[P]]
  // CHECK: mpdfg.broadcast %[[V]] along @both.type
  %0 = mpdfg.broadcast %p along @both.type : tensor<3x8xf32, #mpdfg.on<@type>> -> tensor<?x8xf32, #mpdfg.on<@both>>
  // CHECK: mpdfg.reduce sum %{{.*}} along @kind
  // CHECK-NEXT: mpdfg.all_reduce sum
  %1 = mpdfg.reduce sum %0 along @kind : tensor<?x8xf32, #mpdfg.on<@both>> -> tensor<3x8xf32, #mpdfg.on<@type>>
  return %1 : tensor<3x8xf32, #mpdfg.on<@type>>
}

// -----

// Of sources on other ranks a filter and tuples need the type, which is given.
// CHECK-DAG: mpdfg.map @type_of.halo root from @node.halo to @type
// CHECK-DAG: mpdfg.map @type_of.all parts from @node.all to @type {parts = [@type_of, @type_of.halo]}
// CHECK-DAG: mpdfg.map @src.type compose from @edge to @type {parts = [@src, @type_of.all]}
// CHECK-DAG: mpdfg.space @same filter {base = @edge, equal, maps = [@src.type, @dst.type]}
// CHECK-DAG: mpdfg.space @kind distinct {base = @edge, maps = [@dst, @src.type]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @type_of root from @node to @type
mpdfg.map @src.type compose from @edge to @type {parts = [@src, @type_of]}
mpdfg.map @dst.type compose from @edge to @type {parts = [@dst, @type_of]}
mpdfg.space @same filter {base = @edge, equal, maps = [@src.type, @dst.type]}
mpdfg.space @kind distinct {base = @edge, maps = [@dst, @src.type]}
// Then nothing is exchanged for it.
// CHECK-LABEL: func @types
func.func @types(%p: tensor<3x8xf32, #mpdfg.on<@type>>) -> tensor<?x8xf32, #mpdfg.on<@edge>> {
  // CHECK-NOT: transfer
  // CHECK: mpdfg.broadcast %{{.*}} along @src.type
  %0 = mpdfg.broadcast %p along @src.type : tensor<3x8xf32, #mpdfg.on<@type>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  // CHECK: return
  return %0 : tensor<?x8xf32, #mpdfg.on<@edge>>
}

// -----

// What is divided itself has no numbers here.
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @graph root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @batch root from @node to @graph
mpdfg.map @src.graph compose from @edge to @graph {parts = [@src, @batch]}
mpdfg.map @dst.graph compose from @edge to @graph {parts = [@dst, @batch]}
// expected-error @+1 {{cannot be distributed: @src.graph leads through elements of other ranks}}
mpdfg.space @same filter {base = @edge, equal, maps = [@src.graph, @dst.graph]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @sender distinct {base = @edge, maps = [@src]}
mpdfg.map @sender.of class from @edge to @sender
// expected-error @+1 {{cannot be distributed: the last element that @sender.of sends somewhere may be one of another rank}}
mpdfg.map @last last from @sender to @edge {parts = [@sender.of], partial}

// -----

mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
// expected-error @+1 {{has a name that distribution needs for space @type}}
mpdfg.space @type.own root
mpdfg.space @both union {parts = [@node, @type]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @type_of root from @node to @type
// expected-error @+1 {{has a name that distribution needs for map @type_of}}
mpdfg.map @type_of.halo root from @edge to @type
mpdfg.map @src.type compose from @edge to @type {parts = [@src, @type_of]}
mpdfg.map @dst.type compose from @edge to @type {parts = [@dst, @type_of]}
mpdfg.space @same filter {base = @edge, equal, maps = [@src.type, @dst.type]}
