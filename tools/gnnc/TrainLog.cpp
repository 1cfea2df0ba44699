//===- TrainLog.cpp - A line of JSON for each epoch -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainLog.h"
#include "gnnc/Support/InputFile.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace gnnc;

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write '" + path + "': " + code.message());
}

/// Whether a line was written for an epoch after `last`. What is no JSON is not ours to judge.
static bool isAfter(llvm::StringRef line, int64_t last) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  std::optional<int64_t> epoch = object ? object->getInteger("epoch") : std::nullopt;
  return epoch && *epoch > last;
}

/// Takes the lines after epoch `last` out of a log that is there, and one that was cut off with its process.
static llvm::Error dropAfter(llvm::StringRef path, int64_t last) {
  if (!llvm::sys::fs::is_regular_file(path))
    return llvm::Error::success();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef rest = (*buffer)->getBuffer();
  return writeOutputFile(path, [&](llvm::raw_ostream &out) {
    for (size_t end; (end = rest.find('\n')) != llvm::StringRef::npos; rest = rest.drop_front(end + 1))
      if (!isAfter(rest.take_front(end), last))
        out << rest.take_front(end + 1);
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
  auto number = [&](llvm::StringRef name, double value) { // JSON knows no others.
    json.attribute(name, std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr));
  };
  json.object([&] {
    json.attribute("seed", seed);
    json.attribute("epoch", trainer.epochs());
    json.attribute("seconds", seconds);
    number("loss", trainer.loss());
    for (const auto &[name, value] : trainer.metrics())
      number(name, value);
  });
  *stream << "\n";
  stream->flush();
  if (!stream->has_error())
    return llvm::Error::success();
  std::error_code code = stream->error();
  stream->clear_error();
  return cannotWrite(path, code);
}
