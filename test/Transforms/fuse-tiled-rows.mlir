// RUN: gnnc-opt %s --fuse-message-passing --split-input-file | FileCheck %s

// A sweep along a map that multiplies its members in tiles only sums; a product in tiles whose rows are kept is made by
// a sweep without members. So the two are never one sweep, whatever they share.

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node

// The number of an owner's members reads nothing, so it goes into any sweep but this one.
// CHECK-LABEL: func @degree
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: {mpk.tile}
// CHECK: mpk.sweep over @node along @src()
// CHECK: mpk.accumulate sum
func.func @degree(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

// Nor does one that names the winner among all rows join it, though it is made of the same rows.
// CHECK-LABEL: func @winner
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: {mpk.tile}
// CHECK: mpk.sweep over @node(%arg0)
// CHECK: mpk.accumulate argmax
func.func @winner(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<17xf32>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce argmax %x along @all : tensor<?x17xf32, #mpdfg.on<@node>> -> tensor<17xf32>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<17xf32>
}

// -----

mpdfg.space @node root

// Sums over everything of other products in tiles do join it.
// CHECK-LABEL: func @sum
// CHECK: mpk.sweep over @node(%arg0, %arg1, %arg2)
// CHECK-COUNT-2: {mpk.tile}
// CHECK: mpk.accumulate sum
// CHECK-NOT: mpk.sweep
func.func @sum(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>, %v: tensor<17x8xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8xf32>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %v [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x8xf32> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %2 = mpdfg.unary cos %1 : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<8xf32>
  return %0, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8xf32>
}
