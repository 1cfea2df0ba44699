// A row is joined of at most 64 parts in one body, joins of joins included: doubling it often would give it so many that
// each were written by a statement of its own. What has too many is kept on the way.
//
// RUN: gnnc-opt %s --fuse-message-passing --split-joined-rows --remark-format=emitRemark \
// RUN:   --remarks-filter=fuse-message-passing 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

mpdfg.space @node root

// CHECK-LABEL: func @doubled
// CHECK: %[[A:.*]] = mpk.sweep over @node(%arg0)
// CHECK: mpdfg.concat %{{[a-z0-9]+}}{{(, %[a-z0-9]+)+}} axis 0 : {{.*}} -> tensor<64xf32>
// CHECK: mpk.sweep over @node(%[[A]])
// CHECK: mpdfg.concat %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} axis 0 : {{.*}} -> tensor<256xf32>
// REMARK: "rows are kept before they are joined: 128 parts are more than 64"
func.func @doubled(%0: tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x256xf32, #mpdfg.on<@node>> {
  %1 = mpdfg.concat %0, %0 axis 0 : (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  %2 = mpdfg.concat %1, %1 axis 0 : (tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.concat %2, %2 axis 0 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>>
  %4 = mpdfg.concat %3, %3 axis 0 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x16xf32, #mpdfg.on<@node>>
  %5 = mpdfg.concat %4, %4 axis 0 : (tensor<?x16xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<?x32xf32, #mpdfg.on<@node>>
  %6 = mpdfg.concat %5, %5 axis 0 : (tensor<?x32xf32, #mpdfg.on<@node>>, tensor<?x32xf32, #mpdfg.on<@node>>) -> tensor<?x64xf32, #mpdfg.on<@node>>
  %7 = mpdfg.concat %6, %6 axis 0 : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@node>>) -> tensor<?x128xf32, #mpdfg.on<@node>>
  %8 = mpdfg.concat %7, %7 axis 0 : (tensor<?x128xf32, #mpdfg.on<@node>>, tensor<?x128xf32, #mpdfg.on<@node>>) -> tensor<?x256xf32, #mpdfg.on<@node>>
  return %8 : tensor<?x256xf32, #mpdfg.on<@node>>
}
