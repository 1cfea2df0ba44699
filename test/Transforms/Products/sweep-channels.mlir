// RUN: gnnc-opt %s --sweep-channels | FileCheck %s
// RUN: gnnc-opt %s --sweep-channels --form-products | FileCheck %s --check-prefix=PRODUCTS
// RUN: gnnc-opt %s --sweep-channels --remark-format=emitRemark --remarks-filter=sweep-channels -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @edge root

!channels = tensor<?x8x3xf32, #mpdfg.on<@edge>>
!coupled = tensor<?x8x5xf32, #mpdfg.on<@edge>>

// The tensor comes second, whichever way it was written.
// CHECK-LABEL: func @coupling
// CHECK: mpdfg.contract %arg0 [0, 1], %arg1 [2, 1] -> [0, 2] {mpk.swept}
// PRODUCTS-LABEL: func @coupling
// PRODUCTS-NOT: mpk.product
// REMARK: [Passed] channels | Category:sweep-channels | Function=coupling | Remark="product by 3 x 5 numbers is made in sweeps, for each of 8 channels"
func.func @coupling(%x: !channels, %w: tensor<5x3xf32>) -> !coupled {
  %0 = mpdfg.contract %w [2, 1], %x [0, 1] -> [0, 2] : tensor<5x3xf32>, !channels -> !coupled
  return %0 : !coupled
}

// Too few channels for the lanes of a warp.
// CHECK-LABEL: func @few
// CHECK-NOT: mpk.swept
// PRODUCTS-LABEL: func @few
// PRODUCTS: mpk.product
func.func @few(%x: tensor<?x2x3xf32, #mpdfg.on<@edge>>, %w: tensor<5x3xf32>) -> tensor<?x2x5xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.contract %x [0, 1], %w [2, 1] -> [0, 2] : tensor<?x2x3xf32, #mpdfg.on<@edge>>, tensor<5x3xf32> -> tensor<?x2x5xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x2x5xf32, #mpdfg.on<@edge>>
}

// A matrix product: 1024 operations on each channel.
// CHECK-LABEL: func @wide
// CHECK-NOT: mpk.swept
func.func @wide(%x: tensor<?x8x32xf32, #mpdfg.on<@edge>>, %w: tensor<32x32xf32>) -> tensor<?x8x32xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [0, 2] : tensor<?x8x32xf32, #mpdfg.on<@edge>>, tensor<32x32xf32> -> tensor<?x8x32xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x8x32xf32, #mpdfg.on<@edge>>
}

// Rows of a matrix product, and channels that have a tensor each.
// CHECK-LABEL: func @rows
// CHECK-NOT: mpk.swept
func.func @rows(%x: tensor<?x3xf32, #mpdfg.on<@edge>>, %w: tensor<3x5xf32>) -> tensor<?x5xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x3xf32, #mpdfg.on<@edge>>, tensor<3x5xf32> -> tensor<?x5xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x5xf32, #mpdfg.on<@edge>>
}

// CHECK-LABEL: func @eachItsOwn
// CHECK-NOT: mpk.swept
func.func @eachItsOwn(%x: !channels, %w: tensor<8x3x5xf32>) -> !coupled {
  %0 = mpdfg.contract %x [0, 1], %w [0, 1, 2] -> [0, 2] : !channels, tensor<8x3x5xf32> -> !coupled
  return %0 : !coupled
}
