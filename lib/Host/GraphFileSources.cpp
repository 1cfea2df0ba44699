//===- GraphFileSources.cpp - What a model computes from the file ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;

/// Integers or truth values of a file's tensor.
static llvm::Expected<std::vector<int64_t>> readIntegers(const FileTensor &tensor) {
  std::vector<int64_t> numbers(static_cast<size_t>(tensor.elements));
  for (int64_t i = 0; i < tensor.elements; ++i)
    if (tensor.type == ElementType::I32)
      numbers[size_t(i)] = tensor.as<int32_t>()[size_t(i)];
    else if (tensor.type == ElementType::I64)
      numbers[size_t(i)] = tensor.as<int64_t>()[size_t(i)];
    else if (tensor.typeName == "BOOL" || tensor.typeName == "U8")
      numbers[size_t(i)] = static_cast<const uint8_t *>(tensor.data)[i];
    else
      return llvm::createStringError("tensor '" + tensor.name + "': expected dtype I32, I64, U8 or BOOL, found " +
                                     tensor.typeName);
  return numbers;
}

llvm::Expected<std::shared_ptr<const Integers>> BoundGraph::compute(llvm::StringRef source,
                                                                    const llvm::Twine &neededBy) {
  if (!sources)
    sources = std::make_shared<GraphSources>(
        [file = file, model = model](llvm::StringRef name) -> std::optional<SourceTensor> {
          const FileTensor *tensor = file->find(name);
          if (!tensor) {
            auto own = llvm::find_if(model->integers, [&](const IntegersInfo &each) { return each.name == name; });
            if (own == model->integers.end())
              return std::nullopt;
            return SourceTensor{own->shape,
                                [&numbers = own->numbers] { return llvm::Expected<std::vector<int64_t>>(numbers); }};
          }
          return SourceTensor{tensor->shape, [tensor] { return readIntegers(*tensor); }};
        });
  llvm::Expected<std::shared_ptr<const Integers>> result = sources->evaluate(source);
  if (!result)
    return wrong(neededBy + ", from " + source + ": " + llvm::toString(result.takeError()));
  return result;
}

llvm::Error BoundGraph::bindComputedMap(const MapInfo &map) {
  llvm::Expected<std::shared_ptr<const Integers>> targets = compute(map.source, "map '" + map.name + "'");
  if (!targets)
    return targets.takeError();
  if (!(*targets)->isList)
    return wrong("map '" + map.name + "', from " + map.source + ": expected a list, found a number");
  computed.push_back(*targets);
  const std::vector<int64_t> &numbers = (*targets)->numbers;
  indices.push_back({map.name.c_str(), numbers.data(), int64_t(numbers.size()), 64, GNNC_INDEX_EACH});
  return llvm::Error::success();
}

llvm::Error BoundGraph::bindComputedInput(const TensorInfo &input) {
  llvm::Expected<std::shared_ptr<const Integers>> numbers = compute(input.source, "input '" + input.name + "'");
  if (!numbers)
    return numbers.takeError();
  std::vector<int64_t> shape;
  if (input.space)
    shape.push_back(int64_t((*numbers)->numbers.size()));
  shape.insert(shape.end(), input.dims.begin(), input.dims.end());
  if (countElements(shape) != int64_t((*numbers)->numbers.size()))
    return wrong("input '" + input.name + "', from " + input.source + ": expected numbers of shape " +
                 formatShape(shape) + ", found " + llvm::Twine((*numbers)->numbers.size()));
  llvm::Expected<HostTensor> tensor = HostTensor::create(input.name, input.type, shape);
  if (!tensor)
    return tensor.takeError();
  for (auto [i, value] : llvm::enumerate((*numbers)->numbers))
    tensor->set(int64_t(i), double(value));
  converted.push_back(std::move(*tensor));
  inputBindings.push_back({input.name.c_str(), converted.back().binding().tensor});
  return llvm::Error::success();
}
