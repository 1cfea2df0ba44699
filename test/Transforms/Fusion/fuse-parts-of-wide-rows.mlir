// A row that is joined, or cut, and much wider rows that are computed from it, or it from them: in one sweep each lane
// would have all parts of the joined axis. It is kept, and read like any other row.
//
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root

!row = tensor<?x128x16xf32, #mpdfg.on<@node>>
!part = tensor<?x128x4xf32, #mpdfg.on<@node>>
!rest = tensor<?x128x12xf32, #mpdfg.on<@node>>
!long = tensor<?x128x16x16xf32, #mpdfg.on<@node>>

// REMARK: [Passed] join | {{.*}}Function=joined {{.*}}"a joined row is kept beside much wider ones"
// CHECK-LABEL: func @joined
// CHECK: %[[X:.*]] = mpk.sweep over @node
// CHECK: mpdfg.concat
// CHECK: mpk.yield %{{.*}} : tensor<128x16xf32>
// CHECK: mpk.sweep over @node(%[[X]])
// CHECK-NOT: mpdfg.concat
// CHECK: mpdfg.contract
// CHECK: return
func.func @joined(%a: !part, %b: !rest) -> !long {
  %0 = mpdfg.concat %a, %b axis 1 : (!part, !rest) -> !row
  %1 = mpdfg.contract %0 [0, 1], %0 [0, 2] -> [0, 1, 2] : !row, !row -> !long
  return %1 : !long
}

// REMARK: [Passed] join | {{.*}}Function=cut {{.*}}"a cut row is kept beside much wider ones"
// CHECK-LABEL: func @cut
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: mpdfg.contract
// CHECK: mpk.yield %{{.*}} : tensor<128x16xf32>
// CHECK: mpk.sweep over @node
// CHECK: mpdfg.slice
// CHECK: return
func.func @cut(%g: !long, %x: !row) -> (!part, !rest) {
  %0 = mpdfg.contract %g [0, 1, 2], %x [0, 2] -> [0, 1] : !long, !row -> !row
  %1 = mpdfg.unary tanh %0 : !row -> !row
  %2 = mpdfg.slice %1 axis 1 from 0 : !row -> !part
  %3 = mpdfg.slice %1 axis 1 from 4 : !row -> !rest
  return %2, %3 : !part, !rest
}

// Wide weights are no rows, and rows that lanes can hold need nothing kept.
// REMARK-NOT: Function=few
// CHECK-LABEL: func @few
// CHECK-COUNT-1: mpk.sweep over @node
// CHECK-NOT: mpk.sweep
func.func @few(%a: tensor<?x4xf32, #mpdfg.on<@node>>, %b: tensor<?x12xf32, #mpdfg.on<@node>>)
    -> tensor<?x16x16xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.concat %a, %b axis 0 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x12xf32, #mpdfg.on<@node>>)
    -> tensor<?x16xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %0 [0], %0 [1] -> [0, 1] : tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>
    -> tensor<?x16x16xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x16x16xf32, #mpdfg.on<@node>>
}
