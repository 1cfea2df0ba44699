// RUN: gnnc-opt %s --pack-rows -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --pack-rows -split-input-file --remark-format=emitRemark --remarks-filter=pack-rows -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!two = tensor<?x2xf32, #mpdfg.on<@node>>
!four = tensor<?x4xf32, #mpdfg.on<@node>>

// Two results of one sweep, gathered through one map: one row. A sweep that reads one of them by owner takes its slice,
// and neither is written by itself. Accesses by owner are not packed for their own sake.
// CHECK-LABEL: func @packs
// CHECK: %[[P:.*]] = mpk.sweep over @node along @dst(%arg0) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>]
// CHECK: %[[A:.*]] = mpk.accumulate sum
// CHECK: %[[B:.*]] = mpk.accumulate max
// CHECK: %[[J:.*]] = mpdfg.concat %[[A]], %[[B]] axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
// CHECK: mpk.yield %[[J]] : tensor<4xf32>
// CHECK: -> tensor<?x4xf32, #mpdfg.on<@node>>
// CHECK: mpk.sweep over @node(%[[P]]) access [#mpk.access<owner>]
// CHECK: mpdfg.slice %{{.*}} axis 0 from 2 : tensor<4xf32> -> tensor<2xf32>
// CHECK: mpk.sweep over @node along @src(%[[P]]) access [#mpk.access<gather_member @dst>]
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<4xf32>):
// CHECK-DAG: %[[S:.*]] = mpdfg.slice %[[ROW]] axis 0 from 0 : tensor<4xf32> -> tensor<2xf32>
// CHECK-DAG: %[[T:.*]] = mpdfg.slice %[[ROW]] axis 0 from 2 : tensor<4xf32> -> tensor<2xf32>
// CHECK: mpdfg.binary mul %[[S]], %[[T]]
// REMARK: [Passed] pack | {{.*}}Function=packs | {{.*}}2 rows that members gather through dst are one of 16 bytes
func.func @packs(%x: !two) -> (!two, !two) {
  %0:2 = mpk.sweep over @node along @dst(%x) access [#mpk.access<gather_member @src>]
      yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpk.accumulate sum %a : tensor<2xf32>
    %4 = mpk.accumulate max %a : tensor<2xf32>
    mpk.yield %3, %4 : tensor<2xf32>, tensor<2xf32>
  } : (!two) -> (!two, !two)
  %1 = mpk.sweep over @node(%0#1) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpdfg.unary tanh %a : tensor<2xf32> -> tensor<2xf32>
    mpk.yield %3 : tensor<2xf32>
  } : (!two) -> !two
  %2 = mpk.sweep over @node along @src(%0#0, %0#1) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = mpk.accumulate sum %3 : tensor<2xf32>
    mpk.yield %4 : tensor<2xf32>
  } : (!two, !two) -> !two
  return %1, %2 : !two, !two
}

// What the last maker reads of its own element joins the row: an argument, and an earlier sweep's result. An output stays
// in its own memory as well. Two sweeps that gather the same read the same row.
// CHECK-LABEL: func @carries
// CHECK: %[[E:.*]] = mpk.sweep over @node(%arg0)
// CHECK: %[[P:.*]]:2 = mpk.sweep over @node along @dst(%[[E]], %arg1, %arg0) access [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<gather_member @src>] yields [#mpk.access<owner>, #mpk.access<owner>]
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<4xf32>, %{{.*}}: tensor<2xf32>):
// CHECK: %[[SUM:.*]] = mpk.accumulate sum
// CHECK: %[[J:.*]] = mpdfg.concat %[[SUM]], %[[A]], %[[B]] axis 0 : (tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<8xf32>
// CHECK: mpk.yield %[[SUM]], %[[J]]
// CHECK: mpk.sweep over @node along @src(%[[P]]#1)
// CHECK-DAG: mpdfg.slice %{{.*}} axis 0 from 0 : tensor<8xf32> -> tensor<2xf32>
// CHECK-DAG: mpdfg.slice %{{.*}} axis 0 from 2 : tensor<8xf32> -> tensor<2xf32>
// CHECK-DAG: mpdfg.slice %{{.*}} axis 0 from 4 : tensor<8xf32> -> tensor<4xf32>
// CHECK: mpk.sweep over @node along @src(%{{.*}}, %[[P]]#1)
// CHECK: return %[[P]]#0,
func.func @carries(%x: !two, %w: !four) -> (!two, !two, !two) {
  %0 = mpk.sweep over @node(%x) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpdfg.unary tanh %a : tensor<2xf32> -> tensor<2xf32>
    mpk.yield %3 : tensor<2xf32>
  } : (!two) -> !two
  %1 = mpk.sweep over @node along @dst(%0, %w, %x) access [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<gather_member @src>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<4xf32>, %c: tensor<2xf32>):
    %3 = mpdfg.slice %b axis 0 from 2 : tensor<4xf32> -> tensor<2xf32>
    %4 = mpdfg.binary mul %a, %c : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %5 = mpdfg.binary add %4, %3 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %6 = mpk.accumulate sum %5 : tensor<2xf32>
    mpk.yield %6 : tensor<2xf32>
  } : (!two, !four, !two) -> !two
  %2:2 = mpk.sweep over @node along @src(%1, %0, %w) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>]
      yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<4xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = mpk.accumulate sum %3 : tensor<2xf32>
    %5 = mpdfg.slice %c axis 0 from 0 : tensor<4xf32> -> tensor<2xf32>
    %6 = mpk.accumulate max %5 : tensor<2xf32>
    mpk.yield %4, %6 : tensor<2xf32>, tensor<2xf32>
  } : (!two, !two, !four) -> (!two, !two)
  %7 = mpk.sweep over @node along @src(%1, %0, %w, %2#0) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>, #mpk.access<owner>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<4xf32>, %d: tensor<2xf32>):
    %3 = mpdfg.binary add %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %5 = mpdfg.slice %c axis 0 from 1 : tensor<4xf32> -> tensor<2xf32>
    %4 = mpdfg.binary mul %3, %5 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %6 = mpdfg.binary mul %4, %d : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %8 = mpk.accumulate sum %6 : tensor<2xf32>
    mpk.yield %8 : tensor<2xf32>
  } : (!two, !two, !four, !two) -> !two
  return %1, %2#1, %7 : !two, !two, !two
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @via root from @edge to @node

!two = tensor<?x2xf32, #mpdfg.on<@node>>
!half = tensor<?x2xbf16, #mpdfg.on<@node>>
!wide = tensor<?x16xf32, #mpdfg.on<@node>>

// Different maps or fills, rows that are not narrow, of another type in memory, and what no sweep makes: as before.
// CHECK-LABEL: func @declines
// CHECK: mpdfg.concat {{.*}} -> tensor<16xf32>
// CHECK-NOT: concat
// CHECK: return
// REMARK: [Missed] pack | {{.*}}Function=declines | Reason="no sweep that makes one of them makes, or reads by owner, another one of its form"
func.func @declines(%x: !two, %y: !two) -> (!two, !two, !two, !two) {
  %0:4 = mpk.sweep over @node(%x) access [#mpk.access<owner>]
      yields [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpdfg.unary tanh %a : tensor<2xf32> -> tensor<2xf32>
    %4 = mpdfg.unary exp %a : tensor<2xf32> -> tensor<2xf32>
    %5 = mpdfg.concat %3, %3, %3, %3, %3, %3, %3, %3 axis 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<16xf32>
    mpk.yield %3, %4, %5, %4 : tensor<2xf32>, tensor<2xf32>, tensor<16xf32>, tensor<2xf32>
  } : (!two) -> (!two, !two, !wide, !half)
  %1 = mpk.sweep over @node along @src(%0#0, %0#1) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @via>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = mpk.accumulate sum %3 : tensor<2xf32>
    mpk.yield %4 : tensor<2xf32>
  } : (!two, !two) -> !two
  %2 = mpk.sweep over @node along @src(%0#0, %0#1) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst fill 1.0>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = mpk.accumulate sum %3 : tensor<2xf32>
    mpk.yield %4 : tensor<2xf32>
  } : (!two, !two) -> !two
  %6 = mpk.sweep over @node along @src(%0#0, %0#2, %0#3, %y) access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<16xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>):
    %3 = mpdfg.slice %b axis 0 from 3 : tensor<16xf32> -> tensor<2xf32>
    %4 = mpdfg.binary mul %a, %3 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %5 = mpdfg.binary mul %4, %c : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %7 = mpdfg.binary mul %5, %d : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %8 = mpk.accumulate sum %7 : tensor<2xf32>
    mpk.yield %8 : tensor<2xf32>
  } : (!two, !wide, !half, !two) -> !two
  return %1, %2, %6, %0#1 : !two, !two, !two, !two
}
