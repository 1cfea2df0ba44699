// RUN: gnnc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{a selection and no other has elements to choose from, and how many}}
mpdfg.space @node root {open}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a ratio above 0 and up to 1, found 1.500000e+00 : f32}}
mpdfg.space @best selection {base = @node, of = @node, most = 2 : i64, ratio = 1.5 : f32}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a ratio of f32 or f64, found 5.000000e-01 : f16}}
mpdfg.space @best selection {base = @node, of = @node, most = 2 : i64, ratio = 0.5 : f16}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @not_open(%x: !x) {
  // expected-error @+1 {{expected an open selection, found @near}}
  %0 = mpdfg.within %x, %x radius 1.0 along @near.src owner @near.dst : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others, open}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @open(%x: !x) {
  // expected-error @+1 {{expected a selection whose extent is known, found @near}}
  %0 = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others, open}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @no_radius(%x: !x) {
  // expected-error @+1 {{expected a radius above 0, found 0}}
  %0 = mpdfg.within %x, %x radius 0.0 along @near.src owner @near.dst : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others, open}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @before(%x: !x) {
  // expected-note @+1 {{it is followed here}}
  %0 = mpdfg.broadcast %x along @near.dst : !x -> tensor<?x3xf32, #mpdfg.on<@near>>
  // expected-error @+1 {{says where @near.dst leads after it is followed}}
  %1 = mpdfg.within %x, %x radius 1.0 along @near.src owner @near.dst : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @kept selection {base = @node, of = @node, most = 1 : i64, open}
mpdfg.map @kept.src chosen from @kept to @node
mpdfg.map @kept.in owner from @kept to @node

func.func @kept_along_another(%x: tensor<?xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a map to what is chosen, found @kept.src}}
  %0 = mpdfg.keep %x along @kept.src : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@kept>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @kept selection {base = @node, of = @node, most = 1 : i64, open}
mpdfg.map @kept.in owner from @kept to @node

func.func @kept_by_rows(%x: tensor<?x3xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected one number for each element, found 'tensor<?x3xf32, #mpdfg.on<@node>>'}}
  %0 = mpdfg.keep %x along @kept.in : tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@kept>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @kept selection {base = @node, of = @node, most = 2 : i64, open}
mpdfg.map @kept.in owner from @kept to @node

func.func @kept_twice(%x: tensor<?xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a selection of one element of its base for each, found @kept}}
  %0 = mpdfg.keep %x along @kept.in : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@kept>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @best selection {base = @node, of = @node, most = 2 : i64}
mpdfg.map @best.src chosen from @best to @node
mpdfg.map @best.dst owner from @best to @node

func.func @of_nobody(%x: tensor<?xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a selection for the elements to which a map leads}}
  %0 = mpdfg.top %x along @best.src owner @best.dst : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@best>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @far selection {base = @node, of = @node, most = 2 : i64}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>

func.func @far_of_nobody(%x: !x) {
  // expected-error @+1 {{expected a selection for the elements to which a map leads}}
  %0 = mpdfg.farthest %x along @far.src owner @far.dst : !x -> tensor<?xf32, #mpdfg.on<@far>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 2 : i64}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @graph

!x = tensor<?x3xf16, #mpdfg.on<@node>>

func.func @far_by_half_precision(%x: !x) {
  // expected-error @+1 {{expected rows of f32 or f64, found 'f16'}}
  %0 = mpdfg.farthest %x along @far.src owner @far.dst : !x -> tensor<?xf32, #mpdfg.on<@far>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 2 : i64}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @graph

!x = tensor<?x3xf32, #mpdfg.on<@node>>

func.func @far_from_rows(%x: !x) {
  // expected-error @+1 {{expected one number for each element, found 'tensor<?x3xf32, #mpdfg.on<@node>>'}}
  %0 = mpdfg.farthest %x start %x along @far.src owner @far.dst : !x start !x -> tensor<?xf32, #mpdfg.on<@far>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 2 : i64}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @graph

func.func @far_from_graphs(%x: tensor<?x3xf32, #mpdfg.on<@node>>, %first: tensor<?xf32, #mpdfg.on<@graph>>) {
  // expected-error @+1 {{expected the start on @node, found @graph}}
  %0 = mpdfg.farthest %x start %first along @far.src owner @far.dst
    : tensor<?x3xf32, #mpdfg.on<@node>> start tensor<?xf32, #mpdfg.on<@graph>> -> tensor<?xf32, #mpdfg.on<@far>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 2 : i64}
mpdfg.map @far.src chosen from @far to @node
mpdfg.map @far.dst owner from @far to @graph

func.func @far_from_wider_numbers(%x: tensor<?x3xf32, #mpdfg.on<@node>>, %first: tensor<?xf64, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected start as wide as the points, found 'f64'}}
  %0 = mpdfg.farthest %x start %first along @far.src owner @far.dst
    : tensor<?x3xf32, #mpdfg.on<@node>> start tensor<?xf64, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@far>>
  return
}
