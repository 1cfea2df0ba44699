//===- FuzzArchives.cpp - Programs of torch.export in archives ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An archive is refused in one line, or all that its program refers to is there. Inputs that are no zip archive are
// taken as a table of entries, `name NUL length text`: mutations of a zip archive hardly get beyond its check sums.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "PyTorch/ReadExportedProgram.h"

#include <zip.h>

#include <cstring>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

/// The archive of the entries that the bytes list; empty if they list none.
static std::string packed(llvm::StringRef bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *memory = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t *archive = zip_open_from_source(memory, ZIP_TRUNCATE, &error);
  require(archive != nullptr, "an archive in memory");
  zip_source_keep(memory);
  while (!bytes.empty()) {
    auto [name, rest] = bytes.split('\0');
    if (rest.size() < 3)
      break;
    size_t length =
        size_t((unsigned char)rest[0]) | size_t((unsigned char)rest[1]) << 8 | size_t((unsigned char)rest[2]) << 16;
    llvm::StringRef text = rest.substr(3, length);
    bytes = rest.drop_front(3 + text.size());
    zip_source_t *source = zip_source_buffer(archive, text.data(), text.size(), 0);
    zip_int64_t index = zip_file_add(archive, ("m/" + name).str().c_str(), source, 0);
    if (index < 0)
      zip_source_free(source); // such as a name twice
    else
      zip_set_file_compression(archive, zip_uint64_t(index), ZIP_CM_STORE, 0);
  }
  std::string result;
  zip_stat_t status;
  if (zip_close(archive) != 0) {
    zip_discard(archive);
  } else if (zip_source_stat(memory, &status) == 0 && zip_source_open(memory) == 0) {
    result.resize(status.size);
    zip_source_read(memory, result.data(), result.size());
    zip_source_close(memory);
  }
  zip_source_free(memory);
  return result;
}

static void checkArgument(const Graph &graph, const Argument &argument);

/// Every name that is used is a tensor or a number of the graph.
static void checkGraph(const Graph &graph) {
  for (const Node &node : graph.nodes)
    for (const NamedArgument &each : node.arguments)
      checkArgument(graph, each.value);
  for (const Argument &output : graph.outputs)
    checkArgument(graph, output);
}

static void checkArgument(const Graph &graph, const Argument &argument) {
  if (const auto *inner = std::get_if<std::shared_ptr<const Graph>>(&argument))
    checkGraph(**inner);
  if (const auto *names = std::get_if<ValueNames>(&argument))
    for (const std::string &name : names->names)
      require(name.empty() || graph.tensors.count(name), "a tensor of this name");
}

static void checkTensor(const StoredTensor &tensor) {
  size_t end = size_t(tensor.offset) + 1;
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    int64_t size = *tensor.meta.sizes[i].literal();
    if (size == 0)
      return;
    end += size_t(size - 1) * size_t(tensor.strides[i]);
  }
  size_t bytes = size_t(bytesOf(tensor.meta.type));
  require(end * bytes <= tensor.storage->size(), "a tensor within its storage");
  touch(tensor.storage->data() + (end - 1) * bytes, bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::string archive = bytes.starts_with("PK") ? bytes.str() : packed(bytes);
  llvm::Expected<ExportedProgram> program = parseExportedProgram(llvm::MemoryBuffer::getMemBufferCopy(archive), "fuzz");
  if (!program) {
    checkMessage(program.takeError());
    return 0;
  }
  checkGraph(program->graph);
  for (const auto &[name, tensor] : program->tensors)
    checkTensor(tensor);
  require(program->inputs.size() == program->graph.inputs.size(), "a signature of all inputs");
  return 0;
}
