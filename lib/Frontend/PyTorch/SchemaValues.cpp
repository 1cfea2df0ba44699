//===- SchemaValues.cpp - Values of the schema of torch.export ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SchemaValues.h"
#include "PyTorch/SizeExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <limits>

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

std::optional<std::pair<std::string, Cursor>> SchemaValues::readUnion(const Cursor &at) {
  if (!at.isObject())
    return std::nullopt;
  if (at.value.size() != 1) {
    errors.report(at.pointer, "expected an object with one member, found " + std::to_string(at.value.size()));
    return std::nullopt;
  }
  const auto member = at.value.begin();
  // A name may be anything; a pointer stays short and on one line.
  std::string key = quoteName(member.key());
  return std::pair(member.key(), Cursor(*member, at.pointer + "/" + key.substr(1, key.size() - 2), errors));
}

std::optional<std::string> SchemaValues::readName(const Cursor &at) {
  std::optional<std::string> name = at.string();
  if (!name)
    return std::nullopt;
  if (name->empty() || name->size() > 1024 ||
      llvm::any_of(*name, [](char c) { return (unsigned char)c < 0x20 || c == 0x7f; })) {
    errors.report(at.pointer,
                  "expected a name of 1 to 1024 bytes without control characters, found " + quoteName(*name));
    return std::nullopt;
  }
  return name;
}

std::optional<std::string> SchemaValues::readNameMember(const Cursor &at) {
  return at.isObject() ? readName(at.member("name")) : std::nullopt;
}

std::optional<double> SchemaValues::readFloat(const Cursor &at) {
  if (at.value.is_string()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::string &text = at.value.get_ref<const std::string &>();
    if (text == "Infinity")
      return infinity;
    if (text == "-Infinity")
      return -infinity;
    if (text == "NaN")
      return std::numeric_limits<double>::quiet_NaN();
  }
  return at.number();
}

std::optional<Size> SchemaValues::readSize(const Cursor &at) {
  auto found = readUnion(at);
  if (!found)
    return std::nullopt;
  auto &[kind, value] = *found;
  if (kind == "as_int") {
    std::optional<int64_t> number = value.integer(0, INT64_MAX);
    return number ? std::optional(literalSize(*number)) : std::nullopt;
  }
  if (kind != "as_expr") {
    errors.report(at.pointer, "expected as_int or as_expr, found " + quoteName(kind));
    return std::nullopt;
  }
  std::optional<std::string> text = value.isObject() ? value.member("expr_str").string() : std::nullopt;
  if (!text)
    return std::nullopt;
  llvm::Expected<Size> size = readSizeExpr(*text);
  if (!size) {
    errors.report(value.pointer + "/expr_str", llvm::toString(size.takeError()));
    return std::nullopt;
  }
  if (size->literal() && *size->literal() < 0) {
    errors.report(value.pointer + "/expr_str", "expected a size of at least 0, found " + size->text);
    return std::nullopt;
  }
  return std::move(*size);
}

std::optional<int64_t> SchemaValues::readLiteral(const Cursor &at) {
  std::optional<Size> size = readSize(at);
  if (!size)
    return std::nullopt;
  if (!size->literal())
    errors.report(at.pointer, "expected a number, found " + quoteName(size->text));
  return size->literal();
}

namespace {
struct TypeRow {
  ScalarType type;
  const char *name;
  int64_t bytes;
};
} // namespace

static constexpr TypeRow kTypes[] = {
    {ScalarType::UInt8, "uint8", 1},
    {ScalarType::Int8, "int8", 1},
    {ScalarType::Int16, "int16", 2},
    {ScalarType::Int32, "int32", 4},
    {ScalarType::Int64, "int64", 8},
    {ScalarType::Float16, "float16", 2},
    {ScalarType::Float32, "float32", 4},
    {ScalarType::Float64, "float64", 8},
    {ScalarType::Complex32, "complex32", 4},
    {ScalarType::Complex64, "complex64", 8},
    {ScalarType::Complex128, "complex128", 16},
    {ScalarType::Bool, "bool", 1},
    {ScalarType::BFloat16, "bfloat16", 2},
    {ScalarType::UInt16, "uint16", 2},
    {ScalarType::Float8E4M3FN, "float8_e4m3fn", 1},
    {ScalarType::Float8E5M2, "float8_e5m2", 1},
    {ScalarType::Float8E4M3FNUZ, "float8_e4m3fnuz", 1},
    {ScalarType::Float8E5M2FNUZ, "float8_e5m2fnuz", 1},
};

static const TypeRow &rowOf(ScalarType type) {
  return *llvm::find_if(kTypes, [&](const TypeRow &row) { return row.type == type; });
}

Argument::Argument() = default;
Argument::Argument(const Argument &other) = default;
Argument::Argument(Argument &&other) noexcept = default;
Argument &Argument::operator=(const Argument &other) = default;
Argument &Argument::operator=(Argument &&other) noexcept = default;
Argument::~Argument() = default;

const char *gnnc::frontend::pytorch::nameOf(ScalarType type) { return rowOf(type).name; }
bool gnnc::frontend::pytorch::isFloatType(ScalarType type) {
  return type == ScalarType::Float16 || type == ScalarType::Float32 || type == ScalarType::Float64 ||
         type == ScalarType::BFloat16;
}
int64_t gnnc::frontend::pytorch::bytesOf(ScalarType type) { return rowOf(type).bytes; }

std::optional<ScalarType> SchemaValues::readScalarType(const Cursor &at) {
  std::optional<int64_t> number = at.integer(0, 1000);
  if (!number)
    return std::nullopt;
  for (const TypeRow &row : kTypes)
    if (int64_t(row.type) == *number)
      return row.type;
  errors.report(at.pointer, "expected the number of an element type of torch, found " + std::to_string(*number));
  return std::nullopt;
}

std::optional<TensorMeta> SchemaValues::readTensorMeta(const Cursor &at) {
  static const char *const layouts[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "_mkldnn"};
  constexpr int64_t kStrided = 7;
  if (!at.isObject())
    return std::nullopt;
  std::optional<ScalarType> type = readScalarType(at.member("dtype"));
  std::optional<std::vector<Size>> sizes =
      at.member("sizes").all<Size>([&](const Cursor &each) { return readSize(each); });
  std::optional<bool> requiresGrad = at.member("requires_grad").boolean();
  std::optional<int64_t> layout = at.member("layout").integer(0, kStrided);
  if (!type || !sizes || !requiresGrad || !layout)
    return std::nullopt;
  if (*layout != kStrided) {
    errors.report(at.pointer + "/layout",
                  std::string("expected a dense tensor, found layout ") + layouts[*layout] +
                      "; pass the rows and columns of a sparse tensor as an index tensor, such as edge_index");
    return std::nullopt;
  }
  std::string device;
  if (at.has("device") && at["device"].has("type"))
    if (std::optional<std::string> kind = at["device"]["type"].string())
      device = *kind;
  return TensorMeta{*type, std::move(*sizes), *requiresGrad, device};
}

bool SchemaValues::eachMember(const Cursor &at, llvm::function_ref<bool(const std::string &, const Cursor &)> read) {
  if (!at.isObject())
    return false;
  for (auto member = at.value.begin(); member != at.value.end(); ++member) {
    std::string key = quoteName(member.key());
    if (!read(member.key(), Cursor(*member, at.pointer + "/" + key.substr(1, key.size() - 2), errors)))
      return false;
  }
  return true;
}
