// RUN: gnnc-opt %s --split-input-file --split-halo-sums=operations-per-byte=4096 | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --split-halo-sums=operations-per-byte=4096 | gnnc-opt --split-input-file -o /dev/null
// RUN: gnnc-opt %s --split-input-file --split-halo-sums=operations-per-byte=4096 --remarks-filter=split-halo-sums 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: gnnc-opt %s --split-input-file --split-halo-sums | FileCheck %s --check-prefix=FAST

// Where links are fast, nothing changes.
// FAST-NOT: src.near

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!all = tensor<?x4xf32, #mpdfg.on<@all>>
!halo = tensor<?x4xf32, #mpdfg.on<@halo>>
!send = tensor<?x4xf32, #mpdfg.on<@send>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
mpdfg.space @node root
mpdfg.space @halo root
mpdfg.space @send root
mpdfg.space @all union {parts = [@node, @halo]}
mpdfg.space @edge root
mpdfg.map @sent root from @send to @node
mpdfg.map @own part from @all to @node {part = 0 : i64, partial}
mpdfg.map @other part from @all to @halo {part = 1 : i64, partial}
mpdfg.map @in injection from @node to @all {part = 0 : i64}
mpdfg.map @halo.in injection from @halo to @all {part = 1 : i64}
mpdfg.map @src root from @edge to @all
mpdfg.map @dst root from @edge to @node

// Which members read own rows is known when a graph is prepared.
// CHECK-DAG: mpdfg.map @all.none parts from @all to @node {partial, parts = ["undefined", "undefined"]}
// CHECK-DAG: mpdfg.map @src.own compose from @edge to @node {partial, parts = [@src, @own]}
// CHECK-DAG: mpdfg.map @src.all.none compose from @edge to @node {partial, parts = [@src, @all.none]}
// CHECK-DAG: mpdfg.space @src.near filter {base = @edge, maps = [@src.own, @src.all.none]}
// CHECK-DAG: mpdfg.space @src.far filter {base = @edge, equal, maps = [@src.own, @src.all.none]}
// CHECK-DAG: mpdfg.map @src.near.in.src.own compose from @src.near to @node {partial, parts = [@src.near.in, @src.own]}
// CHECK-DAG: mpdfg.map @src.far.in.src.other compose from @src.far to @halo {partial, parts = [@src.far.in, @src.other]}
// CHECK-DAG: mpdfg.map @src.near.in.dst compose from @src.near to @node {parts = [@src.near.in, @dst]}

// REMARK: sum along @dst begins with the members that read own rows, while rows of 16 bytes are on their way
// CHECK-LABEL: func.func @read
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4xf32, #mpdfg.on<@node>>, %[[W:[a-z0-9]+]]: tensor<?x1xf32, #mpdfg.on<@edge>>
func.func @read(%x: !node, %w: tensor<?x1xf32, #mpdfg.on<@edge>>) -> !node {
  // CHECK: %[[CAME:.*]] = mpdfg.transfer
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  // CHECK-NOT: @all
  // CHECK-DAG: %[[NEAR:.*]] = mpdfg.broadcast %[[X]] along @src.near.in.src.own
  // CHECK-DAG: %[[WEIGHT:.*]] = mpdfg.broadcast %[[W]] along @src.near.in :
  // CHECK-DAG: %[[OWNER:.*]] = mpdfg.broadcast %[[X]] along @src.near.in.dst
  // CHECK: %[[FIRST:.*]] = mpdfg.reduce sum %{{.*}} along @src.near.in.dst
  // CHECK-DAG: %[[FAR:.*]] = mpdfg.broadcast %[[CAME]] along @src.far.in.src.other
  // CHECK: %[[SECOND:.*]] = mpdfg.reduce sum %{{.*}} along @src.far.in.dst
  // CHECK: mpdfg.binary add %[[FIRST]], %[[SECOND]]
  // CHECK-NEXT: return
  %5 = mpdfg.broadcast %4 along @src : !all -> !edge
  %6 = mpdfg.broadcast %x along @dst : !node -> !edge
  %7 = mpdfg.binary sub %5, %6 : !edge, !edge -> !edge
  %8 = mpdfg.binary mul %7, %w : !edge, tensor<?x1xf32, #mpdfg.on<@edge>> -> !edge
  %9 = mpdfg.reduce sum %8 along @dst : !edge -> !node
  return %9 : !node
}

// What is done to both alike is done to each.
// CHECK-LABEL: func.func @computed
func.func @computed(%x: !node, %s: tensor<?xf32, #mpdfg.on<@node>>, %b: tensor<4xf32>) -> !node {
  // CHECK: %[[CAME:.*]] = mpdfg.transfer
  // CHECK: %[[OWN:.*]] = mpdfg.binary add %{{.*}}, %{{.*}} : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>
  // CHECK: mpdfg.broadcast %[[OWN]] along @src.near.in.src.own
  // CHECK: mpdfg.reduce sum
  // CHECK: %[[OTHERS:.*]] = mpdfg.binary add %[[CAME]], %{{.*}} : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4xf32>
  // CHECK: mpdfg.broadcast %[[OTHERS]] along @src.far.in.src.other
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  %5 = mpdfg.binary add %4, %b : !all, tensor<4xf32> -> !all
  %6 = mpdfg.broadcast %5 along @src : !all -> !edge
  %7 = mpdfg.reduce sum %6 along @dst : !edge -> !node
  return %7 : !node
}

// A mean is a sum, divided by how many members there are of both kinds.
// CHECK-LABEL: func.func @averaged
func.func @averaged(%x: !node) -> !node {
  // CHECK: %[[FIRST:.*]] = mpdfg.reduce sum %{{.*}} along @src.near.in.dst
  // CHECK: %[[SECOND:.*]] = mpdfg.reduce sum %{{.*}} along @src.far.in.dst
  // CHECK: %[[SUM:.*]] = mpdfg.binary add %[[FIRST]], %[[SECOND]]
  // CHECK: %[[COUNT:.*]] = mpdfg.degree along @dst
  // CHECK: %[[ONES:.*]] = mpdfg.reshape %[[COUNT]]
  // CHECK: %[[LEAST:.*]] = mpdfg.binary maximum %[[ONES]],
  // CHECK: mpdfg.binary div %[[SUM]], %[[LEAST]]
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  %5 = mpdfg.broadcast %4 along @src : !all -> !edge
  %6 = mpdfg.reduce mean %5 along @dst : !edge -> !node
  return %6 : !node
}

// What goes back to others goes before own elements are summed.
// REMARK: sum along @src is done for elements of others first, so that rows of 16 bytes are on their way while own ones are summed
// CHECK-LABEL: func.func @bring_back
func.func @bring_back(%g: !node) -> !node {
  // CHECK: %[[OTHERS:.*]] = mpdfg.reduce sum %{{.*}} along @src.far.in.src.other : {{.*}} -> tensor<?x4xf32, #mpdfg.on<@halo>>
  // CHECK: %[[OWN:.*]] = mpdfg.reduce sum %{{.*}} along @src.near.in.src.own : {{.*}} -> tensor<?x4xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.transfer %[[OTHERS]]
  // CHECK: mpdfg.binary add %[[OWN]],
  %0 = mpdfg.broadcast %g along @dst : !node -> !edge
  %1 = mpdfg.reduce sum %0 along @src : !edge -> !all
  %2 = mpdfg.broadcast %1 along @halo.in : !all -> !halo
  %3 = mpdfg.transfer %2 : !halo -> !send
  %4 = mpdfg.broadcast %1 along @in : !all -> !node
  %5 = mpdfg.reduce sum %3 along @sent : !send -> !node
  %6 = mpdfg.binary add %4, %5 : !node, !node -> !node
  return %6 : !node
}

// -----

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!all = tensor<?x4xf32, #mpdfg.on<@all>>
!halo = tensor<?x4xf32, #mpdfg.on<@halo>>
!send = tensor<?x4xf32, #mpdfg.on<@send>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!score = tensor<?x1xf32, #mpdfg.on<@edge>>
mpdfg.space @node root
mpdfg.space @halo root
mpdfg.space @send root
mpdfg.space @all union {parts = [@node, @halo]}
mpdfg.space @edge root
mpdfg.map @sent root from @send to @node
mpdfg.map @own part from @all to @node {part = 0 : i64, partial}
mpdfg.map @other part from @all to @halo {part = 1 : i64, partial}
mpdfg.map @src root from @edge to @all
mpdfg.map @from root from @edge to @all
mpdfg.map @dst root from @edge to @node

// A weight of a softmax is of all members of an owner.
// REMARK: Reason="a value of its members is made of more than themselves"
// CHECK-NOT: @src.near
func.func @weighted(%x: !node, %s: !score) -> !node {
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  %5 = mpdfg.broadcast %4 along @src : !all -> !edge
  %6 = mpdfg.norm %s along @dst : !score -> !score
  %7 = mpdfg.binary mul %5, %6 : !edge, !score -> !edge
  %8 = mpdfg.reduce sum %7 along @dst : !edge -> !node
  return %8 : !node
}

// REMARK: Reason="several maps of its members lead to elements of other ranks"
func.func @two_maps(%x: !node) -> !node {
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  %5 = mpdfg.broadcast %4 along @src : !all -> !edge
  %6 = mpdfg.broadcast %4 along @from : !all -> !edge
  %7 = mpdfg.binary mul %5, %6 : !edge, !edge -> !edge
  %8 = mpdfg.reduce sum %7 along @dst : !edge -> !node
  return %8 : !node
}

// REMARK: Reason="what own members read is made of rows of others, too"
func.func @waits_anyway(%x: !node) -> !node {
  %0 = mpdfg.broadcast %x along @sent : !node -> !send
  %1 = mpdfg.transfer %0 : !send -> !halo
  %2 = mpdfg.broadcast %x along @own : !node -> !all
  %3 = mpdfg.broadcast %1 along @other : !halo -> !all
  %4 = mpdfg.binary add %2, %3 : !all, !all -> !all
  %5 = mpdfg.broadcast %4 along @src : !all -> !edge
  %6 = mpdfg.reduce max %5 along @dst : !edge -> !node
  %7 = mpdfg.broadcast %6 along @dst : !node -> !edge
  %8 = mpdfg.binary sub %5, %7 : !edge, !edge -> !edge
  %9 = mpdfg.reduce sum %8 along @dst : !edge -> !node
  return %9 : !node
}

// The sum's row is much wider than what is sent.
// REMARK: Reason="rows of 4 bytes on their way are worth 2048 operations an owner, to write and read sums once more 16384"
func.func @wide(%x: tensor<?x1xf32, #mpdfg.on<@node>>, %w: tensor<1x128xf32>) -> tensor<?x128xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @sent : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@send>>
  %1 = mpdfg.transfer %0 : tensor<?x1xf32, #mpdfg.on<@send>> -> tensor<?x1xf32, #mpdfg.on<@halo>>
  %2 = mpdfg.broadcast %x along @own : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@all>>
  %3 = mpdfg.broadcast %1 along @other : tensor<?x1xf32, #mpdfg.on<@halo>> -> tensor<?x1xf32, #mpdfg.on<@all>>
  %4 = mpdfg.binary add %2, %3 : tensor<?x1xf32, #mpdfg.on<@all>>, tensor<?x1xf32, #mpdfg.on<@all>> -> tensor<?x1xf32, #mpdfg.on<@all>>
  %5 = mpdfg.broadcast %4 along @src : tensor<?x1xf32, #mpdfg.on<@all>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %6 = mpdfg.contract %5 [0], %w [0, 1] -> [1] : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1x128xf32> -> tensor<?x128xf32, #mpdfg.on<@edge>>
  %7 = mpdfg.reduce sum %6 along @dst : tensor<?x128xf32, #mpdfg.on<@edge>> -> tensor<?x128xf32, #mpdfg.on<@node>>
  return %7 : tensor<?x128xf32, #mpdfg.on<@node>>
}
