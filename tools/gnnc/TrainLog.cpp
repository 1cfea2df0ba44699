//===- TrainLog.cpp - A line of JSON for each epoch -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainLog.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace gnnc;

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write '" + path + "': " + code.message());
}

/// Whether a line was written for an epoch up to `last`.
static bool isUpTo(llvm::StringRef line, int64_t last) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError()); // A line that was cut off with its process.
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  std::optional<int64_t> epoch = object ? object->getInteger("epoch") : std::nullopt;
  return epoch && *epoch <= last;
}

/// Takes the lines after epoch `last` out of a log that is there.
static llvm::Error dropAfter(llvm::StringRef path, int64_t last) {
  if (!llvm::sys::fs::is_regular_file(path))
    return llvm::Error::success();
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read '" + path + "': " + buffer.getError().message());
  return writeOutputFile(path, [&](llvm::raw_ostream &out) {
    for (llvm::line_iterator line(**buffer); !line.is_at_end() && isUpTo(*line, last); ++line)
      out << *line << "\n";
  });
}

llvm::Expected<TrainLog> TrainLog::open(llvm::StringRef path, int64_t after) {
  if (after > 0)
    if (llvm::Error error = dropAfter(path, after))
      return std::move(error);
  std::error_code code;
  TrainLog log;
  log.path = path.str();
  log.stream =
      std::make_unique<llvm::raw_fd_ostream>(path, code, after > 0 ? llvm::sys::fs::OF_Append : llvm::sys::fs::OF_None);
  if (code)
    return cannotWrite(path, code);
  return std::move(log);
}

llvm::Error TrainLog::add(const Trainer &trainer, uint64_t seed, double seconds) {
  llvm::json::OStream json(*stream);
  json.object([&] {
    json.attribute("seed", int64_t(seed));
    json.attribute("epoch", trainer.epochs());
    json.attribute("seconds", seconds);
    json.attribute("loss", trainer.loss());
    for (const auto &[name, value] : trainer.metrics())
      json.attribute(name, value);
  });
  *stream << "\n";
  stream->flush();
  if (!stream->has_error())
    return llvm::Error::success();
  std::error_code code = stream->error();
  stream->clear_error();
  return cannotWrite(path, code);
}
