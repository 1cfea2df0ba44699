// RUN: gnnc-opt %s --split-input-file --verify-diagnostics

//===-- Types --------------------------------------------------------------===//

// expected-error @+1 {{a tensor on @node needs a first dimension for its rows}}
func.func private @f(tensor<f32, #mpdfg.on<@node>>)

// -----

// expected-error @+1 {{feature axis 1 must be static}}
func.func private @f(tensor<?x4x?xf32, #mpdfg.on<@node>>)

// -----

// expected-error @+1 {{expected f32, f64, bf16 or f16 elements, found 'i32'}}
func.func private @f(tensor<?x4xi32, #mpdfg.on<@node>>)

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @+1 {{must be tensor of f32, f64, bf16 or f16 that is static but for the rows of its space, but got 'tensor<?xf32>'}}
  %0 = mpdfg.detach %x : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{must be tensor of f32, f64, bf16 or f16 that is static but for the rows of its space, but got 'tensor<4xi32>'}}
  %0 = mpdfg.constant 1.0 : tensor<4xi32>
  return
}

// -----

//===-- Movements ----------------------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a declared map, found @dst}}
  %0 = mpdfg.broadcast %x along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) {
  // expected-error @+1 {{expected the operand on @node, found @edge}}
  %0 = mpdfg.broadcast %x along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the operand on @node, found shared}}
  %0 = mpdfg.broadcast %x along @dst : tensor<4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the result on @edge, found @node}}
  %0 = mpdfg.broadcast %x along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @ntype root from @node to @type
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@type>>) {
  // expected-error @+1 {{the rows of the operand are not the extent of @type}}
  %0 = mpdfg.broadcast %x along @ntype : tensor<?x4xf32, #mpdfg.on<@type>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand's features, found 'tensor<?x5xf32, #mpdfg.on<@edge>>'}}
  %0 = mpdfg.broadcast %x along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x5xf32, #mpdfg.on<@edge>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an operand that is not shared}}
  %0 = mpdfg.reduce sum %x along @all : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a shared result, found @node}}
  %0 = mpdfg.reduce sum %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand on @edge, found @node}}
  %0 = mpdfg.reduce sum %x along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand's features, found 'tensor<4xf64>'}}
  %0 = mpdfg.reduce sum %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf64>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand's type, found 'tensor<4xf32>'}}
  %0 = mpdfg.norm %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an operand that is not shared}}
  %0 = mpdfg.norm %x along @all : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand on @edge, found @node}}
  %0 = mpdfg.norm %x along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f() {
  // expected-error @+1 {{expected no feature axes}}
  %0 = mpdfg.degree along @dst : tensor<?x1xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
func.func @f() {
  // expected-error @+1 {{expected the result on @node, found @edge}}
  %0 = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @column static {extent = 3 : i64}
func.func @f(%w: tensor<3x2xf32, #mpdfg.on<@column>>) {
  // expected-error @+1 {{expected a shared operand, found one on @column}}
  %0 = mpdfg.spread %w : tensor<3x2xf32, #mpdfg.on<@column>> -> tensor<3x2xf32, #mpdfg.on<@column>>
  return
}

// -----

mpdfg.space @column static {extent = 4 : i64}
func.func @f(%w: tensor<3x2xf32>) {
  // expected-error @+1 {{expected the operand's shape and elements, found 'tensor<4x2xf32, #mpdfg.on<@column>>'}}
  %0 = mpdfg.spread %w : tensor<3x2xf32> -> tensor<4x2xf32, #mpdfg.on<@column>>
  return
}

// -----

func.func @f(%w: tensor<3x2xf32>) {
  // expected-error @+1 {{expected a result on a static space, found shared}}
  %0 = mpdfg.spread %w : tensor<3x2xf32> -> tensor<3x2xf32>
  return
}

// -----

mpdfg.space @column static {extent = 4 : i64}
func.func @f(%w: tensor<3x2xf32>) {
  // expected-error @+1 {{the rows of the result are not the extent of @column}}
  %0 = mpdfg.spread %w : tensor<3x2xf32> -> tensor<3x2xf32, #mpdfg.on<@column>>
  return
}

// -----

func.func @f(%w: tensor<3x2xf32>) {
  // expected-error @+1 {{expected an operand on a static space, found shared}}
  %0 = mpdfg.collect %w : tensor<3x2xf32> -> tensor<3x2xf32>
  return
}

// -----

mpdfg.space @column static {extent = 3 : i64}
func.func @f(%w: tensor<3x2xf32, #mpdfg.on<@column>>) {
  // expected-error @+1 {{expected a shared result, found one on @column}}
  %0 = mpdfg.collect %w : tensor<3x2xf32, #mpdfg.on<@column>> -> tensor<3x2xf32, #mpdfg.on<@column>>
  return
}

// -----

mpdfg.space @column static {extent = 3 : i64}
func.func @f(%w: tensor<3x2xf32, #mpdfg.on<@column>>) {
  // expected-error @+1 {{expected the operand's shape and elements, found 'tensor<6xf32>'}}
  %0 = mpdfg.collect %w : tensor<3x2xf32, #mpdfg.on<@column>> -> tensor<6xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a shared operand and a result on a space}}
  %0 = mpdfg.broadcast %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f() {
  // expected-error @+1 {{expected a shared result without feature axes, found 'tensor<1xf32>'}}
  %0 = mpdfg.extent @node : tensor<1xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected a declared space, found @node}}
  %0 = mpdfg.extent @node : tensor<f32>
  return
}

// -----

//===-- Row by row ---------------------------------------------------------===//

mpdfg.space @node root
func.func @f() {
  // expected-error @+1 {{expected a shared result, found one on @node}}
  %0 = mpdfg.constant 1.0 : tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %y: tensor<?x4xf32, #mpdfg.on<@edge>>) {
  // expected-error @+1 {{operands reside on different spaces, @node and @edge}}
  %0 = mpdfg.binary add %x, %y : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the result on @node, found shared}}
  %0 = mpdfg.unary relu %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the result on no space (shared), found @node}}
  %0 = mpdfg.unary relu %x : tensor<4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 'f64' elements, found 'tensor<4xf32>'}}
  %0 = mpdfg.unary relu %x : tensor<4xf32> -> tensor<4xf64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand 0 has 1 feature axes, the result 2}}
  %0 = mpdfg.unary relu %x : tensor<4xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %y: tensor<3xf32>) {
  // expected-error @+1 {{feature axis 0 is 4 and 3}}
  %0 = mpdfg.binary add %x, %y : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<3xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

func.func @f(%x: tensor<4x1xf32>, %y: tensor<1x3xf32>) {
  // expected-error @+1 {{expected feature axes [4, 3], found [4, 1]}}
  %0 = mpdfg.select %x, %y, %y : tensor<4x1xf32>, tensor<1x3xf32>, tensor<1x3xf32> -> tensor<4x1xf32>
  return
}

// -----

mpdfg.space @node root
func.func @f() {
  // expected-error @+1 {{expected feature axes of size 1, found [4]}}
  %0 = mpdfg.element : tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @f() {
  // expected-error @+1 {{expected a shared result, found one on @node}}
  %0 = mpdfg.iota : tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a shared number to differentiate, found 'tensor<4xf32>'}}
  %0 = mpdfg.gradient %x by %x : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<1xf32>) {
  %0 = mpdfg.unary exp %x : tensor<1xf32> -> tensor<1xf32>
  // expected-error @+1 {{expected an argument or a variable to differentiate by, found the result of 'mpdfg.unary'}}
  %1 = mpdfg.gradient %x by %0 : tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected feature axes [4], found [1]}}
  %0 = mpdfg.detach %x : tensor<4xf32> -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{lhs has 1 feature axes but 2 labels}}
  %0 = mpdfg.contract %x [0, 1], %w [0, 1] -> [1] : tensor<4xf32>, tensor<4x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x4xf32>) {
  // expected-error @+1 {{label 0 occurs twice in rhs}}
  %0 = mpdfg.contract %x [0], %w [0, 0] -> [0] : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<5x3xf32>) {
  // expected-error @+1 {{label 0 is 4 and 5}}
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<4xf32>, tensor<5x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{label 1 is 3 and 2}}
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<4xf32>, tensor<4x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{label 2 of the result is in no operand}}
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [2] : tensor<4xf32>, tensor<4x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is out of range for 1 feature axes}}
  %0 = mpdfg.fold sum %x [1] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{softmax_scale is a statistic of members, not of feature axes}}
  %0 = mpdfg.fold softmax_scale %x [0] : tensor<4xf32> -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected feature axes [4, 1], found [4]}}
  %0 = mpdfg.fold sum %x [1] : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 12 numbers a row, found 10}}
  %0 = mpdfg.reshape %x : tensor<4x3xf32> -> tensor<10xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected a permutation of the feature axes, found [1, 1]}}
  %0 = mpdfg.transpose %x [1, 1] : tensor<4x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 2 axes in the permutation, found 1}}
  %0 = mpdfg.transpose %x [0] : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected feature axes [3, 4], found [4, 3]}}
  %0 = mpdfg.transpose %x [1, 0] : tensor<4x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected at least one operand}}
  %0 = mpdfg.concat axis 0 : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is out of range for 1 feature axes}}
  %0 = mpdfg.concat %x axis 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4x1xf32>) {
  // expected-error @+1 {{operands have 1 and 2 feature axes}}
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) {
  // expected-error @+1 {{operands differ in an axis other than 0}}
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{expected feature axes [7], found [8]}}
  %0 = mpdfg.concat %x, %y axis 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis -1 is out of range for 1 feature axes}}
  %0 = mpdfg.slice %x axis -1 from 0 : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a range within [0, 4), found [3, 5)}}
  %0 = mpdfg.slice %x axis 0 from 3 : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected feature axes [2, 3], found [2, 2]}}
  %0 = mpdfg.slice %x axis 0 from 0 : tensor<4x3xf32> -> tensor<2x2xf32>
  return
}

// -----

//===-- What is only stored ------------------------------------------------===//

mpdfg.space @node root
func.func @f(%x: tensor<?x4xbf16, #mpdfg.on<@node>>) {
  // expected-error @+1 {{computes in f32 or f64, found 'bf16', which only operands and results of kernels are}}
  %0 = mpdfg.unary relu %x : tensor<?x4xbf16, #mpdfg.on<@node>> -> tensor<?x4xbf16, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
func.func @transfer_shared(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the operand on a root space, found shared}}
  %0 = mpdfg.transfer %x : tensor<4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @all union {parts = [@node]}
func.func @transfer_derived(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the result on a root space, found @all}}
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@all>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
func.func @transfer_features(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected the operand's features, found}}
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return
}

// -----

mpdfg.space @node root
func.func @await_without_transfer(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected what a transfer gives}}
  %0 = mpdfg.await %x sent %x : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
func.func @await_of_another(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %y: tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // expected-error @+1 {{expected what its transfer sends, found another value}}
  %1 = mpdfg.await %0 sent %y : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
func.func @await_read_before(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // expected-error @+1 {{expected to be alone in reading what its transfer gives}}
  %1 = mpdfg.await %0 sent %x : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@edge>>
}

// -----

mpdfg.space @node root
func.func @all_reduce_of_nodes(%x: tensor<?x4xf32, #mpdfg.on<@node>>) {
  // expected-error @+1 {{expected a value that is shared or on a static space, found one on @node}}
  %0 = mpdfg.all_reduce sum %x : tensor<?x4xf32, #mpdfg.on<@node>>
  return
}

// -----

func.func @all_reduce_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected sum, max or min, found mean}}
  %0 = mpdfg.all_reduce mean %x : tensor<4xf32>
  return
}
