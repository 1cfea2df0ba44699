// A long body shares a sweep only with what it has much in common, and a sum of what many layers add is made layer by
// layer, where little is kept between them.
//
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @edge root

!paths = tensor<?x11x32xf32, #mpdfg.on<@edge>>
!row = tensor<?x3xf32, #mpdfg.on<@edge>>

// Two layers' rows, of which each takes some 700 statements: they share only directions.
// CHECK-LABEL: func @layers
// CHECK: mpk.sweep over @edge
// CHECK: mpk.yield %{{[0-9]+}} :
// CHECK: mpk.sweep over @edge
// CHECK: mpk.yield %{{[0-9]+}} :
// CHECK: return
// REMARK: [Missed] fuse {{.*}} Function=layers {{.*}}"both are long, and they have little in common"
func.func @layers(%r: !row, %x: !paths, %y: !paths) -> (!paths, !paths) {
  %s = mpdfg.fold sum %r [0] : !row -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %t = mpdfg.reshape %s : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.unary tanh %x : !paths -> !paths
  %1 = mpdfg.binary mul %0, %t : !paths, tensor<?x1x1xf32, #mpdfg.on<@edge>> -> !paths
  %2 = mpdfg.unary tanh %y : !paths -> !paths
  %3 = mpdfg.binary mul %2, %t : !paths, tensor<?x1x1xf32, #mpdfg.on<@edge>> -> !paths
  return %1, %3 : !paths, !paths
}

// The same rows in other ways are long too, but one sweep reads them once.
// CHECK-LABEL: func @common
// CHECK: mpk.sweep over @edge
// CHECK: mpk.yield %{{[0-9]+}}, %{{[0-9]+}} :
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @common(%x: !paths) -> (!paths, !paths) {
  %0 = mpdfg.unary tanh %x : !paths -> !paths
  %1 = mpdfg.unary sigmoid %x : !paths -> !paths
  return %0, %1 : !paths, !paths
}

// What three layers add to a row of three numbers.
// CHECK-LABEL: func @chain
// CHECK-COUNT-3: mpk.sweep over @edge
// CHECK-NOT: mpk.sweep
// CHECK: return
// REMARK: [Passed] cut {{.*}} Function=chain {{.*}}statements would be long
func.func @chain(%x: !paths, %y: !paths, %z: !paths) -> tensor<?x11x1xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.unary tanh %x : !paths -> !paths
  %1 = mpdfg.fold sum %0 [1] : !paths -> tensor<?x11x1xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.unary tanh %y : !paths -> !paths
  %3 = mpdfg.fold sum %2 [1] : !paths -> tensor<?x11x1xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.binary add %1, %3 : tensor<?x11x1xf32, #mpdfg.on<@edge>>, tensor<?x11x1xf32, #mpdfg.on<@edge>> -> tensor<?x11x1xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.unary tanh %z : !paths -> !paths
  %6 = mpdfg.fold sum %5 [1] : !paths -> tensor<?x11x1xf32, #mpdfg.on<@edge>>
  %7 = mpdfg.binary add %4, %6 : tensor<?x11x1xf32, #mpdfg.on<@edge>>, tensor<?x11x1xf32, #mpdfg.on<@edge>> -> tensor<?x11x1xf32, #mpdfg.on<@edge>>
  return %7 : tensor<?x11x1xf32, #mpdfg.on<@edge>>
}
