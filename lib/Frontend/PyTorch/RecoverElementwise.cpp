//===- RecoverElementwise.cpp - Functions of numbers ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each number of the result depends on the numbers at its own place.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

//===----------------------------------------------------------------------===//
// Functions that are made of others
//===----------------------------------------------------------------------===//

/// -1 for negative numbers, else 1: x times its side is |x|, with a derivative at 0 too.
Tensor Recover::side(const Tensor &x) { return where(binary("<", x, 0), scalar(-1), scalar(1)); }

/// The numbers of `exact` with the derivatives of `rough`, which differs by its rounding.
Tensor Recover::corrected(const Tensor &rough, const Tensor &exact) {
  // Infinities have no difference.
  Tensor error = where(binary("==", exact, rough), scalar(0), binary("-", exact, rough));
  error.value = program.detach(error.value);
  return binary("+", rough, error);
}

/// log(1 + x), with what the sum loses.
Tensor Recover::log1p(const Tensor &x) {
  Tensor sum = binary("+", x, 1);
  Tensor lost = where(binary("<", unary("abs", x), 0.5), binary("-", x, binary("-", sum, 1)), scalar(0));
  lost.value = program.detach(lost.value);
  return binary("+", unary("log", sum), lost);
}

/// exp(x) - 1. Near 0 the numbers are those of elu where x is not positive, else exp(x) (1 - exp(-x)).
Tensor Recover::expm1(const Tensor &x) {
  Tensor power = unary("exp", x), rough = binary("-", power, 1);
  Tensor mirrored = unary("elu", binary("-", scalar(0), x), 1);
  Tensor near = where(binary(">", x, 0), binary("-", scalar(0), binary("*", power, mirrored)), unary("elu", x, 1));
  return corrected(rough, where(binary("<", unary("abs", x), 1), near, rough));
}

/// 1 - erf(x). From 0.5 on the numbers are those of a fit by Chebyshev polynomials, whose relative error is 1.2e-7
/// (Numerical Recipes, erfcc).
Tensor Recover::erfc(const Tensor &x) {
  Tensor rough = binary("-", scalar(1), unary("erf", x)), isFar = binary(">", x, 0.5);
  Tensor far = where(isFar, x, scalar(1));
  Tensor t = unary("recip", binary("+", binary("*", far, 0.5), 1)), sum = scalar(0.17087277);
  for (double each :
       {-0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223})
    sum = binary("+", binary("*", sum, t), each);
  Tensor exact = binary("*", t, unary("exp", binary("-", sum, unary("square", far))));
  return corrected(rough, where(isFar, exact, rough));
}

/// Functions of one number that the language has no name for.
std::optional<Tensor> Recover::madeOfOthers(const NormalNode &node, const Tensor &x) {
  const std::string &op = node.op;
  if (op == "tan")
    return binary("/", unary("sin", x), unary("cos", x));
  if (op == "cosh")
    return binary("*", binary("+", unary("exp", x), unary("exp", binary("-", scalar(0), x))), 0.5);
  if (op == "sinh")
    return binary("*", binary("-", expm1(x), expm1(binary("-", scalar(0), x))), 0.5);
  if (op == "asinh" || op == "atanh") { // of |x|, which loses no digits
    Tensor sign = side(x), size = binary("*", x, sign);
    if (op == "atanh") { // Far from 0 as a difference, whose derivative is infinite at 1.
      Tensor isFar = binary(">", size, 0.5), far = where(isFar, size, scalar(0)), near = where(isFar, scalar(0), size);
      Tensor ofFar = binary("-", unary("log", binary("+", far, 1)), unary("log", binary("-", scalar(1), far)));
      Tensor ofNear = log1p(binary("/", binary("*", near, 2), binary("-", scalar(1), near)));
      return binary("*", where(isFar, ofFar, ofNear), binary("*", sign, 0.5));
    }
    // Above, 1 makes no difference to the square, which may have no finite number.
    Tensor isLarge = binary(">", size, 8192), small = where(isLarge, scalar(1), size), squared = unary("square", small);
    Tensor root = unary("sqrt", binary("+", squared, 1));
    Tensor near = log1p(binary("+", small, binary("/", squared, binary("+", root, 1))));
    Tensor far = binary("+", unary("log", where(isLarge, size, scalar(1))), std::log(2.0));
    return binary("*", where(isLarge, far, near), sign);
  }
  if (op == "acosh") {
    // Of two roots, so that the derivative at 1 is infinite.
    Tensor above = binary("-", x, 1);
    return log1p(binary("+", above, binary("*", unary("sqrt", above), unary("sqrt", binary("+", x, 1)))));
  }
  if (op == "exp2")
    return unary("exp", binary("*", x, std::log(2.0)));
  if (op == "log10")
    return binary("/", unary("log", x), std::log(10.0));
  if (op == "erfc")
    return erfc(x);
  if (op == "softsign")
    return binary("/", x, binary("+", unary("abs", x), 1));
  if (op == "tanhshrink")
    return binary("-", x, unary("tanh", x));
  if (op == "hardshrink")
    return where(binary("<=", unary("abs", x), number(node, "lambd", 0.5)), scalar(0), x);
  if (op == "softshrink")
    return binary("*", unary("sign", x), unary("relu", binary("-", unary("abs", x), number(node, "lambd", 0.5))));
  if (op == "threshold")
    return where(binary("<=", x, number(node, "threshold", 0)), scalar(number(node, "value", 0)), x);
  if (op == "rrelu" && !flag(node, "training", false))
    return unary("leaky_relu", x, (number(node, "lower", 0.125) + number(node, "upper", 1.0 / 3)) / 2);
  if (op == "rrelu")
    throw Refusal{"rrelu in training mode; export the model after eval()"};
  if (op == "logit") {
    Tensor p = x;
    if (double eps = number(node, "eps", -1); eps >= 0)
      p = binary("minimum", binary("maximum", x, eps), 1 - eps);
    return unary("log", binary("/", p, binary("-", scalar(1), p)));
  }
  if (op == "sgn")
    return unary("sign", x);
  if (op == "deg2rad" || op == "rad2deg")
    return binary("*", x, op == "deg2rad" ? 3.14159265358979323846 / 180 : 180 / 3.14159265358979323846);
  if (op == "isinf")
    return binary(">", unary("abs", x), largestOf(node));
  if (op == "trunc" || op == "fix")
    return truncated(x);
  if (op == "frac")
    return binary("-", x, truncated(x));
  if (double decimals = number(node, "decimals", 0); op == "round" && decimals != 0) {
    double scale = std::pow(10.0, std::abs(decimals));
    const char *there = decimals > 0 ? "*" : "/", *back = decimals > 0 ? "/" : "*";
    return binary(back, unary("round", binary(there, x, scale)), scale);
  }
  return std::nullopt;
}

/// The whole part: the nearest whole number towards 0.
Tensor Recover::truncated(const Tensor &x) { return binary("*", unary("sign", x), unary("floor", unary("abs", x))); }

/// Parts of a number, of 12 bits each, whose sum it is. Their products with the first few thousand whole numbers are
/// exact in single precision.
static llvm::SmallVector<double> shortParts(double number) {
  constexpr int kBits = 12;
  llvm::SmallVector<double> parts;
  for (double left = number; left != 0; left -= parts.back()) {
    int exponent;
    double scaled = std::ldexp(std::frexp(left, &exponent), kBits);
    parts.push_back(std::ldexp(std::trunc(scaled), exponent - kBits));
  }
  return parts;
}

/// Quotients that are rounded, and what is left of a division by them. PyTorch rounds the exact quotient. A computed
/// one is on the same side of a whole number if that number times the divisor is exact; else what is left says so.
void Recover::opDivision(const NormalNode &node) {
  Tensor a = tensor(node, "self"), b = tensor(node, "other"), quotient = binary("/", a, b);
  std::optional<double> divisor = number(node, "other");
  if (divisor && typeOf(node.outputs.at(0)) != ScalarType::Float64)
    divisor = static_cast<float>(*divisor);
  if (!divisor || *divisor == 0 || !std::isfinite(*divisor))
    throw Refusal{"it rounds an exact quotient; gnnc can only where the divisor is a constant other than 0; a - b * "
                  "floor(a / b) is allowed"};
  std::string mode = string(node, "rounding_mode", node.op == "fmod" ? "trunc" : "floor");
  if (mode != "floor" && mode != "trunc")
    throw Refusal{"argument 'rounding_mode': expected floor or trunc, found '" + mode + "'"};
  bool isLeft = node.op == "fmod" || node.op == "remainder";
  llvm::SmallVector<double> parts = shortParts(*divisor);
  if (parts.size() == 1) {
    Tensor whole = mode == "trunc" ? truncated(quotient) : unary("floor", quotient);
    return define(node, isLeft ? binary("-", a, binary("*", whole, b)) : whole);
  }
  Tensor whole = truncated(quotient), left = a;
  for (double part : parts)
    left = binary("-", left, binary("*", whole, part));
  // A GPU's quotient may be a little less than a whole number that it is: all of the divisor is left then.
  double turn = *divisor > 0 ? 1 : -1, length = std::abs(*divisor);
  Tensor isUnder = binary("*", binary("-", scalar(1), binary("<", unary("abs", left), length)), unary("sign", a));
  left = binary("-", left, binary("*", isUnder, length));
  whole = binary("+", whole, binary("*", isUnder, turn));
  if (mode == "trunc" && !isLeft) // PyTorch's own is of the computed quotient.
    return define(node, whole);
  // Or it was rounded to the next whole number: what is left has the other sign then.
  auto isOpposite = [&](const Tensor &x, const Tensor &y) {
    return binary("<", binary("*", unary("sign", x), unary("sign", y)), 0);
  };
  Tensor isOver = binary("*", isOpposite(left, a), unary("sign", a));
  left = binary("+", left, binary("*", isOver, length));
  whole = binary("-", whole, binary("*", isOver, turn));
  if (mode == "floor") {
    Tensor isBelow = isOpposite(left, scalar(*divisor));
    left = binary("+", left, binary("*", isBelow, *divisor));
    whole = binary("-", whole, isBelow);
  }
  define(node, isLeft ? left : whole);
}

void Recover::opUnary(const NormalNode &node) {
  const std::string &op = node.op;
  Tensor x = tensor(node, "self");
  if (op == "gelu" && string(node, "approximate", "none") == "tanh") {
    Tensor cubic = binary("+", x, binary("*", binary("*", x, unary("square", x)), 0.044715));
    Tensor gate = binary("+", unary("tanh", binary("*", cubic, 0.7978845608028654)), 1);
    return define(node, binary("*", binary("*", x, gate), 0.5));
  }
  // Above the threshold softplus is the identity, which from 15 on makes no difference.
  if (double threshold = number(node, "threshold", 20); op == "softplus" && threshold < 15)
    throw Refusal{"argument 'threshold': expected at least 15, found " + std::to_string(threshold)};
  if (double beta = number(node, "beta", 1); op == "softplus" && beta != 1)
    return define(node, binary("/", unary("softplus", binary("*", x, beta)), beta));
  if (op == "neg")
    return define(node, binary("-", scalar(0), x));
  if (op == "log1p")
    return define(node, log1p(x));
  if (op == "expm1")
    return define(node, expm1(x));
  if (op == "log2")
    return define(node, binary("/", unary("log", x), std::log(2.0)));
  if (op == "log_sigmoid")
    return define(node, binary("-", scalar(0), unary("softplus", binary("-", scalar(0), x))));
  if (op == "relu6")
    return define(node, binary("minimum", unary("relu", x), 6));
  if (op == "hardsigmoid" || op == "hardswish") {
    Tensor gate = binary("/", binary("minimum", unary("relu", binary("+", x, 3)), 6), 6);
    return define(node, op == "hardswish" ? binary("*", x, gate) : gate);
  }
  if (std::optional<Tensor> made = madeOfOthers(node, x))
    return define(node, *made);
  if (op == "mish")
    return define(node, binary("*", x, unary("tanh", unary("softplus", x))));
  if (op == "leaky_relu")
    return define(node, unary("leaky_relu", x, number(node, "negative_slope", 0.01)));
  if (op == "elu" || op == "celu" || op == "selu") {
    double alpha = op == "selu" ? 1.6732632423543772848170429916717 : number(node, "alpha", 1);
    double scale = op == "selu" ? 1.0507009873554804934193349852946 : number(node, "scale", 1);
    double inner = op == "celu" ? 1 / alpha : number(node, "input_scale", 1);
    Tensor y = unary("elu", x, alpha);
    if (inner != 1) {
      Tensor exponent = binary("*", x, inner);
      Tensor negative = binary("*", inner > 0 ? unary("elu", exponent, 1) : expm1(exponent), alpha);
      y = where(binary(">", x, 0), x, negative);
    }
    return define(node, scale == 1 ? y : binary("*", y, scale));
  }
  define(node, unary(op == "reciprocal" ? "recip" : op, x));
}

void Recover::opBinary(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {{"add", "+"},
                                                               {"sub", "-"},
                                                               {"mul", "*"},
                                                               {"div", "/"},
                                                               {"true_divide", "/"},
                                                               {"eq", "=="},
                                                               {"ne", "!="},
                                                               {"lt", "<"},
                                                               {"le", "<="},
                                                               {"gt", ">"},
                                                               {"ge", ">="},
                                                               {"maximum", "maximum"},
                                                               {"minimum", "minimum"},
                                                               {"logical_and", "minimum"},
                                                               {"bitwise_and", "minimum"},
                                                               {"logical_or", "maximum"},
                                                               {"bitwise_or", "maximum"},
                                                               {"logical_xor", "!="},
                                                               {"bitwise_xor", "!="},
                                                               {"__and__", "minimum"},
                                                               {"__or__", "maximum"},
                                                               {"__xor__", "!="}};
  bool isLogical = node.op.compare(0, 7, "logical") == 0;
  bool isBitwise = node.op.compare(0, 7, "bitwise") == 0 || node.op.compare(0, 2, "__") == 0;
  if (isBitwise && !givesTruth(node))
    throw Refusal{"bits of integers have no meaning in gnnc"};
  Tensor a = isLogical ? truth(node, "self") : tensor(node, "self");
  Tensor b = isLogical ? truth(node, "other") : tensor(node, "other");
  // Of truth values a sum is whether one is true.
  if (node.op == "add" && givesTruth(node))
    return define(node, binary("maximum", a, b));
  if (has(node, "rounding_mode"))
    return opDivision(node);
  double alpha = number(node, "alpha", 1);
  const Operation &left = program.operations[a.value];
  if ((node.op == "div" || node.op == "true_divide") && left.op == Op::Number && left.number == 1 && a.dims.empty())
    return define(node, unary("recip", b));
  if (alpha != 1 && node.op != "rsub")
    b = binary("*", b, alpha);
  if (node.op == "rsub")
    return define(node, binary("-", b, alpha == 1 ? a : binary("*", a, alpha)));
  // Numbers are infinite where they are above all that are finite; the language has no other name for it.
  const Operation &right = program.operations[b.value];
  if ((node.op == "eq" || node.op == "ne") && right.op == Op::Number && std::isinf(right.number)) {
    bool above = right.number > 0;
    Tensor isInfinite = binary(above ? ">" : "<", a, above ? largestOf(node) : -largestOf(node));
    return define(node, node.op == "eq" ? isInfinite : binary("==", isInfinite, 0));
  }
  define(node, binary(functions.at(node.op), a, b));
}

std::optional<ScalarType> Recover::typeOf(const std::string &name) const {
  auto meta = normal.tensors.find(name);
  return meta == normal.tensors.end() ? std::nullopt : std::optional(meta->second.type);
}

/// A tensor as truth values, 0 and 1.
Tensor Recover::truth(const NormalNode &node, const std::string &name) {
  Tensor x = tensor(node, name);
  const Argument *argument = find(node, name);
  auto *value = argument ? std::get_if<ValueName>(argument) : nullptr;
  return value && typeOf(value->name) == ScalarType::Bool ? x : binary("!=", x, 0);
}

static bool isFloat(std::optional<ScalarType> type) {
  return type == ScalarType::Float32 || type == ScalarType::Float64;
}

/// The same numbers, perhaps in another type.
void Recover::opSame(const NormalNode &node) {
  std::string name = node.arguments.count("self") ? "self" : "input";
  std::optional<ScalarType> from = typeOf(nameOf(node, name)), to = typeOf(node.outputs.at(0));
  if (to == ScalarType::Bool)
    return define(node, truth(node, name));
  bool isWhole = !isFloat(to) && to != ScalarType::Float16 && to != ScalarType::BFloat16;
  if (isFloat(from) && isWhole)
    return define(node, truncated(tensor(node, name)));
  if (isFloat(from) && !isFloat(to))
    throw Refusal{"it narrows numbers to 16 bits inside the model; leave it out, and compile with --dtype"};
  define(node, tensor(node, name));
}

void Recover::opDetach(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  x.value = program.detach(x.value);
  define(node, x);
}

void Recover::opClamp(const NormalNode &node) {
  bool hard = node.op == "hardtanh";
  Tensor x = tensor(node, "self");
  if (has(node, hard ? "min_val" : "min"))
    x = binary("maximum", x, tensor(node, hard ? "min_val" : "min"));
  else if (hard)
    x = binary("maximum", x, -1);
  if (has(node, hard ? "max_val" : "max"))
    x = binary("minimum", x, tensor(node, hard ? "max_val" : "max"));
  else if (hard)
    x = binary("minimum", x, 1);
  define(node, x);
}

void Recover::opPow(const NormalNode &node) {
  if (node.op == "float_power" && !has(node, "exponent"))
    throw Refusal{"argument 'exponent': expected a number or a tensor"};
  Tensor base = tensor(node, "self");
  std::optional<double> exponent = number(node, "exponent");
  if (exponent && *exponent == 2)
    return define(node, unary("square", base));
  if (exponent && *exponent == 0.5)
    return define(node, unary("sqrt", base));
  if (exponent && *exponent == -0.5)
    return define(node, unary("rsqrt", base));
  define(node, binary("^", base, tensor(node, "exponent")));
}

/// `x` where the condition is 0, else `value`. Where a reciprocal of 0 is replaced its gradient is 0, not infinite.
Tensor Recover::replaced(Tensor condition, Tensor value, Tensor x) {
  const Operation test = program.operations[condition.value], made = program.operations[x.value];
  // Where a number is none, the result is none: that number is.
  if (const Operation &given = program.operations[value.value]; given.op == Op::Number && std::isnan(given.number)) {
    if (test.op != Op::Binary || test.text != "!=" || test.operands[0] != test.operands[1])
      throw Refusal{"it writes a constant that is not a number (NaN)"};
    value = {condition.dims, program.detach(test.operands[0])};
  }
  bool testsInfinity = test.op == Op::Binary && test.text == ">" && test.operands[0] == x.value &&
                       program.operations[test.operands[1]].op == Op::Number &&
                       program.operations[test.operands[1]].number >= largestFloat;
  bool isReciprocal = made.op == Op::Unary && (made.text == "rsqrt" || made.text == "recip");
  if (testsInfinity && isReciprocal) {
    Tensor d{x.dims, made.operands[0]};
    Tensor isZero = binary("==", d, 0);
    return where(isZero, value, unary(made.text, where(isZero, scalar(1), d)));
  }
  return where(condition, value, x);
}

void Recover::opWhere(const NormalNode &node) {
  define(node, replaced(tensor(node, "condition"), tensor(node, "self"), tensor(node, "other")));
}

void Recover::opMaskedFill(const NormalNode &node) {
  define(node, replaced(tensor(node, "mask"), tensor(node, "value"), tensor(node, "self")));
}

void Recover::opNot(const NormalNode &node) {
  if (node.op == "bitwise_not" && !givesTruth(node))
    throw Refusal{"bits of integers have no meaning in gnnc"};
  define(node, binary("==", tensor(node, "self"), 0));
}

/// The angle of the point (x, y). The smaller of |x| and |y| is divided by the larger; above tan(pi/8) the angle is
/// counted from pi/4. The polynomials, of Cephes, are as exact as numbers of 32 bits, or of 64.
Tensor Recover::angle(const Tensor &y, const Tensor &x, bool isDouble) {
  const double pi = 3.14159265358979323846;
  // By comparisons, not by abs, maximum and minimum: those have no derivative where numbers are 0 or equal.
  Tensor sign = side(y), across = binary("*", x, side(x)), up = binary("*", y, sign), isUp = binary(">", up, across);
  Tensor larger = where(isUp, up, across), isZero = binary("==", larger, 0);
  Tensor smaller = where(isUp, across, where(isZero, scalar(0), up));
  Tensor ratio = binary("/", smaller, where(isZero, scalar(1), larger));
  Tensor isEndless = binary(">", smaller, isDouble ? largestDouble : largestFloat);
  ratio = where(isEndless, scalar(1), ratio);
  Tensor isSteep = binary(">", ratio, 0.41421356237309503);
  Tensor t = where(isSteep, binary("/", binary("-", ratio, 1), binary("+", ratio, 1)), ratio), z = unary("square", t);
  auto polynomial = [&](std::initializer_list<double> factors) {
    Tensor sum = scalar(*factors.begin());
    for (double each : llvm::drop_begin(factors))
      sum = binary("+", binary("*", sum, z), each);
    return sum;
  };
  Tensor beyond =
      isDouble ? binary("/",
                        polynomial({-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                                    -1.228866684490136173410e2, -6.485021904942025371773e1}),
                        polynomial({1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
                                    4.853903996359136964868e2, 1.945506571482613964425e2}))
               : polynomial({8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
  Tensor base = binary("+", t, binary("*", binary("*", beyond, z), t));
  base = binary("+", base, binary("*", isSteep, pi / 4));
  base = where(isUp, binary("-", scalar(pi / 2), base), base);
  base = where(binary("<", x, 0), binary("-", scalar(pi), base), base);
  // Comparisons take what is not a number for the smaller one.
  base = where(isMissing(x), x, where(isMissing(y), y, base));
  return binary("*", base, sign);
}

/// atan2 and what is made of it.
void Recover::opAngle(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  const std::string &op = node.op;
  bool isDouble = typeOf(node.outputs.at(0)) == ScalarType::Float64;
  if (op == "atan2" || op == "arctan2")
    return define(node, angle(x, tensor(node, "other"), isDouble));
  if (op == "atan")
    return define(node, angle(x, scalar(1), isDouble));
  Tensor other = unary("sqrt", binary("*", binary("-", scalar(1), x), binary("+", x, 1)));
  define(node, op == "asin" ? angle(x, other, isDouble) : angle(other, x, isDouble));
}

/// Functions of two numbers that are made of others.
void Recover::opPair(const NormalNode &node) {
  const std::string &op = node.op;
  Tensor a = tensor(node, "self"), b = tensor(node, op == "lerp"                   ? "end"
                                                    : op == "outer" || op == "ger" ? "vec2"
                                                                                   : "other");
  if (op == "lerp")
    return define(node, binary("+", a, binary("*", binary("-", b, a), tensor(node, "weight"))));
  if (op == "hypot")
    return define(node, safeRoot(binary("+", unary("square", a), unary("square", b))));
  if (op == "logaddexp") {
    auto isInfinite = [&](const Tensor &x) { return binary(">", unary("abs", x), largestOf(node)); };
    Tensor isEdge = binary("maximum", isInfinite(a), isInfinite(b));
    Tensor sum = binary("+", a, unary("softplus", binary("-", b, a)));
    return define(node, where(isEdge, binary("maximum", a, b), sum));
  }
  if (op == "outer" || op == "ger")
    return define(node, binary("*", unsqueezed(a, 1), unsqueezed(b, 0)));
  // 0 log b is 0 for all b, and has the derivative log b where there is one.
  Tensor isOutside = binary("maximum", binary("<=", b, 0), binary(">", b, largestOf(node)));
  Tensor isNothing = binary("*", binary("==", a, 0), isOutside);
  define(node, where(isNothing, scalar(0), binary("*", a, unary("log", where(isNothing, scalar(1), b)))));
}

void Recover::opAddcmul(const NormalNode &node) {
  Tensor both = binary(node.op == "addcmul" ? "*" : "/", tensor(node, "tensor1"), tensor(node, "tensor2"));
  double value = number(node, "value", 1);
  define(node, binary("+", tensor(node, "self"), value == 1 ? both : binary("*", both, value)));
}

/// x where it is not negative, else x times a slope that is learnt, one for all or one for each channel.
void Recover::opPReLU(const NormalNode &node) {
  Tensor x = tensor(node, "self"), slope = tensor(node, "weight");
  // Channels are the second axis.
  if (node.op == "prelu" && slope.dims.size() == 1 && x.dims.size() > 1)
    while (slope.dims.size() + 1 < x.dims.size())
      slope = unsqueezed(slope, slope.dims.size());
  if (node.op == "prelu" && slope.dims.size() == 1 && x.dims.size() <= 1)
    slope = squeezed(slope, 0);
  define(node, where(binary(">", x, 0), x, binary("*", x, slope)));
}
