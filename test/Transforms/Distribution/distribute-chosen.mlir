// RUN: gnnc-opt %s --distribute --split-input-file | FileCheck %s

// Elements go along the map that most numbers are reduced along, whatever it is called.
// CHECK: module attributes {mpdfg.distributed = {edge = "messages_target"}}
module {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @messages_source root from @edge to @node
  mpdfg.map @messages_target root from @edge to @node
  func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
    %0 = mpdfg.broadcast %x along @messages_source : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    %1 = mpdfg.reduce sum %0 along @messages_target : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    return %1 : tensor<?x8xf32, #mpdfg.on<@node>>
  }
}

// -----

// Sums of derived spaces count for the map that theirs is made of; a wide one for more than two narrow ones.
// CHECK: module attributes {mpdfg.distributed = {edge = "src"}}
module {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
  mpdfg.map @real.edge inclusion from @real to @edge
  mpdfg.map @real.src compose from @real to @node {parts = [@real.edge, @src]}
  mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
  mpdfg.space @ring union {parts = [@real, @node]}
  mpdfg.map @ring.src parts from @ring to @node {parts = [@real.src, unit]}
  func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@ring>>, %y: tensor<?x2xf32, #mpdfg.on<@edge>>)
      -> (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
    %0 = mpdfg.reduce sum %x along @ring.src : tensor<?x8xf32, #mpdfg.on<@ring>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %1 = mpdfg.reduce sum %y along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %2 = mpdfg.reduce max %y along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    return %0, %1, %2 : tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
  }
}

// -----

// Of equal ones it is the one that is called dst, in every spelling; else the first.
// CHECK: module attributes {mpdfg.distributed = {cites = "cites_dst", pair = "one"}}
module {
  mpdfg.space @node root
  mpdfg.space @cites root
  mpdfg.space @pair root
  mpdfg.map @cites_src root from @cites to @node
  mpdfg.map @cites_dst root from @cites to @node
  mpdfg.map @one root from @pair to @node
  mpdfg.map @other root from @pair to @node
  func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@pair>> {
    %0 = mpdfg.broadcast %x along @other : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@pair>>
    return %0 : tensor<?x8xf32, #mpdfg.on<@pair>>
  }
}
