// RUN: gnnc-opt %s --split-input-file --verify-diagnostics

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @other_map(%x: !x) {
  // expected-error @+1 {{expected a map to what is chosen, found @near.dst}}
  %0 = mpdfg.nearest %x, %x along @near.dst owner @near.dst : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @other_owner(%x: !x) {
  // expected-error @+1 {{expected the map from @near to owners, found @near.src}}
  %0 = mpdfg.nearest %x, %x along @near.src owner @near.src : !x, !x -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @other_rows(%x: !x, %y: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand's features, found 'tensor<?x4xf32, #mpdfg.on<@node>>'}}
  %0 = mpdfg.nearest %x, %y along @near.src owner @near.dst : !x, tensor<?x4xf32, #mpdfg.on<@node>> -> !l
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @other_space(%x: !x) {
  // expected-error @+1 {{expected the result on @near, found @node}}
  %0 = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> tensor<?xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @other_type(%x: !x) {
  // expected-error @+1 {{expected the number of an element, as an f32, found 'tensor<?xf64, #mpdfg.on<@near>>'}}
  %0 = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> tensor<?xf64, #mpdfg.on<@near>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @near selection {base = @node, of = @node, most = 2 : i64, others}
mpdfg.map @near.src chosen from @near to @node
mpdfg.map @near.dst owner from @near to @node

!x = tensor<?x3xf32, #mpdfg.on<@node>>
!l = tensor<?xf32, #mpdfg.on<@near>>

func.func @too_late(%x: !x) -> tensor<?xf32, #mpdfg.on<@node>> {
  // expected-note @+1 {{it is followed here}}
  %0 = mpdfg.degree along @near.src : tensor<?xf32, #mpdfg.on<@node>>
  // expected-error @+1 {{says where @near.src leads after it is followed}}
  %1 = mpdfg.nearest %x, %x along @near.src owner @near.dst : !x, !x -> !l
  return %0 : tensor<?xf32, #mpdfg.on<@node>>
}
