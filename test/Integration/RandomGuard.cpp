//===- RandomGuard.cpp - Runs a model on guarded memory -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code has no sanitizer. Here the last byte of every tensor, of the workspace and of what the runtime
// allocates is followed by a page that may not be touched, and all memory holds NaNs (and indices of -1) to begin with:
// so a kernel that reads beyond a row's end, or something that nobody has written, is found out.
//
//===----------------------------------------------------------------------===//

#include "RandomTrial.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <unistd.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Pages that hold `bytes` up to the last one's end, aligned to 64 where asked, then a page without access.
class Guarded {
public:
  explicit Guarded(size_t bytes, size_t alignment = 1) {
    size_t page = size_t(sysconf(_SC_PAGESIZE));
    size_t room = (bytes + alignment - 1) / alignment * alignment;
    size = (room + page - 1) / page * page + page;
    base = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED)
      abort();
    mprotect(base + size - page, page, PROT_NONE);
    memory = base + size - page - room;
    std::memset(base, 0xFF, size - page);
  }
  Guarded(const Guarded &) = delete;
  ~Guarded() { munmap(base, size); }
  char *data() const { return memory; }

private:
  char *base, *memory;
  size_t size;
};

struct Blocks {
  std::deque<std::pair<void *, std::unique_ptr<Guarded>>> live;
};

void *allocate(size_t bytes, void *user) {
  auto block = std::make_unique<Guarded>(bytes, 64);
  void *data = block->data();
  static_cast<Blocks *>(user)->live.emplace_back(data, std::move(block));
  return data;
}

void release(void *memory, size_t, void *user) {
  auto &live = static_cast<Blocks *>(user)->live;
  live.erase(std::find_if(live.begin(), live.end(), [&](const auto &entry) { return entry.first == memory; }));
}

/// Tensors as the C interface wants them, each in memory of its own.
class Bindings {
public:
  explicit Bindings(ElementType type) : type(type) {}

  Guarded &add(const std::string &name, std::vector<int64_t> shape, size_t elements) {
    names.push_back(name);
    shapes.push_back(std::move(shape));
    memory.push_back(std::make_unique<Guarded>(elements * size_t(elementBytes(type))));
    gnnc_tensor tensor = {};
    tensor.data = memory.back()->data();
    tensor.device_type = 1;
    tensor.ndim = int32_t(shapes.back().size());
    tensor.dtype_code = 2;
    tensor.dtype_bits = uint8_t(8 * elementBytes(type));
    tensor.dtype_lanes = 1;
    tensor.shape = shapes.back().data();
    list.push_back({names.back().c_str(), tensor});
    return *memory.back();
  }
  void write(Guarded &to, const std::vector<double> &numbers) const {
    for (size_t i = 0; i < numbers.size(); ++i)
      if (type == ElementType::F64)
        reinterpret_cast<double *>(to.data())[i] = numbers[i];
      else
        reinterpret_cast<float *>(to.data())[i] = float(numbers[i]);
  }
  void read(const Guarded &from, std::vector<double> &numbers) const {
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = type == ElementType::F64 ? reinterpret_cast<const double *>(from.data())[i]
                                            : double(reinterpret_cast<const float *>(from.data())[i]);
  }

  std::vector<gnnc_binding> list;

private:
  ElementType type;
  std::deque<std::string> names;
  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::unique_ptr<Guarded>> memory;
};

/// The targets of root maps in the format that `variant` asks for: 32 or 64 bits, row pointers where they are sorted.
class Indices {
public:
  Indices(const Graph &graph, const ModelFile &file, int variant) {
    for (const auto &[name, targets] : graph.maps) {
      const MapInfo *map = file.info().findMap(name);
      std::vector<int64_t> numbers(targets.begin(), targets.end());
      bool rows = variant >= 2 && map && std::is_sorted(numbers.begin(), numbers.end()) &&
                  (numbers.empty() || numbers.front() >= 0);
      if (rows) {
        std::vector<int64_t> pointers(size_t(graph.extent(map->to)) + 1, 0);
        for (int64_t target : numbers)
          ++pointers[size_t(target) + 1];
        for (size_t j = 1; j < pointers.size(); ++j)
          pointers[j] += pointers[j - 1];
        numbers = pointers;
      }
      bool narrow = variant % 2 == 0;
      memory.push_back(std::make_unique<Guarded>(numbers.size() * (narrow ? 4 : 8)));
      for (size_t i = 0; i < numbers.size(); ++i)
        if (narrow)
          reinterpret_cast<int32_t *>(memory.back()->data())[i] = int32_t(numbers[i]);
        else
          reinterpret_cast<int64_t *>(memory.back()->data())[i] = numbers[i];
      list.push_back({name.c_str(), memory.back()->data(), int64_t(numbers.size()), narrow ? 32 : 64,
                      rows ? GNNC_INDEX_ROWS : GNNC_INDEX_EACH});
    }
  }
  std::vector<gnnc_index> list;

private:
  std::deque<std::unique_ptr<Guarded>> memory;
};

/// Leaves NaNs on the stack below the caller's, where kernels that it calls have their rows. Worker threads have stacks
/// of their own.
__attribute__((noinline)) void spoilStack() {
  volatile char rows[512 << 10];
  std::memset(const_cast<char *>(rows), 0xFF, sizeof(rows));
}

} // namespace

llvm::Expected<Tensors> test::runGuarded(const ModelFile &file, const Graph &graph, const Tensors &tensors, int threads,
                                         int variant) {
  const gnnc_api &api = file.api();
  Blocks blocks;
  gnnc_allocator allocator = {allocate, release, &blocks};
  gnnc_options options = {sizeof(gnnc_options), threads, &allocator, 0, 0, 0, 0, nullptr, nullptr};
  gnnc_error error = {};
  auto failure = [&] { return llvm::createStringError(llvm::Twine(error.message)); };
  gnnc_context *context = nullptr;
  if (api.open(&options, &context, &error))
    return failure();

  std::vector<gnnc_extent> extents;
  for (const auto &[name, extent] : graph.extents)
    extents.push_back({name.c_str(), extent});
  gnnc_graph *prepared = nullptr;
  {
    Indices indices(graph, file, variant); // Not kept after prepare.
    gnnc_graph_desc description = {sizeof(gnnc_graph_desc),
                                   int32_t(extents.size()),
                                   extents.data(),
                                   int32_t(indices.list.size()),
                                   indices.list.data(),
                                   0,
                                   nullptr,
                                   nullptr,
                                   nullptr};
    if (api.prepare(context, &description, &prepared, &error)) {
      api.close(context);
      return failure();
    }
  }

  Bindings inputs(file.info().type), outputs(file.info().type);
  for (const auto &[name, tensor] : tensors)
    inputs.write(inputs.add(name, tensor.shape, tensor.data.size()), tensor.data);
  std::vector<std::pair<Tensor, const Guarded *>> results;
  bool gradient = file.info().findProgram("gradient");
  const std::vector<TensorInfo> &wanted = file.info().findProgram(gradient ? "gradient" : "forward")->outputs;
  for (const TensorInfo &output : wanted) {
    std::vector<int64_t> shape;
    if (output.space)
      shape.push_back(api.extent(prepared, output.space->c_str()));
    shape.insert(shape.end(), output.dims.begin(), output.dims.end());
    Tensor tensor = Tensor::zeros(shape);
    const Guarded &memory = outputs.add(output.name, shape, tensor.data.size());
    results.emplace_back(std::move(tensor), &memory);
  }
  const char *program = gradient ? "gradient" : "forward";
  size_t bytes = 0;
  gnnc_status status = api.workspace_size(prepared, program, &bytes, &error);
  Guarded workspace(bytes, 64);
  if (!status) {
    spoilStack();
    status = api.run(context, prepared, program, inputs.list.data(), int32_t(inputs.list.size()), outputs.list.data(),
                     int32_t(outputs.list.size()), workspace.data(), bytes, /*stream=*/nullptr, &error);
  }
  api.free_graph(prepared);
  api.close(context);
  if (status)
    return failure();
  if (!blocks.live.empty())
    return llvm::createStringError("the runtime kept " + llvm::Twine(blocks.live.size()) + " blocks of memory");
  Tensors computed;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.read(*results[i].second, results[i].first.data);
    computed[wanted[i].name] = std::move(results[i].first);
  }
  return computed;
}
