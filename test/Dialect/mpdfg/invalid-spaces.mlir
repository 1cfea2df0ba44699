// RUN: gnnc-opt %s --split-input-file --verify-diagnostics

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @both union {parts = [@node, @edge]}
// expected-error @+1 {{expected an injection to lead from a part of a union into it}}
mpdfg.map @in injection from @edge to @both {part = 0 : i64}

// -----

// expected-error @+1 {{a static space and no other has an extent}}
mpdfg.space @node root {extent = 3 : i64}

// -----

// expected-error @+1 {{a static space and no other has an extent}}
mpdfg.space @type static

// -----

// expected-error @+1 {{expected an extent of 0 or more, found -1}}
mpdfg.space @type static {extent = -1 : i64}

// -----

// expected-error @+1 {{expected a base and two maps}}
mpdfg.space @real filter

// -----

mpdfg.space @node root
mpdfg.map @m root from @node to @node
// expected-error @+1 {{expected a base and two maps}}
mpdfg.space @real filter {base = @node, maps = [@m]}

// -----

// expected-error @+1 {{expected a base}}
mpdfg.space @type.own share

// -----

// expected-error @+1 {{expected a declared space, found @type}}
mpdfg.space @type.own share {base = @type}

// -----

// expected-error @+1 {{expected a base and maps}}
mpdfg.space @pair distinct {maps = []}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a declared map, found @nowhere}}
mpdfg.space @pair distinct {base = @node, maps = [@nowhere]}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected symbols in maps}}
mpdfg.space @pair distinct {base = @node, maps = [unit]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
// expected-error @+1 {{map @src does not start at the base @node}}
mpdfg.space @pair distinct {base = @node, maps = [@src]}

// -----

mpdfg.space @user root
mpdfg.space @item root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @user
mpdfg.map @dst root from @edge to @item
// expected-error @+1 {{the maps of a filter lead to @user and @item}}
mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}

// -----

// expected-error @+1 {{expected parts}}
mpdfg.space @ring union

// -----

// expected-error @+1 {{expected parts}}
mpdfg.space @ring union {parts = []}

// -----

// expected-error @+1 {{expected a declared space, found @nowhere}}
mpdfg.space @ring union {parts = [@nowhere]}

// -----

// expected-error @+1 {{expected symbols in parts}}
mpdfg.space @ring union {parts = [unit]}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a declared space, found @edge}}
mpdfg.map @src root from @edge to @node

// -----

mpdfg.space @node root
// expected-error @+1 {{expected an inclusion to lead from a filter or a share to its base}}
mpdfg.map @m inclusion from @node to @node

// -----

mpdfg.space @node root
mpdfg.space @ring union {parts = [@node, @node]}
// expected-error @+1 {{expected a partial map from a union to its part}}
mpdfg.map @first part from @ring to @node {part = 0 : i64}

// -----

mpdfg.space @node root
mpdfg.space @ring union {parts = [@node, @node]}
// expected-error @+1 {{expected a partial map from a union to its part}}
mpdfg.map @third part from @ring to @node {part = 2 : i64, partial}

// -----

mpdfg.space @node root
mpdfg.space @ring union {parts = [@node, @node]}
// expected-error @+1 {{expected one map for each part of a union}}
mpdfg.map @m parts from @ring to @node {parts = [unit]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @ring union {parts = [@node, @edge]}
// expected-error @+1 {{expected the identity only on a part that is the target}}
mpdfg.map @m parts from @ring to @node {parts = [unit, unit]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @ring union {parts = [@node, @edge]}
// expected-error @+1 {{expected a map that is undefined on a part to be partial}}
mpdfg.map @m parts from @ring to @node {parts = [unit, "undefined"]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.space @ring union {parts = [@node, @edge]}
// expected-error @+1 {{map @src does not lead from @node to @node}}
mpdfg.map @m parts from @ring to @node {parts = [@src, @src]}

// -----

mpdfg.space @node root
mpdfg.map @mate root from @node to @node {partial}
mpdfg.space @ring union {parts = [@node]}
// expected-error @+1 {{leads through "mate", so it must be partial too}}
mpdfg.map @m parts from @ring to @node {parts = [@mate]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.space @group distinct {base = @edge, maps = [@src]}
// expected-error @+1 {{expected a projection of a distinct space}}
mpdfg.map @m projection from @group to @edge {part = 0 : i64}

// -----

mpdfg.space @node root
mpdfg.map @mate root from @node to @node {partial}
mpdfg.space @group distinct {base = @node, maps = [@mate]}
// expected-error @+1 {{leads through "mate", so it must be partial too}}
mpdfg.map @m projection from @group to @node {part = 0 : i64}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.space @group distinct {base = @edge, maps = [@src]}
// expected-error @+1 {{expected a map from the base of a distinct space to it}}
mpdfg.map @m class from @node to @group

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
// expected-error @+1 {{expected a partial map against its part}}
mpdfg.map @m last from @node to @edge {parts = [@src]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
// expected-error @+1 {{expected two maps to compose}}
mpdfg.map @m compose from @edge to @node {parts = [@src]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
// expected-error @+1 {{expected maps that follow each other}}
mpdfg.map @m compose from @edge to @node {parts = [@src, @src]}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @mate root from @node to @node {partial}
// expected-error @+1 {{leads through "mate", so it must be partial too}}
mpdfg.map @m compose from @edge to @node {parts = [@src, @mate]}

// -----

mpdfg.space @node root
// expected-error @+1 {{a selection and no other has elements to choose from, and how many}}
mpdfg.space @near selection {base = @node, of = @node}

// -----

mpdfg.space @node root
// expected-error @+1 {{a selection and no other has elements to choose from, and how many}}
mpdfg.space @other root {others}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a base}}
mpdfg.space @near selection {of = @node, most = 3 : i64}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected one element to choose or more, found 0}}
mpdfg.space @near selection {base = @node, of = @node, most = 0 : i64}

// -----

mpdfg.space @node root
mpdfg.space @query root
// expected-error @+1 {{expected its own base to choose others from, found @node}}
mpdfg.space @near selection {base = @query, of = @node, most = 3 : i64, others}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
// expected-error @+1 {{expected two maps or none}}
mpdfg.space @near selection {base = @node, of = @node, maps = [@batch], most = 3 : i64}

// -----

mpdfg.space @node root
mpdfg.space @query root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
// expected-error @+1 {{map @batch does not start at @query}}
mpdfg.space @near selection {base = @query, of = @node, maps = [@batch, @batch], most = 3 : i64}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph {partial}
// expected-error @+1 {{expected maps that are defined everywhere, found @batch}}
mpdfg.space @near selection {base = @node, of = @node, maps = [@batch, @batch], most = 3 : i64}

// -----

mpdfg.space @node root
mpdfg.space @query root
mpdfg.space @graph root
mpdfg.space @kind root
mpdfg.map @batch root from @node to @graph
mpdfg.map @qkind root from @query to @kind
// expected-error @+1 {{the maps lead to @kind and @graph}}
mpdfg.space @near selection {base = @query, of = @node, maps = [@qkind, @batch], most = 3 : i64}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected a map from a selection or pairs to the base}}
mpdfg.map @near.dst owner from @node to @node

// -----

mpdfg.space @node root
mpdfg.space @query root
mpdfg.space @near selection {base = @query, of = @node, most = 3 : i64}
// expected-error @+1 {{expected a map from a selection to what it chooses from}}
mpdfg.map @near.src chosen from @near to @query

// -----

mpdfg.space @node root
// expected-error @+1 {{a selection or pairs, and no other, have elements beside those of a base}}
mpdfg.space @pair pairs {base = @node}

// -----

mpdfg.space @node root
// expected-error @+1 {{expected two maps}}
mpdfg.space @pair pairs {base = @node, of = @node}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph {partial}
// expected-error @+1 {{expected maps that are defined everywhere, found @batch}}
mpdfg.space @pair pairs {base = @node, of = @node, maps = [@batch, @batch]}

// -----

mpdfg.space @node root
mpdfg.space @query root
mpdfg.space @graph root
mpdfg.map @batch root from @node to @graph
mpdfg.map @qbatch root from @query to @graph
mpdfg.space @pair pairs {base = @query, of = @node, maps = [@qbatch, @batch]}
// expected-error @+1 {{expected a map from pairs to what the base is paired with}}
mpdfg.map @pair.src partner from @pair to @query

// -----

mpdfg.space @node root
mpdfg.space @kind static {extent = 2 : i64}
// expected-error @+1 {{expected a map to a static space of extent 1}}
mpdfg.map @node.kind only from @node to @kind
