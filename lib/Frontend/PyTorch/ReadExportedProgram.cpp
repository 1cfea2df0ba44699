//===- ReadExportedProgram.cpp - Reads a .pt2 archive ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In four steps: the archive's directory, its versions and byte order, the tensors, the graph. Whatever is no program
// of torch.export is told by what the archive contains, so that the error says what to do.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/ReadExportedProgram.h"
#include "PyTorch/Archive.h"
#include "PyTorch/BoundedJSON.h"
#include "PyTorch/SchemaReader.h"
#include "PyTorch/StoredTensors.h"
#include "gnnc/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace gnnc;
using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr const char *kModel = "models/model.json";
static constexpr const char *kWeights = "data/weights/", *kWeightsConfig = "data/weights/model_weights_config.json";
static constexpr const char *kConstants = "data/constants/",
                            *kConstantsConfig = "data/constants/model_constants_config.json";
static constexpr uint64_t kMaxModelBytes = uint64_t(128) << 20;

static constexpr const char *kAgain = "; export it again with torch 2.9 or newer";

/// An entry of a few bytes that must be `wanted`.
static Error checkEntry(Archive &archive, const char *name, StringRef wanted) {
  Expected<std::string> text = archive.readText(name, 100);
  if (!text)
    return text.takeError();
  StringRef found = StringRef(*text).trim();
  if (found == wanted)
    return Error::success();
  return archive.error(name, "expected " + wanted + ", found " + quoteName(found));
}

static Error checkLayout(Archive &archive) {
  if (archive.has("serialized_exported_program.json"))
    return archive.error("", Twine("written by torch 2.7 or older, which pickles weights") + kAgain);
  if (!archive.has("archive_format") && (archive.has("data.pkl") || archive.has("constants.pkl")))
    return archive.error("", "expected a program of torch.export.save, found a file of torch.save or torch.jit.save");
  if (Error error = checkEntry(archive, "archive_format", "pt2"))
    return error;
  if (archive.has("archive_version"))
    if (Error error = checkEntry(archive, "archive_version", "0"))
      return error;
  if (Error error = checkEntry(archive, "byteorder", "little"))
    return error;
  if (!archive.has(kModel) &&
      llvm::any_of(archive.names(), [](StringRef name) { return name.starts_with("data/aotinductor/"); }))
    return archive.error("", "expected a program of torch.export.save, found compiled code of AOTInductor");
  return Error::success();
}

Expected<ExportedProgram> gnnc::frontend::pytorch::parseExportedProgram(std::unique_ptr<llvm::MemoryBuffer> bytes,
                                                                        const std::string &path) {
  Expected<Archive> archive = Archive::open(std::move(bytes), path);
  if (!archive)
    return archive.takeError();
  if (Error error = checkLayout(*archive))
    return std::move(error);
  Expected<std::string> text = archive->readText(kModel, kMaxModelBytes);
  if (!text)
    return text.takeError();
  Expected<json> document = parseBounded(*text);
  if (!document)
    return archive->error(kModel, llvm::toString(document.takeError()));
  text->clear();
  text->shrink_to_fit();

  ExportedProgram program;
  program.path = path;
  SchemaReader reader(program);
  if (!reader.readVersions(*document))
    return archive->error(kModel, reader.message());
  if (!archive->has(kWeightsConfig))
    return archive->error("", "written by torch " + program.torchVersion + " (schema " + Twine(program.schemaMajor) +
                                  "." + Twine(program.schemaMinor) + "), which pickles weights" + kAgain);
  if (Error error = readStoredTensors(*archive, kWeightsConfig, kWeights, program))
    return std::move(error);
  if (archive->has(kConstantsConfig))
    if (Error error = readStoredTensors(*archive, kConstantsConfig, kConstants, program))
      return std::move(error);
  if (!reader.readProgram(*document))
    return archive->error(kModel, reader.message());
  return program;
}

Expected<ExportedProgram> gnnc::frontend::pytorch::readExportedProgram(const std::string &path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
  if (!bytes)
    return bytes.takeError();
  return parseExportedProgram(std::move(*bytes), path);
}

const Argument *Node::find(const std::string &argument) const {
  for (const NamedArgument &each : arguments)
    if (each.name == argument)
      return &each.value;
  return nullptr;
}
