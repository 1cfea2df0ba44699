// RUN: gnnc-opt %s --split-input-file --verify-diagnostics
//
// Every error of a discardable attribute of mpk. The valid forms are in kernel-attrs.mlir.

//===-- Attributes that do not exist, or not here --------------------------===//

// expected-error @+1 {{'func.func' op attribute 'mpk.slots' is none of the mpk dialect's}}
func.func private @f(tensor<4xf32>) attributes {mpk.slots = array<i64: 0>}

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpk.slot' is none of the mpk dialect's}}
func.func private @f(tensor<4xf32> {mpk.slot = 0})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpk.places' is for a kernel of a function, and found elsewhere}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpk.places = [#mpk.place<none>]})

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpk.places' is for a kernel of a function, and found elsewhere}}
  %0 = mpdfg.unary exp %x {mpk.places = [#mpk.place<none>]} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpk.launch' is for a kernel of a function, and found elsewhere}}
  %0 = mpdfg.unary exp %x {mpk.launch = 0} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpk.tile' is for mpdfg.contract, and found elsewhere}}
  %0 = mpdfg.unary exp %x {mpk.tile} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpk.swept' is for mpdfg.contract, and found elsewhere}}
  %0 = mpdfg.unary exp %x {mpk.swept} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpk.alternative' is for a function, and found elsewhere}}
  %0 = mpdfg.unary exp %x {mpk.alternative = @f} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

mpdfg.space @node root
func.func @f() -> tensor<?x1xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpdfg.element' op attribute 'mpk.of_owner' is for mpdfg.element in a sweep, and found elsewhere}}
  %0 = mpdfg.element {mpk.of_owner} : tensor<?x1xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x1xf32, #mpdfg.on<@node>>
}

// -----

//===-- Places -------------------------------------------------------------===//

// expected-error @+1 {{expected arena, result or none}}
func.func private @f() attributes {test.place = #mpk.place<output 0>}

// -----

// expected-error @+1 {{expected a number after arena, found none}}
func.func private @f() attributes {test.place = #mpk.place<arena>}

// -----

// expected-error @+1 {{expected a number after result, found none}}
func.func private @f() attributes {test.place = #mpk.place<result>}

// -----

// expected-error @+1 {{expected no number after none, found 2}}
func.func private @f() attributes {test.place = #mpk.place<none 2>}

// -----

// expected-error @+1 {{expected the number of a slot or a result, found -1}}
func.func private @f() attributes {test.place = #mpk.place<arena -1>}

// -----

#owner = #mpk.access<owner>
mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' expected an array of #mpk.place<...>, found array<i64: -1>}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = array<i64: -1>}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' expected an array of #mpk.place<...>, found [0]}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [0]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' expected 1 places, one for each result, found 2}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<none>, #mpk.place<none>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected an mpk.arena in the function, found none}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<arena 0>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  mpk.arena [@node, @node] bytes [16, 16] first [0, 0] last [0, 0]
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected one of 2 slots of the arena, found 2}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<arena 2>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  mpk.arena [@node, unit] bytes [16, 16] first [0, 0] last [0, 0]
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected a slot of the arena for rows of @node, found slot 1 for unit}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<arena 1>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  mpk.arena [@node] bytes [8] first [0] last [0]
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected a slot of the arena for rows of 16 bytes, found slot 0 for 8}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<arena 0>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected one of the function's 1 results, found 1}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<result 1>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected a result of the function of type 'tensor<?x4xf32, #mpdfg.on<@node>>', found result 1 of type 'tensor<4x4xf32>'}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<result 1>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0, %w : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.role = #mpdfg.role<state>}, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.updates = #mpdfg.argument<0>}) {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected an output, found result 0 of the function, which replaces an argument}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<result 0>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  // expected-error @+1 {{'mpk.product' op attribute 'mpk.places' of result 0: expected a place, found none for a value that is not returned}}
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 {mpk.places = [#mpk.place<none>]}
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %x : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

//===-- Launches -----------------------------------------------------------===//

#shared = #mpk.access<shared>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpk.sweep' op attribute 'mpk.launch' expected a number of type i64 that is not negative, found -1 : i64}}
  %0 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = -1} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#shared = #mpk.access<shared>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpk.sweep' op attribute 'mpk.launch' expected a number of type i64 that is not negative, found 0 : i32}}
  %0 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = 0 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#shared = #mpk.access<shared>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{found that it reads what this one writes}}
  %0 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = 0} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'mpk.sweep' op attribute 'mpk.launch' expected kernels that do not need each other in launch 0}}
  %1 = mpk.sweep (%0) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = 0} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

#shared = #mpk.access<shared>
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // expected-note @+1 {{found others between it and this one}}
  %0 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = 0} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'mpk.sweep' op attribute 'mpk.launch' expected kernels of launch 0 next to each other}}
  %2 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } {mpk.launch = 0} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

//===-- Tiles --------------------------------------------------------------===//

func.func @f(%x: tensor<4xf32>, %w: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'mpdfg.contract' op attribute 'mpk.tile' expected no value, found 4 : i64}}
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile = 4} : tensor<4xf32>, tensor<4x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

//===-- Tiles --------------------------------------------------------------===//

func.func @f(%x: tensor<4xf32>, %w: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'mpdfg.contract' op attribute 'mpk.swept' expected no value, found 4 : i64}}
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.swept = 4} : tensor<4xf32>, tensor<4x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The weight is transposed.
func.func @f(%x: tensor<4xf32>, %w: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'mpdfg.contract' op attribute 'mpk.tile' expected labels in the order [batch, m, k], [batch, k, n] -> [batch, m, n], found [0], [1, 0] -> [1]}}
  %0 = mpdfg.contract %x [0], %w [1, 0] -> [1] {mpk.tile} : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A label of the first operand alone is summed.
func.func @f(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'mpdfg.contract' op attribute 'mpk.tile' expected labels in the order [batch, m, k], [batch, k, n] -> [batch, m, n], found [0, 1], [1, 2] -> [2]}}
  %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [2] {mpk.tile} : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<2x4x8xf32>) -> tensor<2x3x8xf32> {
  // expected-error @+1 {{'mpdfg.contract' op attribute 'mpk.tile' expected a batch or rows, found both in [0, 1, 2], [0, 2, 3] -> [0, 1, 3]}}
  %0 = mpdfg.contract %x [0, 1, 2], %w [0, 2, 3] -> [0, 1, 3] {mpk.tile}
     : tensor<2x3x4xf32>, tensor<2x4x8xf32> -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// -----

//===-- Alternatives -------------------------------------------------------===//

// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected the name of a function, found "forward"}}
func.func private @f(tensor<4xf32>) attributes {mpk.alternative = "forward"}

// -----

// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected the name of a function, found @forward}}
func.func private @f(tensor<4xf32>) attributes {mpk.alternative = @forward}

// -----

mpdfg.space @forward root
// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected the name of a function, found @forward}}
func.func private @f(tensor<4xf32>) attributes {mpk.alternative = @forward}

// -----

func.func private @forward(tensor<4xf32>)
func.func private @f(tensor<4xf32>) attributes {mpk.alternative = @forward}
// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected a function that is no alternative itself, found @f}}
func.func private @g(tensor<4xf32>) attributes {mpk.alternative = @f}

// -----

// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected a function that is no alternative itself, found @f}}
func.func private @f(tensor<4xf32>) attributes {mpk.alternative = @f}

// -----

func.func private @forward(tensor<4xf32>)
// expected-error @+1 {{'func.func' op attribute 'mpk.alternative' expected a function of type '(tensor<8xf32>) -> ()', found @forward of type '(tensor<4xf32>) -> ()'}}
func.func private @f(tensor<8xf32>) attributes {mpk.alternative = @forward}

// -----

//===-- Elements' owners ---------------------------------------------------===//

mpdfg.space @node root
#owner = #mpk.access<owner>
func.func @f(%x: tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %0 = mpk.sweep over @node (%x) access [#owner] yields [#owner] {
  ^bb0(%a: tensor<1xf32>):
    // expected-error @+1 {{'mpdfg.element' op attribute 'mpk.of_owner' expected no value, found @node}}
    %b = mpdfg.element {mpk.of_owner = @node} : tensor<1xf32>
    mpk.yield %b : tensor<1xf32>
  } : (tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x1xf32, #mpdfg.on<@node>>
}
