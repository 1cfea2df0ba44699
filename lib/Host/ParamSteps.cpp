//===- ParamSteps.cpp - Making one parameter by the steps of its rule -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParamsMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cassert>
#include <cstring>
#include <numeric>

using namespace gnnc;

namespace {

/// Makes one parameter. Errors start with the parameter's name and wanted shape.
class Maker {
public:
  Maker(const ParamShape &param, ElementType type, const SafetensorsFile &file, const ParamRule &rule)
      : param(param), type(type), file(file), rule(rule) {}

  llvm::Expected<HostTensor> make();

private:
  llvm::Error fail(const llvm::Twine &what) const {
    return llvm::createStringError("parameter '" + param.info->name + "' " + formatShape(param.sizes) + " from '" +
                                   file.path() + "': " + what);
  }
  llvm::Expected<HostTensor> take(const std::string &name);
  llvm::Expected<HostTensor> combine(std::vector<HostTensor> parts);
  llvm::Expected<int64_t> productOf(llvm::StringRef axes, const std::string &source) const;

  llvm::Expected<HostTensor> apply(const ReshapeStep &step, HostTensor tensor) const;
  llvm::Expected<HostTensor> apply(const TransposeStep &step, HostTensor tensor) const;
  llvm::Expected<HostTensor> apply(const SliceStep &step, HostTensor tensor) const;
  llvm::Expected<HostTensor> apply(const IndexStep &step, HostTensor tensor) const;

  const ParamShape &param;
  ElementType type;
  const SafetensorsFile &file;
  const ParamRule &rule;
};

} // namespace

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
}

/// Whether `from` becomes `to` by dropping and adding axes of size 1, splitting one axis or merging several: changes
/// that cannot mix up axes. A transposed weight is not let through even where the numbers of elements agree.
static bool fits(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  auto isNotOne = [](int64_t size) { return size != 1; };
  llvm::SmallVector<int64_t> a(llvm::make_filter_range(from, isNotOne)), b(llvm::make_filter_range(to, isNotOne));
  if (a == b)
    return true;
  if (product(from) != product(to) || product(from) == 0)
    return false;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    int64_t sizeA = a[i++], sizeB = b[j++];
    unsigned countA = 1, countB = 1;
    while (sizeA != sizeB) {
      if (sizeA < sizeB) {
        if (i == a.size())
          return false;
        sizeA *= a[i++], ++countA;
      } else {
        if (j == b.size())
          return false;
        sizeB *= b[j++], ++countB;
      }
    }
    if (countA > 1 && countB > 1)
      return false;
  }
  return i == a.size() && j == b.size();
}

llvm::Expected<int64_t> Maker::productOf(llvm::StringRef axes, const std::string &source) const {
  llvm::SmallVector<llvm::StringRef> names;
  axes.split(names, '*');
  size_t lead = param.sizes.size() - param.info->dims.size();
  int64_t result = 1;
  for (llvm::StringRef name : names) {
    name = name.trim();
    auto found = llvm::find(param.info->axes, name);
    if (lead == 1 && name == *param.info->space)
      result *= param.sizes[0];
    else if (found != param.info->axes.end())
      result *= param.sizes[lead + (found - param.info->axes.begin())];
    else
      return fail("reshape of '" + source + "': expected an axis of the parameter (" +
                  llvm::join(param.info->axes, ", ") + "), found '" + name + "'");
  }
  return result;
}

llvm::Expected<HostTensor> Maker::apply(const ReshapeStep &step, HostTensor tensor) const {
  std::vector<int64_t> sizes;
  int64_t *open = nullptr;
  for (const SizeRule &rule : step.sizes) {
    if (const auto *axes = std::get_if<std::string>(&rule)) {
      llvm::Expected<int64_t> size = productOf(*axes, tensor.name());
      if (!size)
        return size.takeError();
      sizes.push_back(*size);
    } else {
      sizes.push_back(std::get<int64_t>(rule));
    }
  }
  unsigned openCount = llvm::count(sizes, -1);
  std::vector<int64_t> known = sizes;
  if (openCount == 1) {
    open = &*llvm::find(sizes, -1);
    *llvm::find(known, -1) = 1;
  }
  std::optional<int64_t> count = countElements(known);
  if (open && count && *count > 0 && tensor.elements() % *count == 0)
    *open = tensor.elements() / *count;
  if (countElements(sizes) != tensor.elements())
    return fail("reshape of '" + tensor.name() + "': expected sizes for the elements of " +
                formatShape(tensor.shape()) + ", found " + formatShape(sizes));
  tensor.setShape(sizes);
  return std::move(tensor);
}

llvm::Expected<HostTensor> Maker::apply(const TransposeStep &step, HostTensor tensor) const {
  llvm::ArrayRef<int64_t> from = tensor.shape();
  std::vector<int64_t> order = step.order;
  if (order.empty()) {
    order.resize(from.size());
    std::iota(order.begin(), order.end(), int64_t(0));
    if (order.size() < 2)
      return fail("transpose of '" + tensor.name() + "': expected two or more axes, found " + formatShape(from));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  std::vector<int64_t> sorted = order;
  llvm::sort(sorted);
  bool isPermutation = sorted.size() == from.size();
  for (size_t i = 0; i < sorted.size(); ++i)
    isPermutation &= sorted[i] == int64_t(i);
  if (!isPermutation)
    return fail("transpose of '" + tensor.name() + "': expected the axes of " + formatShape(from) +
                " in some order, found " + formatShape(order));

  std::vector<int64_t> sizes, strides(from.size(), 1), fromStrides(from.size(), 1);
  for (size_t i = from.size(); i-- > 1;)
    fromStrides[i - 1] = fromStrides[i] * from[i];
  for (size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(from[order[i]]);
    strides[i] = fromStrides[order[i]];
  }
  llvm::Expected<HostTensor> result = HostTensor::create(tensor.name(), type, sizes);
  if (!result)
    return result.takeError();
  // An odometer over the result; `at` is the source's element under it.
  std::vector<int64_t> position(sizes.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < result->elements(); ++i) {
    result->set(i, tensor.at(at));
    for (size_t axis = sizes.size(); axis-- > 0;) {
      at += strides[axis];
      if (++position[axis] < sizes[axis])
        break;
      at -= strides[axis] * sizes[axis];
      position[axis] = 0;
    }
  }
  return result;
}

llvm::Expected<HostTensor> Maker::apply(const SliceStep &step, HostTensor tensor) const {
  llvm::ArrayRef<int64_t> from = tensor.shape();
  bool inside = step.axis >= 0 && step.axis < int64_t(from.size()) && step.begin >= 0 && step.begin <= step.end &&
                step.end <= from[step.axis];
  if (!inside)
    return fail("slice of '" + tensor.name() + "': expected [axis, begin, end] within " + formatShape(from) +
                ", found " + formatShape({step.axis, step.begin, step.end}));
  std::vector<int64_t> sizes = from.vec();
  sizes[step.axis] = step.end - step.begin;
  llvm::Expected<HostTensor> result = HostTensor::create(tensor.name(), type, sizes);
  if (!result)
    return result.takeError();
  int64_t outer = product(from.take_front(step.axis)), inner = product(from.drop_front(step.axis + 1));
  size_t row = size_t(inner * elementBytes(type));
  for (int64_t i = 0; i < outer; ++i)
    std::memcpy(static_cast<char *>(result->data()) + i * sizes[step.axis] * row,
                static_cast<const char *>(tensor.data()) + (i * from[step.axis] + step.begin) * row,
                sizes[step.axis] * row);
  return result;
}

llvm::Expected<HostTensor> Maker::apply(const IndexStep &step, HostTensor tensor) const {
  if (step.index == INT64_MAX)
    return fail("index of '" + tensor.name() + "': expected a place within " + formatShape(tensor.shape()));
  llvm::Expected<HostTensor> one = apply(SliceStep{step.axis, step.index, step.index + 1}, std::move(tensor));
  if (!one)
    return one.takeError();
  std::vector<int64_t> sizes = one->shape().vec();
  sizes.erase(sizes.begin() + step.axis);
  one->setShape(sizes);
  return one;
}

llvm::Expected<HostTensor> Maker::take(const std::string &name) {
  const FileTensor *source = file.find(name);
  if (!source)
    return fail("expected a tensor '" + name + "', found none");
  if (!source->type)
    return fail("tensor '" + name + "': expected dtype F32, F64, BF16, F16, I32 or I64, found " + source->typeName);
  llvm::Expected<HostTensor> tensor = HostTensor::convert(*source, type);
  for (const Step &step : rule.steps) {
    if (!tensor)
      return tensor;
    tensor = std::visit([&](const auto &s) { return apply(s, std::move(*tensor)); }, step);
  }
  return tensor;
}

/// Stacks or joins the parts.
llvm::Expected<HostTensor> Maker::combine(std::vector<HostTensor> parts) {
  int64_t axis = rule.concat.value_or(0);
  for (HostTensor &part : parts) {
    std::vector<int64_t> sizes = part.shape().vec();
    if (rule.stack)
      sizes.insert(sizes.begin(), 1);
    part.setShape(sizes);
  }
  std::vector<int64_t> sizes = parts[0].shape().vec();
  if (axis < 0 || axis >= int64_t(sizes.size()))
    return fail("concat of '" + parts[0].name() + "': expected an axis of " + formatShape(sizes) + ", found " +
                llvm::Twine(axis));
  sizes[axis] = 0;
  for (const HostTensor &part : parts) {
    std::vector<int64_t> expected = parts[0].shape().vec();
    if (part.shape().size() == expected.size())
      expected[axis] = part.shape()[axis];
    if (part.shape() != llvm::ArrayRef<int64_t>(expected))
      return fail("expected '" + part.name() + "' to have the shape of '" + parts[0].name() + "', " +
                  formatShape(parts[0].shape()) + ", found " + formatShape(part.shape()));
    sizes[axis] += part.shape()[axis];
  }
  llvm::Expected<HostTensor> result = HostTensor::create(param.info->name, type, sizes);
  if (!result)
    return result.takeError();
  int64_t outer = product(llvm::ArrayRef(sizes).take_front(axis));
  auto *to = static_cast<char *>(result->data());
  for (int64_t i = 0; i < outer; ++i)
    for (const HostTensor &part : parts) {
      size_t bytes = part.bytes() / size_t(outer);
      std::memcpy(to, static_cast<const char *>(part.data()) + size_t(i) * bytes, bytes);
      to += bytes;
    }
  return result;
}

llvm::Expected<HostTensor> Maker::make() {
  if (rule.fill) {
    llvm::Expected<HostTensor> filled = HostTensor::create(param.info->name, type, param.sizes);
    if (filled)
      for (int64_t i = 0; i < filled->elements(); ++i)
        filled->set(i, *rule.fill);
    return filled;
  }
  std::vector<HostTensor> parts;
  for (const std::string &name : rule.from) {
    llvm::Expected<HostTensor> part = take(name);
    if (!part)
      return part;
    parts.push_back(std::move(*part));
  }
  std::string source = rule.from[0];
  bool joins = rule.stack || rule.concat;
  llvm::Expected<HostTensor> whole = joins ? combine(std::move(parts)) : std::move(parts[0]);
  if (!whole)
    return whole;
  if (!fits(whole->shape(), param.sizes))
    return fail("expected shape " + formatShape(param.sizes) + ", found " + formatShape(whole->shape()) + " in '" +
                source + "'" + (rule.steps.empty() && !joins ? "" : " after its steps"));
  whole->setShape(param.sizes);
  whole->setName(param.info->name);
  return whole;
}

llvm::Expected<HostTensor> gnnc::makeParameter(const ParamShape &param, ElementType type, const SafetensorsFile &file,
                                               const ParamRule &rule) {
  return Maker(param, type, file, rule).make();
}
