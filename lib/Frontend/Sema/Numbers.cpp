//===- Numbers.cpp - Compile-time numbers ---------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Numbers.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <charconv>
#include <cmath>

using namespace gnnc::frontend;
using llvm::Expected;
using llvm::StringRef;

static llvm::Error failure(const llvm::Twine &message) { return llvm::createStringError(message); }

std::string Number::str() const {
  if (kind == Kind::Bool)
    return integer ? "true" : "false";
  if (kind == Kind::Int)
    return std::to_string(integer);
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), real).ptr;
  return std::string(buffer, end);
}

static Expected<Number> finite(double value, StringRef what) {
  if (!std::isfinite(value))
    return failure("the result of " + what + " is not a finite number");
  return Number::ofFloat(value);
}

Expected<Number> gnnc::frontend::foldUnary(StringRef op, Number x) {
  if (op == "not")
    return Number::ofBool(!x.isTrue());
  if (x.kind == Number::Kind::Float)
    return Number::ofFloat(-x.real);
  int64_t result;
  if (llvm::SubOverflow<int64_t>(0, x.integer, result))
    return failure("-" + x.str() + " does not fit in 64 bits");
  return Number::ofInt(result);
}

/// a ^ b for b >= 0
static bool powOverflows(int64_t a, int64_t b, int64_t &result) {
  result = 1;
  if (a == 0 || a == 1 || a == -1) {
    result = b == 0 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : a;
    return false;
  }
  for (; b > 0; --b) // at most 63 rounds before it overflows
    if (llvm::MulOverflow(result, a, result))
      return true;
  return false;
}

static Expected<Number> foldIntegers(StringRef op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+")
    overflow = llvm::AddOverflow(a, b, result);
  else if (op == "-")
    overflow = llvm::SubOverflow(a, b, result);
  else if (op == "*")
    overflow = llvm::MulOverflow(a, b, result);
  else if (op == "^" && b >= 0)
    overflow = powOverflows(a, b, result);
  else if (op == "^")
    return finite(std::pow(double(a), double(b)), "'^'");
  else { // / and %
    if (b == 0)
      return failure("division by zero");
    // The one quotient that does not fit, and whose remainder traps.
    if (b == -1)
      return op == "%" ? Number::ofInt(0) : foldIntegers("-", 0, a);
    if (op == "/" && a % b != 0)
      return Number::ofFloat(double(a) / double(b));
    result = op == "/" ? a / b : a % b;
  }
  if (overflow)
    return failure(std::to_string(a) + " " + op + " " + std::to_string(b) + " does not fit in 64 bits");
  return Number::ofInt(result);
}

Expected<Number> gnnc::frontend::foldBinary(StringRef op, Number a, Number b) {
  if (op == "and")
    return Number::ofBool(a.isTrue() && b.isTrue());
  if (op == "or")
    return Number::ofBool(a.isTrue() || b.isTrue());
  bool integers = a.kind != Number::Kind::Float && b.kind != Number::Kind::Float;
  if (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=") {
    double x = a.asDouble(), y = b.asDouble();
    int order = integers ? (a.integer > b.integer) - (a.integer < b.integer) : (x > y) - (x < y);
    return Number::ofBool(op == "=="   ? order == 0
                          : op == "!=" ? order != 0
                          : op == "<"  ? order < 0
                          : op == "<=" ? order <= 0
                          : op == ">"  ? order > 0
                                       : order >= 0);
  }
  if (integers)
    return foldIntegers(op, a.integer, b.integer);
  double x = a.asDouble(), y = b.asDouble();
  if (op == "+")
    return finite(x + y, "'+'");
  if (op == "-")
    return finite(x - y, "'-'");
  if (op == "*")
    return finite(x * y, "'*'");
  if (op == "^")
    return finite(std::pow(x, y), "'^'");
  if (op == "%")
    return failure("'%' takes integers, found " + a.str() + " and " + b.str());
  if (op == "/") {
    if (y == 0)
      return failure("division by zero");
    return finite(x / y, "'/'");
  }
  return failure("'" + op + "' does not work on numbers");
}

bool gnnc::frontend::isNumberFunction(StringRef name, size_t count) {
  size_t takes =
      llvm::StringSwitch<size_t>(name)
          .Cases({"sqrt", "exp", "log", "floor", "ceil", "round", "abs", "rsqrt", "tanh", "sigmoid", "square"}, 1)
          .Cases({"min", "max", "minimum", "maximum", "pow"}, 2)
          .Case("clamp", 3)
          .Default(0);
  return takes == count && count > 0;
}

Expected<Number> gnnc::frontend::foldFunction(StringRef name, llvm::ArrayRef<Number> arguments) {
  Number x = arguments[0];
  if (name == "pow")
    return foldBinary("^", x, arguments[1]);
  if (name == "clamp") {
    Number raised = x.asDouble() < arguments[1].asDouble() ? arguments[1] : x;
    return raised.asDouble() > arguments[2].asDouble() ? arguments[2] : raised;
  }
  if (name == "square")
    return foldBinary("*", x, x);
  if (arguments.size() == 2) {
    bool less = x.asDouble() < arguments[1].asDouble();
    return less == name.starts_with("min") ? x : arguments[1];
  }
  if (name == "abs")
    return x.asDouble() < 0 ? foldUnary("-", x) : Expected<Number>(x);
  if (name == "floor" || name == "ceil" || name == "round") {
    double v = x.asDouble(), result = name == "floor"  ? std::floor(v)
                                      : name == "ceil" ? std::ceil(v)
                                                       : std::nearbyint(v);
    if (x.kind != Number::Kind::Float)
      return Number::ofInt(x.integer);
    if (!(std::abs(result) <= 9e15))
      return failure(name + " of " + x.str() + " is too large for an integer");
    return Number::ofInt(int64_t(result));
  }
  double v = x.asDouble();
  double result = name == "sqrt"    ? std::sqrt(v)
                  : name == "rsqrt" ? 1 / std::sqrt(v)
                  : name == "exp"   ? std::exp(v)
                  : name == "log"   ? std::log(v)
                  : name == "tanh"  ? std::tanh(v)
                                    : 1 / (1 + std::exp(-v));
  return finite(result, name);
}

Expected<Number> gnnc::frontend::parseNumber(StringRef text) {
  if (text == "true" || text == "false")
    return Number::ofBool(text == "true");
  int64_t integer;
  if (!text.getAsInteger(10, integer))
    return Number::ofInt(integer);
  double real;
  if (!text.empty() && !text.getAsDouble(real) && std::isfinite(real))
    return Number::ofFloat(real);
  return failure("expected a number, true or false, found '" + text + "'");
}
