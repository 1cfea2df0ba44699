// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O1 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Every function of one operand at -2, -0.5, 0, 0.5 and 2.
// CHECK: neg: shared [5]
// CHECK-NEXT: 2 0.5 {{-?0}} -0.5 -2
// CHECK: exp: shared [5]
// CHECK-NEXT: 0.135335 0.606531 1 1.64872 7.38906
// CHECK: log: shared [5]
// CHECK-NEXT: {{-?nan}} {{-?nan}} -inf -0.693147 0.693147
// CHECK: sqrt: shared [5]
// CHECK-NEXT: {{-?nan}} {{-?nan}} {{-?0}} 0.707107 1.41421
// CHECK: rsqrt: shared [5]
// CHECK-NEXT: {{-?nan}} {{-?nan}} inf 1.41421 0.707107
// CHECK: recip: shared [5]
// CHECK-NEXT: -0.5 -2 inf 2 0.5
// CHECK: abs: shared [5]
// CHECK-NEXT: 2 0.5 {{-?0}} 0.5 2
// CHECK: sign: shared [5]
// CHECK-NEXT: -1 -1 {{-?0}} 1 1
// CHECK: square: shared [5]
// CHECK-NEXT: 4 0.25 {{-?0}} 0.25 4
// CHECK: sin: shared [5]
// CHECK-NEXT: -0.909297 -0.479426 {{-?0}} 0.479426 0.909297
// CHECK: cos: shared [5]
// CHECK-NEXT: -0.416147 0.877583 1 0.877583 -0.416147
// CHECK: tanh: shared [5]
// CHECK-NEXT: -0.964028 -0.462117 {{-?0}} 0.462117 0.964028
// CHECK: erf: shared [5]
// CHECK-NEXT: -0.995322 -0.5205 {{-?0}} 0.5205 0.995322
// CHECK: relu: shared [5]
// CHECK-NEXT: {{-?0}} {{-?0}} {{-?0}} 0.5 2
// CHECK: leaky_relu: shared [5]
// CHECK-NEXT: -0.4 -0.1 {{-?0}} 0.5 2
// CHECK: elu: shared [5]
// CHECK-NEXT: -1.297 -0.590204 {{-?0}} 0.5 2
// CHECK: gelu: shared [5]
// CHECK-NEXT: -0.0455003 -0.154269 {{-?0}} 0.345731 1.9545
// CHECK: silu: shared [5]
// CHECK-NEXT: -0.238406 -0.18877 {{-?0}} 0.31123 1.76159
// CHECK: sigmoid: shared [5]
// CHECK-NEXT: 0.119203 0.377541 0.5 0.622459 0.880797
// CHECK: softplus: shared [5]
// CHECK-NEXT: 0.126928 0.474077 0.693147 0.974077 2.12693
// CHECK: floor: shared [5]
// CHECK-NEXT: -2 -1 0 0 2
// CHECK: ceil: shared [5]
// CHECK-NEXT: -2 -0 0 1 2
// CHECK: round: shared [5]
// CHECK-NEXT: -2 -0 0 0 2
!t = tensor<5xf32>
module attributes {test.inputs = {x = dense<[-2.0, -0.5, 0.0, 0.5, 2.0]> : tensor<5xf64>}} {
  func.func @forward(%x: !t {mpdfg.name = "x"})
      -> (!t {mpdfg.name = "neg"}, !t {mpdfg.name = "exp"}, !t {mpdfg.name = "log"}, !t {mpdfg.name = "sqrt"},
          !t {mpdfg.name = "rsqrt"}, !t {mpdfg.name = "recip"}, !t {mpdfg.name = "abs"}, !t {mpdfg.name = "sign"},
          !t {mpdfg.name = "square"}, !t {mpdfg.name = "sin"}, !t {mpdfg.name = "cos"}, !t {mpdfg.name = "tanh"},
          !t {mpdfg.name = "erf"}, !t {mpdfg.name = "relu"}, !t {mpdfg.name = "leaky_relu"}, !t {mpdfg.name = "elu"},
          !t {mpdfg.name = "gelu"}, !t {mpdfg.name = "silu"}, !t {mpdfg.name = "sigmoid"}, !t {mpdfg.name = "softplus"},
          !t {mpdfg.name = "floor"}, !t {mpdfg.name = "ceil"}, !t {mpdfg.name = "round"}) {
    %neg = mpdfg.unary neg %x : !t -> !t
    %exp = mpdfg.unary exp %x : !t -> !t
    %log = mpdfg.unary log %x : !t -> !t
    %sqrt = mpdfg.unary sqrt %x : !t -> !t
    %rsqrt = mpdfg.unary rsqrt %x : !t -> !t
    %recip = mpdfg.unary recip %x : !t -> !t
    %abs = mpdfg.unary abs %x : !t -> !t
    %sign = mpdfg.unary sign %x : !t -> !t
    %square = mpdfg.unary square %x : !t -> !t
    %sin = mpdfg.unary sin %x : !t -> !t
    %cos = mpdfg.unary cos %x : !t -> !t
    %tanh = mpdfg.unary tanh %x : !t -> !t
    %erf = mpdfg.unary erf %x : !t -> !t
    %relu = mpdfg.unary relu %x : !t -> !t
    %leaky_relu = mpdfg.unary leaky_relu %x {alpha = 0.2 : f64} : !t -> !t
    %elu = mpdfg.unary elu %x {alpha = 1.5 : f64} : !t -> !t
    %gelu = mpdfg.unary gelu %x : !t -> !t
    %silu = mpdfg.unary silu %x : !t -> !t
    %sigmoid = mpdfg.unary sigmoid %x : !t -> !t
    %softplus = mpdfg.unary softplus %x : !t -> !t
    %floor = mpdfg.unary floor %x : !t -> !t
    %ceil = mpdfg.unary ceil %x : !t -> !t
    %round = mpdfg.unary round %x : !t -> !t
    return %neg, %exp, %log, %sqrt, %rsqrt, %recip, %abs, %sign, %square, %sin,
           %cos, %tanh, %erf, %relu, %leaky_relu, %elu, %gelu, %silu, %sigmoid, %softplus,
           %floor, %ceil, %round
         : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t
  }
}

// -----

// Far from 0, where a careless formula overflows.
// CHECK: sigmoid: shared [2]
// CHECK-NEXT: 0 1
// CHECK-NEXT: softplus: shared [2]
// CHECK-NEXT: 0 1000
// CHECK-NEXT: silu: shared [2]
// CHECK-NEXT: -0 1000
// CHECK-NEXT: elu: shared [2]
// CHECK-NEXT: -1 1000
!t = tensor<2xf32>
module attributes {test.inputs = {x = dense<[-1000.0, 1000.0]> : tensor<2xf64>}} {
  func.func @forward(%x: !t {mpdfg.name = "x"})
      -> (!t {mpdfg.name = "sigmoid"}, !t {mpdfg.name = "softplus"}, !t {mpdfg.name = "silu"}, !t {mpdfg.name = "elu"}) {
    %0 = mpdfg.unary sigmoid %x : !t -> !t
    %1 = mpdfg.unary softplus %x : !t -> !t
    %2 = mpdfg.unary silu %x : !t -> !t
    %3 = mpdfg.unary elu %x {alpha = 1.0 : f64} : !t -> !t
    return %0, %1, %2, %3 : !t, !t, !t, !t
  }
}

// -----

// Every function of two operands; a is on a space and b shared, so b meets both rows.
// CHECK: add: 2 rows [3]
// CHECK-NEXT: 3 4 3.5
// CHECK-NEXT: 6 2 1
// CHECK: sub: 2 rows [3]
// CHECK-NEXT: -1 {{-?0}} 2.5
// CHECK-NEXT: 2 -2 {{-?0}}
// CHECK: mul: 2 rows [3]
// CHECK-NEXT: 2 4 1.5
// CHECK-NEXT: 8 {{-?0}} 0.25
// CHECK: div: 2 rows [3]
// CHECK-NEXT: 0.5 1 6
// CHECK-NEXT: 2 {{-?0}} 1
// CHECK: pow: 2 rows [3]
// CHECK-NEXT: 1 4 1.73205
// CHECK-NEXT: 16 {{-?0}} 0.707107
// CHECK: maximum: 2 rows [3]
// CHECK-NEXT: 2 2 3
// CHECK-NEXT: 4 2 0.5
// CHECK: minimum: 2 rows [3]
// CHECK-NEXT: 1 2 0.5
// CHECK-NEXT: 2 {{-?0}} 0.5
// CHECK: lt: 2 rows [3]
// CHECK-NEXT: 1 {{-?0}} {{-?0}}
// CHECK-NEXT: {{-?0}} 1 {{-?0}}
// CHECK: le: 2 rows [3]
// CHECK-NEXT: 1 1 {{-?0}}
// CHECK-NEXT: {{-?0}} 1 1
// CHECK: gt: 2 rows [3]
// CHECK-NEXT: {{-?0}} {{-?0}} 1
// CHECK-NEXT: 1 {{-?0}} {{-?0}}
// CHECK: ge: 2 rows [3]
// CHECK-NEXT: {{-?0}} 1 1
// CHECK-NEXT: 1 {{-?0}} 1
// CHECK: eq: 2 rows [3]
// CHECK-NEXT: {{-?0}} 1 {{-?0}}
// CHECK-NEXT: {{-?0}} {{-?0}} 1
// CHECK: ne: 2 rows [3]
// CHECK-NEXT: 1 {{-?0}} 1
// CHECK-NEXT: 1 1 {{-?0}}
!a = tensor<?x3xf32, #mpdfg.on<@node>>
!b = tensor<3xf32>
module attributes {
  test.extents = {node = 2},
  test.inputs = {a = dense<[[1.0, 2.0, 3.0], [4.0, 0.0, 0.5]]> : tensor<2x3xf64>, b = dense<[2.0, 2.0, 0.5]> : tensor<3xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%a: !a {mpdfg.name = "a"}, %b: !b {mpdfg.name = "b"})
      -> (!a {mpdfg.name = "add"}, !a {mpdfg.name = "sub"}, !a {mpdfg.name = "mul"}, !a {mpdfg.name = "div"},
          !a {mpdfg.name = "pow"}, !a {mpdfg.name = "maximum"}, !a {mpdfg.name = "minimum"}, !a {mpdfg.name = "lt"},
          !a {mpdfg.name = "le"}, !a {mpdfg.name = "gt"}, !a {mpdfg.name = "ge"}, !a {mpdfg.name = "eq"},
          !a {mpdfg.name = "ne"}) {
    %add = mpdfg.binary add %a, %b : !a, !b -> !a
    %sub = mpdfg.binary sub %a, %b : !a, !b -> !a
    %mul = mpdfg.binary mul %a, %b : !a, !b -> !a
    %div = mpdfg.binary div %a, %b : !a, !b -> !a
    %pow = mpdfg.binary pow %a, %b : !a, !b -> !a
    %maximum = mpdfg.binary maximum %a, %b : !a, !b -> !a
    %minimum = mpdfg.binary minimum %a, %b : !a, !b -> !a
    %lt = mpdfg.binary lt %a, %b : !a, !b -> !a
    %le = mpdfg.binary le %a, %b : !a, !b -> !a
    %gt = mpdfg.binary gt %a, %b : !a, !b -> !a
    %ge = mpdfg.binary ge %a, %b : !a, !b -> !a
    %eq = mpdfg.binary eq %a, %b : !a, !b -> !a
    %ne = mpdfg.binary ne %a, %b : !a, !b -> !a
    return %add, %sub, %mul, %div, %pow, %maximum, %minimum, %lt, %le, %gt, %ge, %eq, %ne
         : !a, !a, !a, !a, !a, !a, !a, !a, !a, !a, !a, !a, !a
  }
}

// -----

// Axes of size 1 are repeated on either side; a selection takes a row's condition for all of its features.
// CHECK: outer: 2 rows [2, 3]
// CHECK-NEXT: 11 21 31 12 22 32
// CHECK-NEXT: 13 23 33 14 24 34
// CHECK-NEXT: select: 2 rows [2, 3]
// CHECK-NEXT: 7 7 7 2 2 2
// CHECK-NEXT: 3 3 3 4 4 4
// CHECK-NEXT: detach: 2 rows [2, 1]
// CHECK-NEXT: 1 2
// CHECK-NEXT: 3 4
// CHECK-NEXT: constant: shared [2, 2]
// CHECK-NEXT: 0.25 0.25 0.25 0.25
!x = tensor<?x2x1xf64, #mpdfg.on<@node>>
!y = tensor<?x2x3xf64, #mpdfg.on<@node>>
module attributes {
  test.extents = {node = 2},
  test.inputs = {x = dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf64>, y = dense<[[10.0, 20.0, 30.0]]> : tensor<1x3xf64>,
                 c = dense<[[[0.0], [-1.0]], [[0.5], [1.0]]]> : tensor<2x2x1xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: !x {mpdfg.name = "x"}, %y: tensor<1x3xf64> {mpdfg.name = "y"}, %c: !x {mpdfg.name = "c"})
      -> (!y {mpdfg.name = "outer"}, !y {mpdfg.name = "select"}, !x {mpdfg.name = "detach"},
          tensor<2x2xf64> {mpdfg.name = "constant"}) {
    %0 = mpdfg.binary add %x, %y : !x, tensor<1x3xf64> -> !y
    %7 = mpdfg.constant 7.0 : tensor<1x3xf64>
    %1 = mpdfg.select %c, %x, %7 : !x, !x, tensor<1x3xf64> -> !y
    %3 = mpdfg.detach %x : !x -> !x
    %4 = mpdfg.constant 0.25 : tensor<2x2xf64>
    return %0, %1, %3, %4 : !y, !y, !x, tensor<2x2xf64>
  }
}

// -----

// Random numbers depend on seed, step, element, feature and site alone: those of element 1 are those of element 0 under
// another number. (Philox4x32-7; test/Unit/Support/PhiloxTest.cpp has the words.) An identity matrix on a static space.
// CHECK: random: 2 rows [2]
// CHECK-NEXT: {{0\.[0-9]+}} {{0\.[0-9]+}}
// CHECK-NEXT: {{0\.[0-9]+}} {{0\.[0-9]+}}
// CHECK-NEXT: identity: 3 rows [3]
// CHECK-NEXT: 1 0 0
// CHECK-NEXT: 0 1 0
// CHECK-NEXT: 0 0 1
!s = tensor<1xf64>
!r = tensor<?x2xf64, #mpdfg.on<@node>>
!c = tensor<3x3xf64, #mpdfg.on<@class>>
module attributes {test.extents = {node = 2}} {
  mpdfg.space @node root
  mpdfg.space @class static {extent = 3 : i64}
  func.func @forward() -> (!r {mpdfg.name = "random"}, !c {mpdfg.name = "identity"}) {
    %0 = mpdfg.constant 5.0 : !s
    %1 = mpdfg.element : tensor<?x1xf64, #mpdfg.on<@node>>
    %2 = mpdfg.iota : tensor<2xf64>
    %3 = mpdfg.random %0, %0, %0, %1, %2 site 7 : !s, !s, !s, tensor<?x1xf64, #mpdfg.on<@node>>, tensor<2xf64> -> !r
    %4 = mpdfg.iota : tensor<3xf64>
    %5 = mpdfg.element : tensor<3x1xf64, #mpdfg.on<@class>>
    %6 = mpdfg.is_element %4, %5 : tensor<3xf64>, tensor<3x1xf64, #mpdfg.on<@class>> -> !c
    return %3, %6 : !r, !c
  }
}
