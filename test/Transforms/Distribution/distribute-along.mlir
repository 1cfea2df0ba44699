// RUN: gnnc-opt %s --distribute=along=src --remark-format=emitRemark --remarks-filter=distribute 2>&1 | FileCheck %s
// RUN: not gnnc-opt %s --distribute=along=src,dst 2>&1 | FileCheck %s --check-prefix=TWICE

// With edges where their sources are it is dst that leads elsewhere.
// CHECK: remark: [Passed] exchange | Category:distribute | Function=f | Remark="rows of 8 numbers of @node are exchanged"
// CHECK: remark: [Passed] return | Category:distribute | Function=f | Remark="rows of 8 numbers go back to the ranks of @node"
// CHECK: mpdfg.map @src root from @edge to @node{{$}}
// CHECK: mpdfg.map @dst root from @edge to @node.all
// TWICE: expected one map for space @edge to go along, found this and @src
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
  // CHECK: mpdfg.broadcast %{{.*}} along @src : tensor<?x8xf32, #mpdfg.on<@node>>
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.broadcast %x along @dst : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.binary mul %0, %1 : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.reduce sum %2 along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %3 : tensor<?x8xf32, #mpdfg.on<@node>>
}
