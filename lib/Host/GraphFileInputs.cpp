//===- GraphFileInputs.cpp - Inputs in a graph file -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"

#include "llvm/ADT/Twine.h"

#include <cstring>
#include <numeric>

using namespace gnnc;

/// Of the lower digit of an element's place; a float32 holds both.
static constexpr int kDigitBits = 20;

/// Numbers of elements in the whole graph: `S.global`, integers in the memory of floating-point numbers, and `S.order`,
/// two digits of each.
llvm::Error BoundGraph::bindNumbers(const TensorInfo &input) {
  std::string space = input.space.value_or("");
  std::optional<int64_t> rows = extent(space);
  if (!rows || (input.type != ElementType::F32 && input.type != ElementType::F64))
    return missing("space '" + space + "'", "input '" + input.name + "'");
  std::vector<int64_t> numbers(size_t(*rows), 0);
  std::iota(numbers.begin(), numbers.end(), int64_t(0));
  const SpaceInfo *info = model->findSpace(space);
  bool isStatic = info && info->kind == "static"; // all of it on every rank
  if (!isStatic && (filePart->parts() > 1 || filePart->isDivided(space))) {
    llvm::Expected<std::vector<int64_t>> given = filePart->globalNumbers(space);
    if (!given)
      return given.takeError();
    numbers = std::move(*given);
  }
  if (int64_t(numbers.size()) != *rows)
    return wrong("tensor '" + space + ".global': expected " + llvm::Twine(*rows) + " numbers, found " +
                 llvm::Twine(numbers.size()));
  bool inDigits = !input.dims.empty();
  llvm::Expected<HostTensor> tensor = HostTensor::create(
      input.name, input.type, inDigits ? std::vector<int64_t>{*rows, 2} : std::vector<int64_t>{*rows});
  if (!tensor)
    return tensor.takeError();
  for (auto [i, number] : llvm::enumerate(numbers))
    if (inDigits) {
      tensor->set(int64_t(2 * i), double(number >> kDigitBits));
      tensor->set(int64_t(2 * i + 1), double(number & ((int64_t(1) << kDigitBits) - 1)));
    } else if (input.type == ElementType::F64)
      std::memcpy(static_cast<char *>(tensor->data()) + 8 * i, &number, 8);
    else if (int32_t narrow = int32_t(number); narrow == number)
      std::memcpy(static_cast<char *>(tensor->data()) + 4 * i, &narrow, 4);
    else
      return wrong("tensor '" + space + ".global': expected numbers below 2^31, found " + llvm::Twine(number));
  converted.push_back(std::move(*tensor));
  inputBindings.push_back({input.name.c_str(), converted.back().binding().tensor});
  return llvm::Error::success();
}

/// The gradient of an exported model's output goes by that output's number.
std::string BoundGraph::tensorNameOf(const TensorInfo &input) const {
  if (model->exported && input.gradient)
    for (auto [i, output] : llvm::enumerate(model->outputs))
      if (input.name == "grad." + output.name)
        return "grad.out." + std::to_string(i);
  return input.name;
}

llvm::Error BoundGraph::expectGradients() const {
  for (const TensorInfo &input : model->inputs)
    if (input.gradient && isNeeded(input.name) && !findInput(input.name))
      return missing("tensor '" + tensorNameOf(input) + "'", "input '" + input.name + "', the gradient of an output");
  return llvm::Error::success();
}

llvm::Error BoundGraph::bindInputs() {
  for (const SparseInfo &sparse : model->sparseInputs)
    if (llvm::Error error = bindSparseInput(sparse))
      return error;
  for (const TensorInfo &input : model->inputs) {
    bool bound = llvm::any_of(model->sparseInputs, [&](const SparseInfo &s) { return s.value == input.name; });
    if (!bound)
      if (llvm::Error error = ifNeeded(input.name, bindInput(input)))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error BoundGraph::addValues(llvm::StringRef name, const FileTensor &tensor) {
  if (!tensor.type)
    return wrong("tensor '" + tensor.name + "': expected dtype F32, F64, BF16, F16, I32 or I64, found " +
                 tensor.typeName);
  // Names are taken from the description, which outlives this object; a file's tensor may have another.
  auto info = llvm::find_if(model->inputs, [&](const TensorInfo &input) { return input.name == name; });
  const char *cName = info->name.c_str();
  if (*tensor.type == info->type) {
    inputBindings.push_back({cName, viewOf(tensor)});
    return llvm::Error::success();
  }
  llvm::Expected<HostTensor> other = HostTensor::convert(tensor, info->type);
  if (!other)
    return wrong(llvm::toString(other.takeError()));
  converted.push_back(std::move(*other));
  inputBindings.push_back({cName, converted.back().binding().tensor});
  return llvm::Error::success();
}

/// Whether `metadata` says that the file's x has another number of features than `expected`.
static const std::string *otherFeatureCount(const SafetensorsFile &file, llvm::StringRef input, int64_t expected) {
  const std::string *text = input == "x" ? file.findMetadata("num_features") : nullptr;
  int64_t count = 0;
  bool other = text && !llvm::StringRef(*text).getAsInteger(10, count) && count > 0 && count != expected;
  return other ? text : nullptr;
}

static int64_t indexAt(const FileTensor &tensor, int64_t i) {
  return *tensor.type == ElementType::I32 ? int64_t(tensor.as<int32_t>()[i]) : tensor.as<int64_t>()[i];
}

llvm::Error BoundGraph::bindSparseInput(const SparseInfo &sparse) {
  const SpaceInfo *entries = model->findSpace(sparse.entries);
  const MapInfo *row = model->findMap(sparse.row), *column = model->findMap(sparse.column);
  auto value = llvm::find_if(model->inputs, [&](const TensorInfo &input) { return input.name == sparse.value; });
  bool hasValue = value != model->inputs.end();
  const SpaceInfo *columns = column ? model->findSpace(column->to) : nullptr;
  int64_t width = columns && columns->extent ? *columns->extent : -1;
  std::optional<int64_t> wanted = row ? extent(row->to) : std::nullopt;
  auto checkRows = [&](const FileTensor &tensor, int64_t found) -> llvm::Error {
    if (!wanted || found == *wanted)
      return llvm::Error::success();
    return wrong("tensor '" + tensor.name + "': expected " + llvm::Twine(*wanted) + " rows, as many as space '" +
                 row->to + "' has elements, found " + llvm::Twine(found));
  };
  if (width >= 0)
    if (const std::string *found = otherFeatureCount(*file, sparse.name, width))
      return wrong("input '" + sparse.name + "': expected " + llvm::Twine(width) + " features, found " + *found);

  llvm::Expected<std::optional<SparseRows>> rows = findSparseRows(*file, sparse.name);
  if (!rows)
    return rows.takeError();
  if (*rows) {
    if (llvm::Error error = checkRows(*(*rows)->pointers, (*rows)->rows()))
      return error;
    if (entries)
      extents.push_back({entries->name.c_str(), (*rows)->columns->elements});
    if (row)
      addIndex(*row, *(*rows)->pointers, 0, (*rows)->pointers->elements, GNNC_INDEX_ROWS);
    if (column)
      addIndex(*column, *(*rows)->columns, 0, (*rows)->columns->elements, GNNC_INDEX_EACH);
    return hasValue && (*rows)->values ? addValues(sparse.value, *(*rows)->values) : llvm::Error::success();
  }

  // Only the dense form: its entries are the elements that are not zero.
  const FileTensor *dense = file->find(sparse.name);
  if (!dense)
    return missing("tensors '" + sparse.name + "_indptr' and '" + sparse.name + "_indices'",
                   "input '" + sparse.name + "'");
  if (dense->shape.size() != 2 || (width >= 0 && dense->shape[1] != width) || !dense->type)
    return wrong("tensor '" + dense->name + "': expected numbers of shape " +
                 (width >= 0 ? "[rows, " + std::to_string(width) + "]" : std::string("[rows, columns]")) + ", found " +
                 dense->typeName + " " + formatShape(dense->shape));
  if (llvm::Error error = checkRows(*dense, dense->shape[0]))
    return error;
  if (dense->elements > INT32_MAX)
    return wrong("tensor '" + dense->name + "': expected fewer than 2^31 elements, found " +
                 llvm::Twine(dense->elements));
  llvm::Expected<HostTensor> numbers = HostTensor::convert(*dense, model->type);
  if (!numbers)
    return wrong(llvm::toString(numbers.takeError()));
  std::vector<int32_t> &pointers = madeIndices.emplace_back(1, 0), &places = madeIndices.emplace_back();
  std::vector<double> values;
  for (int64_t i = 0; i < dense->shape[0]; ++i) {
    for (int64_t j = 0; j < dense->shape[1]; ++j)
      if (double value = numbers->at(i * dense->shape[1] + j)) {
        places.push_back(int32_t(j));
        values.push_back(value);
      }
    pointers.push_back(int32_t(places.size()));
  }
  int64_t count = int64_t(values.size());
  llvm::Expected<HostTensor> made = HostTensor::create(sparse.value, hasValue ? value->type : model->type, {count});
  if (!made)
    return made.takeError();
  for (int64_t i = 0; i < count; ++i)
    made->set(i, values[i]);
  if (entries)
    extents.push_back({entries->name.c_str(), count});
  if (row)
    indices.push_back({row->name.c_str(), pointers.data(), int64_t(pointers.size()), 32, GNNC_INDEX_ROWS});
  if (column)
    indices.push_back({column->name.c_str(), places.data(), count, 32, GNNC_INDEX_EACH});
  converted.push_back(std::move(*made));
  if (hasValue)
    inputBindings.push_back(converted.back().binding());
  return llvm::Error::success();
}

llvm::Error BoundGraph::bindInput(const TensorInfo &input) {
  if (!input.source.empty())
    return bindComputedInput(input);
  if (input.numbers)
    return bindNumbers(input);
  if (!input.haloOf.empty())
    return bindHalo(input);
  if (const FileTensor *tensor = file->find(tensorNameOf(input)))
    return addValues(input.name, *tensor);

  llvm::Expected<std::optional<SparseRows>> rows = findSparseRows(*file, input.name);
  if (!rows)
    return rows.takeError();
  // Gradients of outputs are no data of a graph; the caller may have them from elsewhere.
  if (!*rows || input.dims.size() != 1)
    return input.optional || input.gradient ? llvm::Error::success()
                                            : missing("tensor '" + input.name + "'", "input '" + input.name + "'");

  int64_t width = input.dims[0];
  if (const std::string *found = otherFeatureCount(*file, input.name, width))
    return wrong("input '" + input.name + "': expected " + llvm::Twine(width) + " features, found " + *found);
  llvm::Expected<HostTensor> dense = HostTensor::create(input.name, input.type, {(*rows)->rows(), width});
  if (!dense)
    return dense.takeError();
  std::optional<HostTensor> values;
  if ((*rows)->values) {
    llvm::Expected<HostTensor> numbers = HostTensor::convert(*(*rows)->values, model->type);
    if (!numbers)
      return wrong(llvm::toString(numbers.takeError()));
    values = std::move(*numbers);
  }
  for (int64_t i = 0; i < (*rows)->rows(); ++i)
    for (int64_t k = indexAt(*(*rows)->pointers, i); k < indexAt(*(*rows)->pointers, i + 1); ++k) {
      int64_t j = indexAt(*(*rows)->columns, k);
      if (j < 0 || j >= width)
        return wrong("tensor '" + (*rows)->columns->name + "': expected columns below " + llvm::Twine(width) +
                     ", found " + llvm::Twine(j));
      // Repeated entries add up, as in scipy.
      dense->set(i * width + j, dense->at(i * width + j) + (values ? values->at(k) : 1.0));
    }
  converted.push_back(std::move(*dense));
  inputBindings.push_back({input.name.c_str(), converted.back().binding().tensor});
  return llvm::Error::success();
}
