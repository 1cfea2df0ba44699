// RUN: gnnc-opt %s --split-input-file --verify-diagnostics

//===-- Shape of a sweep ---------------------------------------------------===//

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one access and one block argument for each of 1 operands, found 0 and 1}}
  mpk.sweep (%x) access [] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one access and one block argument for each of 1 operands, found 1 and 0}}
  mpk.sweep (%x) access [#mpk.access<shared>] yields [] {
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected block argument 0 of type 'tensor<4xf32>', found 'tensor<?x4xf32, #mpdfg.on<@node>>'}}
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<?x4xf32, #mpdfg.on<@node>>):
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the body to end with mpk.yield}}
  mpk.sweep (%x) access [#mpk.access<shared>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    llvm.unreachable
  } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 yielded values and accesses, found 0 and 1}}
  %0 = mpk.sweep (%x) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{result 0 has type 'tensor<3xf32>', but 'tensor<4xf32>' is yielded}}
  %0 = mpk.sweep (%x) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

mpdfg.space @node root
mpdfg.map @mate root from @node to @node
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{result 0 must be owner, member or shared}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<shared>] yields [#mpk.access<gather_owner @mate>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

//===-- Levels -------------------------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{result 0 varies more than its access says}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<shared>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4xf32>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) {
  // expected-error @+1 {{result 0 varies more than its access says}}
  %0 = mpk.sweep over @node along @dst (%x) access [#mpk.access<member>] yields [#mpk.access<owner>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{result 0 is for members, but the sweep goes along no map}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<member>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{operand 0 is for members, but the sweep goes along no map}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<member>] yields [#mpk.access<shared>] {
  ^bb0(%1: tensor<4xf32>):
    %2 = mpk.accumulate sum %1 shared : tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4xf32>
  return
}

// -----

//===-- Bodies -------------------------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{needs members, but the sweep goes along no map}}
    %1 = mpk.accumulate sum %0 : tensor<4xf32>
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{needs members, but the sweep goes along no map}}
    %1 = mpk.softmax %0 : tensor<4xf32>
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  mpk.sweep (%x) access [#mpk.access<shared>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{is not allowed in the body of a sweep}}
    mpk.sweep (%0) access [#mpk.access<shared>] yields [] {
    ^bb0(%1: tensor<4xf32>):
      mpk.yield
    } : (tensor<4xf32>) -> ()
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<4xf32>) {
  mpk.sweep (%x) access [#mpk.access<shared>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{is not allowed in the body of a sweep}}
    %1 = mpk.product over @node (%0, %0) batch 1 rows 1 k 4 n 1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xf32>
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{moves along a map; a body reads through its sweep's operands}}
    %1 = mpdfg.reduce sum %0 along @all : tensor<4xf32> -> tensor<4xf32>
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
mpdfg.map @mate root from @node to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    // expected-error @+1 {{has a result on a space; values of a body are rows}}
    %1 = mpdfg.degree along @mate : tensor<?xf32, #mpdfg.on<@node>>
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    %1 = mpk.accumulate sum %0 shared : tensor<4xf32>
    // expected-error @+1 {{uses a shared accumulation, which may only be yielded}}
    %2 = mpdfg.unary exp %1 : tensor<4xf32> -> tensor<4xf32>
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects parent op 'mpk.sweep'}}
  %0 = mpk.accumulate sum %x : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects parent op 'mpk.sweep'}}
  %0 = mpk.softmax %x : tensor<4xf32>
  return
}

// -----

//===-- Maps and residencies of a sweep ------------------------------------===//

mpdfg.space @node root
func.func @f() {
  // expected-error @+1 {{expected a declared map, found @dst}}
  mpk.sweep over @node along @dst () access [] yields [] {
    mpk.yield
  } : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected a declared space, found @node}}
  mpk.sweep over @node () access [] yields [] {
    mpk.yield
  } : () -> ()
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f() {
  // expected-error @+1 {{goes along @dst, which does not lead to its owners}}
  mpk.sweep over @edge along @dst () access [] yields [] {
    mpk.yield
  } : () -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected operand 0 on @node, found shared}}
  mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected operand 0 on no space, found @node}}
  mpk.sweep over @node (%x) access [#mpk.access<shared>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{operand 0 is gathered along no declared map}}
  mpk.sweep over @node (%x) access [#mpk.access<gather_owner>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{operand 0 is gathered along @src, which starts elsewhere}}
  mpk.sweep over @node (%x) access [#mpk.access<gather_owner @src>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> ()
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected result 0 on @node, found shared}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<shared>] yields [#mpk.access<owner>] {
  ^bb0(%1: tensor<4xf32>):
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

//===-- Products -----------------------------------------------------------===//

mpdfg.space @node root
mpdfg.space @edge root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a map from @edge, found @src}}
  %0 = mpk.product over @edge (%x, %w) batch 1 rows 1 k 4 n 3 gather @src
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x3xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a map from @node, found @src}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3 group @src
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x3xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{operands or result reside elsewhere than its maps say}}
  %0 = mpk.product over @edge (%x, %w) batch 1 rows 1 k 4 n 3
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x3xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected batch 1 or rows 1}}
  %0 = mpk.product over @node (%x, %w) batch 2 rows 2 k 2 n 3
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x12xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x5xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 4 numbers in each row of the lhs, found 5}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3
     : (tensor<?x5xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x3xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>) {
  // expected-error @+1 {{expected 12 numbers in each row of the rhs, found 8}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x3xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 3 numbers in each row of the result, found 4}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 'f32' elements, found 'tensor<?x3xf64, #mpdfg.on<@node>>'}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x3xf64, #mpdfg.on<@node>>
  return
}

// -----

//===-- Epilogues ----------------------------------------------------------===//

mpdfg.space @node root
func.func @epilogue_argument(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{expected one access and one block argument for each of 1 extra operands, and an argument for the row}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3 epilogue (%b) access [#mpk.access<shared>] {
  ^bb0(%row: tensor<3xf32>):
    mpk.yield %row : tensor<3xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<?x3xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x3xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @epilogue_width(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{expected 3 numbers in each row of the result, found 2}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3 epilogue () access [] {
  ^bb0(%row: tensor<2xf32>):
    mpk.yield %row : tensor<2xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @epilogue_result(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x3xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{result 0 has type 'tensor<?x2xf32, #mpdfg.on<@node>>', but 'tensor<3xf32>' is yielded}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 3 epilogue () access [] {
  ^bb0(%row: tensor<3xf32>):
    mpk.yield %row : tensor<3xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x3xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

//===-- Sums of outer products ---------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a map from @node, found @src}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 1 k 4 n 4 gather_lhs @src
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4x4xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %g: tensor<4xf32>) {
  // expected-error @+1 {{operands or result reside elsewhere than its maps say}}
  %0 = mpk.outer_sum over @node (%x, %g) batch 1 k 4 n 4
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected 6 numbers in each row of the lhs, found 4}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 2 k 3 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<2x3x2xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected 6 numbers in each row of the rhs, found 4}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 2 k 2 n 3
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<2x2x3xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected 8 numbers in each row of the result, found 16}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 2 k 2 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4x4xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected 'f32' elements, found 'tensor<4x4xf64>'}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 1 k 4 n 4
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4x4xf64>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected batch 1 or more, and k and n of 0 or more}}
  %0 = mpk.outer_sum over @node (%x, %x) batch 0 k 4 n 4
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4x4xf32>
  return
}

// -----

//===-- Arenas -------------------------------------------------------------===//

// expected-error @+1 {{expected as many bytes, firsts and lasts as spaces}}
mpk.arena [@node, unit] bytes [64, 4] first [0] last [2, 1]

// -----

//===-- Accesses -----------------------------------------------------------===//

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the name of a map, found @a::@b}}
  mpk.sweep (%x) access [#mpk.access<gather_owner @a::@b>] yields [] {
  ^bb0(%0: tensor<4xf32>):
    mpk.yield
  } : (tensor<4xf32>) -> ()
  return
}

// -----

//===-- Rows of 16 bits ----------------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xbf16, #mpdfg.on<@node>>) -> tensor<?x4xbf16, #mpdfg.on<@node>> {
  // expected-error @+1 {{expected block argument 0 of type 'tensor<4xf32>', found 'tensor<4xbf16>'}}
  %0 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xbf16>):
    mpk.yield %a : tensor<4xbf16>
  } : (tensor<?x4xbf16, #mpdfg.on<@node>>) -> tensor<?x4xbf16, #mpdfg.on<@node>>
  return %0 : tensor<?x4xbf16, #mpdfg.on<@node>>
}

// -----

// Weights are as they are computed with.
mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xbf16>) {
  // expected-error @+1 {{expected 'f32' elements, found 'tensor<4x2xbf16>'}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 2 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xbf16>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xbf16, #mpdfg.on<@node>>, %g: tensor<?x2xf16, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected 'f32' elements, found 'tensor<4x2xbf16>'}}
  %0 = mpk.outer_sum over @node (%x, %g) batch 1 k 4 n 2 : (tensor<?x4xbf16, #mpdfg.on<@node>>, tensor<?x2xf16, #mpdfg.on<@node>>) -> tensor<4x2xbf16>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.space @pair pairs {base = @node, of = @node, maps = [@batch, @type]}
mpdfg.map @batch root from @node to @graph
mpdfg.map @type root from @node to @graph
mpdfg.map @pair.dst owner from @pair to @node
// An owner's members are those of the other side's map.
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected to go along the other map that pairs are made of, @type}}
  %0 = mpk.sweep over @node along @batch pairs @pair.dst (%x) access [#mpk.access<member>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate sum %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.space @pair pairs {base = @node, of = @node, maps = [@batch, @type]}
mpdfg.map @batch root from @node to @graph
mpdfg.map @type root from @node to @graph
mpdfg.map @pair.dst owner from @pair to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{result 0 is for members, which are those of many owners}}
  %0 = mpk.sweep over @node along @type pairs @pair.dst (%x) access [#mpk.access<member>] yields [#mpk.access<member>] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @graph root
mpdfg.space @pair pairs {base = @node, of = @node, maps = [@batch, @type]}
mpdfg.map @batch root from @node to @graph
mpdfg.map @type root from @node to @graph
mpdfg.map @pair.dst owner from @pair to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected to go along the other map that pairs are made of}}
  %0 = mpk.sweep over @graph along @batch pairs @batch (%x) access [#mpk.access<member>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate sum %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@graph>>
  return
}
