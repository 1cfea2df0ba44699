// RUN: gnnc-opt %s --split-movements | FileCheck %s
// RUN: gnnc-opt %s --split-movements --remark-format=emitRemark --remarks-filter=split-movements -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node8 = tensor<?x8xf32, #mpdfg.on<@node>>
!node16 = tensor<?x16xf32, #mpdfg.on<@node>>
!node24 = tensor<?x24xf32, #mpdfg.on<@node>>
!edge4 = tensor<?x4xf32, #mpdfg.on<@edge>>
!edge8 = tensor<?x8xf32, #mpdfg.on<@edge>>
!edge12 = tensor<?x12xf32, #mpdfg.on<@edge>>
!edge16 = tensor<?x16xf32, #mpdfg.on<@edge>>
!edge24 = tensor<?x24xf32, #mpdfg.on<@edge>>

// Each part is summed by itself, with what is computed of the sum. A part that is read twice is summed once; one that is
// not read is not.
// REMARK: [Passed] split | {{.*}}Function=parts {{.*}}"parts of joined rows move apart"
// CHECK-LABEL: func @parts
// CHECK-NOT: concat
// CHECK: %[[Y:.*]] = mpdfg.reduce sum %arg1 along @dst
// CHECK: %[[T:.*]] = mpdfg.unary tanh %[[Y]] : tensor<?x16xf32
// CHECK-NOT: reduce
// CHECK: return %[[T]], %[[T]]
func.func @parts(%x: !edge8, %y: !edge16) -> (!node16, !node16) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge8, !edge16) -> !edge24
  %1 = mpdfg.reduce sum %0 along @dst : !edge24 -> !node24
  %2 = mpdfg.unary tanh %1 : !node24 -> !node24
  %3 = mpdfg.slice %2 axis 0 from 8 : !node24 -> !node16
  %4 = mpdfg.slice %2 axis 0 from 8 : !node24 -> !node16
  return %3, %4 : !node16, !node16
}

// Gathered rows too.
// CHECK-LABEL: func @gathered
// CHECK: mpdfg.broadcast %arg0 along @src : tensor<?x8xf32
// CHECK: mpdfg.broadcast %arg1 along @src : tensor<?x16xf32
// CHECK-NOT: slice
// CHECK: return
func.func @gathered(%x: !node8, %y: !node16) -> (!edge16, !edge8) {
  %0 = mpdfg.concat %x, %y axis 0 : (!node8, !node16) -> !node24
  %1 = mpdfg.broadcast %0 along @src : !node24 -> !edge24
  %2 = mpdfg.slice %1 axis 0 from 8 : !edge24 -> !edge16
  %3 = mpdfg.slice %1 axis 0 from 0 : !edge24 -> !edge8
  return %2, %3 : !edge16, !edge8
}

// Narrow parts are gathered together.
// REMARK: [Missed] split | {{.*}}Function=narrow {{.*}}Reason="parts of 4 numbers would be gathered alone", Remark="joined rows move together"
// CHECK-LABEL: func @narrow
// CHECK: mpdfg.broadcast %{{.*}} along @src : tensor<?x12xf32
func.func @narrow(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %y: !node8) -> (!edge4, !edge8) {
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<?x4xf32, #mpdfg.on<@node>>, !node8) -> tensor<?x12xf32, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %0 along @src : tensor<?x12xf32, #mpdfg.on<@node>> -> !edge12
  %2 = mpdfg.slice %1 axis 0 from 0 : !edge12 -> !edge4
  %3 = mpdfg.slice %1 axis 0 from 4 : !edge12 -> !edge8
  return %2, %3 : !edge4, !edge8
}

// A slice that takes numbers of two parts, or a reader that is no slice: the sum is one.
// CHECK-LABEL: func @across
// CHECK: mpdfg.reduce sum %{{.*}} : tensor<?x24xf32
// CHECK-LABEL: func @whole
// CHECK: mpdfg.reduce sum %{{.*}} : tensor<?x24xf32
func.func @across(%x: !edge8, %y: !edge16) -> !node16 {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge8, !edge16) -> !edge24
  %1 = mpdfg.reduce sum %0 along @dst : !edge24 -> !node24
  %2 = mpdfg.slice %1 axis 0 from 4 : !node24 -> !node16
  return %2 : !node16
}
func.func @whole(%x: !edge8, %y: !edge16) -> (!node24, !node16) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge8, !edge16) -> !edge24
  %1 = mpdfg.reduce sum %0 along @dst : !edge24 -> !node24
  %2 = mpdfg.slice %1 axis 0 from 8 : !node24 -> !node16
  return %1, %2 : !node24, !node16
}

// A shared part has no rows to move.
// REMARK: [Missed] split | {{.*}}Function=shared {{.*}}Reason="a part is shared"
// CHECK-LABEL: func @shared
// CHECK: mpdfg.reduce max %{{.*}} : tensor<?x24xf32
func.func @shared(%x: tensor<8xf32>, %y: !edge16) -> !node16 {
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<8xf32>, !edge16) -> !edge24
  %1 = mpdfg.reduce max %0 along @dst : !edge24 -> !node24
  %2 = mpdfg.slice %1 axis 0 from 8 : !node24 -> !node16
  return %2 : !node16
}
