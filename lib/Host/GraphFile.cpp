//===- GraphFile.cpp - A graph file as a model wants it -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstring>
#include <numeric>

using namespace gnnc;

llvm::Expected<BoundGraph> BoundGraph::create(const SafetensorsFile &file, const ModelInfo &model,
                                              llvm::StringRef program) {
  BoundGraph graph(file, model);
  graph.program = model.findProgram(program);
  if (!graph.program && program == "train_step")
    return llvm::createStringError("model '" + model.name +
                                   "' has no program 'train_step': expected a model with a loss and a train statement");
  if (!graph.program && !model.programs.empty())
    return llvm::createStringError("model '" + model.name + "' has no program '" + program + "': expected one of " +
                                   llvm::join(llvm::map_range(model.programs, [](auto &p) { return p.name; }), ", "));
  if (llvm::Error error = graph.readPart())
    return std::move(error);
  if (llvm::Error error = graph.bindExtents())
    return std::move(error);
  if (llvm::Error error = graph.bindMaps())
    return std::move(error);
  if (llvm::Error error = graph.bindInputs())
    return std::move(error);
  return std::move(graph);
}

llvm::Error BoundGraph::readPart() {
  llvm::Expected<GraphPart> part = GraphPart::read(*file);
  if (!part)
    return part.takeError();
  if (llvm::Error error = part->check(*model))
    return error;
  filePart.emplace(std::move(*part));
  llvm::Expected<std::vector<gnnc_row_counts>> rows = filePart->rowCounts(*model);
  if (!rows)
    return rows.takeError();
  counts = std::move(*rows);
  return llvm::Error::success();
}

bool BoundGraph::isOfOtherRanks(llvm::StringRef name) const {
  return filePart->parts() == 1 && model->haloRole(name).second != HaloRole::None;
}

gnnc_graph_desc BoundGraph::description() const {
  return {sizeof(gnnc_graph_desc),
          int32_t(extents.size()),
          extents.data(),
          int32_t(indices.size()),
          indices.data(),
          0,
          nullptr,
          nullptr,
          nullptr};
}

std::optional<int64_t> BoundGraph::extent(llvm::StringRef space) const {
  for (const gnnc_extent &known : extents)
    if (space == known.space)
      return known.extent;
  return std::nullopt;
}

bool BoundGraph::isNeeded(llvm::StringRef name) const {
  return !program || llvm::is_contained(program->inputs, name) || llvm::is_contained(program->needs, name);
}

llvm::Error BoundGraph::ifNeeded(llvm::StringRef name, llvm::Error error) const {
  if (isNeeded(name))
    return error;
  llvm::consumeError(std::move(error));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Looking into the file
//===----------------------------------------------------------------------===//

llvm::Error BoundGraph::missing(const llvm::Twine &what, const llvm::Twine &neededBy) const {
  return llvm::createStringError("graph '" + file->path() + "' has no " + what + ", needed by " + neededBy);
}

llvm::Error BoundGraph::wrong(const llvm::Twine &what) const {
  return llvm::createStringError("graph '" + file->path() + "': " + what);
}

llvm::Expected<const FileTensor *> BoundGraph::findIndices(llvm::StringRef name, size_t rank) const {
  const FileTensor *tensor = file->find(name);
  if (!tensor)
    return nullptr;
  if (!tensor->type || isFloat(*tensor->type))
    return wrong("tensor '" + name + "': expected dtype I32 or I64, found " + tensor->typeName);
  if (tensor->shape.size() != rank || (rank == 2 && tensor->shape[0] != 2))
    return wrong("tensor '" + name + "': expected shape " + (rank == 2 ? "[2, E]" : "[E]") + ", found " +
                 formatShape(tensor->shape));
  return tensor;
}

const SparseInfo *BoundGraph::sparseInputOfSpace(llvm::StringRef space) const {
  auto found = llvm::find_if(model->sparseInputs, [&](const SparseInfo &sparse) { return sparse.entries == space; });
  return found == model->sparseInputs.end() ? nullptr : &*found;
}

const SparseInfo *BoundGraph::sparseInputOfMap(llvm::StringRef map) const {
  auto found = llvm::find_if(model->sparseInputs,
                             [&](const SparseInfo &sparse) { return sparse.row == map || sparse.column == map; });
  return found == model->sparseInputs.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// What the model says how to compute
//===----------------------------------------------------------------------===//

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
    sources = std::make_shared<GraphSources>([file = file](llvm::StringRef name) -> std::optional<SourceTensor> {
      const FileTensor *tensor = file->find(name);
      if (!tensor)
        return std::nullopt;
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

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// The relation that `follows.src` belongs to; empty for other names.
static llvm::StringRef relationOf(llvm::StringRef map) {
  return map.ends_with(".src") || map.ends_with(".dst") ? map.drop_back(4) : llvm::StringRef();
}

/// The tensor that a map's data is usually under; the rows of a relation are one tensor.
static std::string dataNameOf(const MapInfo &map) {
  if (map.name == "src" || map.name == "dst")
    return "edge_index";
  if (llvm::StringRef relation = relationOf(map.name); !relation.empty())
    return relation.str();
  return map.name == "etype"   ? "edge_type"
         : map.name == "ntype" ? "node_type"
         : map.name == "batch" ? "graph_ptr"
         : map.name == "label" ? "y"
                               : map.name;
}

/// The tensor with one target of a map for each element.
static std::string targetsNameOf(const MapInfo &map, const SafetensorsFile &file) {
  bool isOther = map.name == "etype" || map.name == "ntype" || (map.name == "label" && !file.find("label"));
  return isOther ? dataNameOf(map) : map.name;
}

llvm::Error BoundGraph::bindExtents() {
  for (const SpaceInfo &space : model->spaces) {
    bool given = space.kind == "root" && !sparseInputOfSpace(space.name);
    if (space.kind == "static" && space.extent)
      extents.push_back({space.name.c_str(), *space.extent});
    if (!given)
      continue;
    llvm::Expected<int64_t> extent = findExtent(space);
    if (extent)
      extents.push_back({space.name.c_str(), *extent});
    else if (llvm::Error error = ifNeeded(space.name, extent.takeError()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> BoundGraph::findExtent(const SpaceInfo &space) {
  std::string neededBy = "space '" + space.name + "'";
  if (!space.source.empty()) {
    llvm::Expected<std::shared_ptr<const Integers>> extent = compute(space.source, neededBy);
    if (!extent)
      return extent.takeError();
    if ((*extent)->isList)
      return wrong(neededBy + ", from " + space.source + ": expected a number, found a list");
    return (*extent)->numbers[0];
  }
  if (isOfOtherRanks(space.name))
    return 0;
  if (space.name == "edge") {
    llvm::Expected<const FileTensor *> edges = findIndices("edge_index", 2);
    if (!edges)
      return edges.takeError();
    if (!*edges)
      return missing("tensor 'edge_index'", neededBy);
    return (*edges)->shape[1];
  }
  if (space.name == "graph") {
    llvm::Expected<const FileTensor *> pointers = findIndices("graph_ptr", 1);
    if (!pointers)
      return pointers.takeError();
    if (*pointers)
      return std::max<int64_t>((*pointers)->elements - 1, 0);
  }

  std::string key = "num_" + space.name + "s";
  if (const std::string *text = file->findMetadata(key)) {
    int64_t extent = 0;
    if (llvm::StringRef(*text).getAsInteger(10, extent) || extent < 0)
      return wrong("metadata '" + key + "': expected a number of elements, found '" + *text + "'");
    return extent;
  }
  llvm::Expected<const FileTensor *> given = findIndices(space.name + ".extent", 1);
  if (!given)
    return given.takeError();
  if (*given && (*given)->elements > 0)
    return *(*given)->type == ElementType::I32 ? int64_t((*given)->as<int32_t>()[0]) : (*given)->as<int64_t>()[0];

  const MapInfo *starting = nullptr;
  for (const MapInfo &map : model->maps) {
    if (map.kind != "root" || map.from != space.name)
      continue;
    starting = starting ? starting : &map;
    if (const FileTensor *each = file->find(targetsNameOf(map, *file)); each && each->shape.size() == 1)
      return each->elements;
    if (const FileTensor *rows = file->find(relationOf(map.name)); rows && rows->shape.size() == 2)
      return rows->shape[1];
  }
  // Where a map starts, its data tells the extent: that is what to ask for.
  if (starting)
    return missing("tensor '" + dataNameOf(*starting) + "'", "map '" + starting->name + "'");
  return missing("'" + llvm::Twine(key) + "' in its metadata", neededBy);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

llvm::Error BoundGraph::bindMaps() {
  for (const MapInfo &map : model->maps)
    if (map.kind == "root" && !sparseInputOfMap(map.name))
      if (llvm::Error error = ifNeeded(map.name, bindMap(map)))
        return error;
  return llvm::Error::success();
}

void BoundGraph::addIndex(const MapInfo &map, const FileTensor &tensor, int64_t begin, int64_t length, int32_t format) {
  int64_t bytes = elementBytes(*tensor.type);
  const char *data = static_cast<const char *>(tensor.data) + begin * bytes;
  indices.push_back({map.name.c_str(), data, length, int32_t(8 * bytes), format});
}

llvm::Error BoundGraph::bindMap(const MapInfo &map) {
  if (!map.source.empty())
    return bindComputedMap(map);
  if (isOfOtherRanks(map.name)) {
    static const int64_t none = 0;
    indices.push_back({map.name.c_str(), &none, 0, 64, GNNC_INDEX_EACH});
    return llvm::Error::success();
  }
  // In three forms, tried in this order: one target for each element, a row of a relation, row pointers.
  std::string name = dataNameOf(map);
  bool isEnd = map.name == "src" || map.name == "dst";
  llvm::Expected<const FileTensor *> tensor = isEnd ? nullptr : findIndices(targetsNameOf(map, *file), 1);
  if (!tensor)
    return tensor.takeError();
  if (*tensor) {
    addIndex(map, **tensor, 0, (*tensor)->elements, GNNC_INDEX_EACH);
    return llvm::Error::success();
  }
  if (isEnd || !relationOf(map.name).empty()) {
    tensor = findIndices(name, 2);
    if (!tensor)
      return tensor.takeError();
    if (*tensor) {
      int64_t length = (*tensor)->shape[1];
      addIndex(map, **tensor, llvm::StringRef(map.name).ends_with("dst") ? length : 0, length, GNNC_INDEX_EACH);
      return llvm::Error::success();
    }
  }
  if (map.name == "batch") {
    tensor = findIndices(name, 1);
    if (!tensor)
      return tensor.takeError();
    if (*tensor) {
      addIndex(map, **tensor, 0, (*tensor)->elements, GNNC_INDEX_ROWS);
      return llvm::Error::success();
    }
  }
  return missing("tensor '" + name + "'", "map '" + map.name + "'");
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

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
