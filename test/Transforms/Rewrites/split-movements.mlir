// RUN: gnnc-opt %s --split-movements | FileCheck %s
// RUN: gnnc-opt %s --split-movements --remark-format=emitRemark --remarks-filter=split-movements -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node64 = tensor<?x64xf32, #mpdfg.on<@node>>
!node128 = tensor<?x128xf32, #mpdfg.on<@node>>
!node192 = tensor<?x192xf32, #mpdfg.on<@node>>
!edge4 = tensor<?x4xf32, #mpdfg.on<@edge>>
!edge64 = tensor<?x64xf32, #mpdfg.on<@edge>>
!edge68 = tensor<?x68xf32, #mpdfg.on<@edge>>
!edge128 = tensor<?x128xf32, #mpdfg.on<@edge>>
!edge192 = tensor<?x192xf32, #mpdfg.on<@edge>>

// Each part is summed by itself, with what is computed of the sum. A part that is read twice is summed once; one that is
// not read is not.
// REMARK: [Passed] split | {{.*}}Function=parts {{.*}}"parts of joined rows move apart"
// CHECK-LABEL: func @parts
// CHECK-NOT: concat
// CHECK: %[[Y:.*]] = mpdfg.reduce sum %arg1 along @dst
// CHECK: %[[T:.*]] = mpdfg.unary tanh %[[Y]] : tensor<?x128xf32
// CHECK-NOT: reduce
// CHECK: return %[[T]], %[[T]]
func.func @parts(%x: !edge64, %y: !edge128) -> (!node128, !node128) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge128) -> !edge192
  %1 = mpdfg.reduce sum %0 along @dst : !edge192 -> !node192
  %2 = mpdfg.unary tanh %1 : !node192 -> !node192
  %3 = mpdfg.slice %2 axis 0 from 64 : !node192 -> !node128
  %4 = mpdfg.slice %2 axis 0 from 64 : !node192 -> !node128
  return %3, %4 : !node128, !node128
}

// Gathered rows too.
// CHECK-LABEL: func @gathered
// CHECK: mpdfg.broadcast %arg0 along @src : tensor<?x64xf32
// CHECK: mpdfg.broadcast %arg1 along @src : tensor<?x128xf32
// CHECK-NOT: slice
// CHECK: return
func.func @gathered(%x: !node64, %y: !node128) -> (!edge128, !edge64) {
  %0 = mpdfg.concat %x, %y axis 0 : (!node64, !node128) -> !node192
  %1 = mpdfg.broadcast %0 along @src : !node192 -> !edge192
  %2 = mpdfg.slice %1 axis 0 from 64 : !edge192 -> !edge128
  %3 = mpdfg.slice %1 axis 0 from 0 : !edge192 -> !edge64
  return %2, %3 : !edge128, !edge64
}

// Narrow parts move together.
// REMARK: [Missed] split | {{.*}}Function=narrow {{.*}}Reason="parts of 4 numbers would move alone", Remark="joined rows move together"
// CHECK-LABEL: func @narrow
// CHECK: mpdfg.broadcast %{{.*}} along @src : tensor<?x68xf32
func.func @narrow(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %y: !node64) -> (!edge4, !edge64) {
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<?x4xf32, #mpdfg.on<@node>>, !node64) -> tensor<?x68xf32, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %0 along @src : tensor<?x68xf32, #mpdfg.on<@node>> -> !edge68
  %2 = mpdfg.slice %1 axis 0 from 0 : !edge68 -> !edge4
  %3 = mpdfg.slice %1 axis 0 from 4 : !edge68 -> !edge64
  return %2, %3 : !edge4, !edge64
}

// A slice that takes numbers of two parts, or a reader that is no slice: the sum is one.
// CHECK-LABEL: func @across
// CHECK: mpdfg.reduce sum %{{.*}} : tensor<?x192xf32
// CHECK-LABEL: func @whole
// CHECK: mpdfg.reduce sum %{{.*}} : tensor<?x192xf32
func.func @across(%x: !edge64, %y: !edge128) -> !node128 {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge128) -> !edge192
  %1 = mpdfg.reduce sum %0 along @dst : !edge192 -> !node192
  %2 = mpdfg.slice %1 axis 0 from 4 : !node192 -> !node128
  return %2 : !node128
}
func.func @whole(%x: !edge64, %y: !edge128) -> (!node192, !node128) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge128) -> !edge192
  %1 = mpdfg.reduce sum %0 along @dst : !edge192 -> !node192
  %2 = mpdfg.slice %1 axis 0 from 64 : !node192 -> !node128
  return %1, %2 : !node192, !node128
}

// A shared part has no rows to move.
// REMARK: [Missed] split | {{.*}}Function=shared {{.*}}Reason="a part is shared"
// CHECK-LABEL: func @shared
// CHECK: mpdfg.reduce max %{{.*}} : tensor<?x192xf32
func.func @shared(%x: tensor<64xf32>, %y: !edge128) -> !node128 {
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<64xf32>, !edge128) -> !edge192
  %1 = mpdfg.reduce max %0 along @dst : !edge192 -> !node192
  %2 = mpdfg.slice %1 axis 0 from 64 : !node192 -> !node128
  return %2 : !node128
}

// Nothing moves, and parts of any width are read apart.
// REMARK: [Passed] split | {{.*}}Function=read_apart {{.*}}"parts of joined rows are read apart"
// CHECK-LABEL: func @read_apart
// CHECK-NEXT: %[[T:.*]] = mpdfg.unary tanh %arg1 : tensor<?x4xf32
// CHECK-NEXT: return %arg0, %[[T]]
func.func @read_apart(%x: !edge64, %y: !edge4) -> (!edge64, !edge4) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge4) -> !edge68
  %1 = mpdfg.slice %0 axis 0 from 0 : !edge68 -> !edge64
  %2 = mpdfg.slice %0 axis 0 from 64 : !edge68 -> !edge4
  %3 = mpdfg.unary tanh %2 : !edge4 -> !edge4
  return %1, %3 : !edge64, !edge4
}

// What is needed as a whole exists anyway, and a slice of two parts needs both.
// CHECK-LABEL: func @read_whole
// CHECK: mpdfg.concat
// CHECK: mpdfg.slice
// CHECK-LABEL: func @read_across
// CHECK: mpdfg.concat
// CHECK: mpdfg.slice
func.func @read_whole(%x: !edge64, %y: !edge4) -> (!edge68, !edge4) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge4) -> !edge68
  %1 = mpdfg.slice %0 axis 0 from 64 : !edge68 -> !edge4
  return %0, %1 : !edge68, !edge4
}
func.func @read_across(%x: !edge64, %y: !edge4) -> (!edge64, !edge4) {
  %0 = mpdfg.concat %x, %y axis 0 : (!edge64, !edge4) -> !edge68
  %1 = mpdfg.slice %0 axis 0 from 4 : !edge68 -> !edge64
  %2 = mpdfg.slice %0 axis 0 from 64 : !edge68 -> !edge4
  return %1, %2 : !edge64, !edge4
}
