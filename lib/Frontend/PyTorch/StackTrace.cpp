//===- StackTrace.cpp - Where a node comes from ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/StackTrace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

/// How far a file is from the user's own: 0 the user's, 1 another package, 2 PyTorch Geometric, 3 torch.
static int distanceOf(StringRef file) {
  if (file.starts_with("<")) // made by a program, such as <eval_with_key>.1
    return 3;
  std::string path = "/" + file.str();
  llvm::replace(path, '\\', '/');
  StringRef place(path);
  bool isInstalled = false;
  for (StringRef folder : {"/site-packages/", "/dist-packages/"})
    if (size_t at = place.rfind(folder); at != StringRef::npos) {
      place = place.drop_front(at + folder.size() - 1);
      isInstalled = true;
    }
  // Elsewhere a user's own project may lie in a folder called torch; a checkout of PyTorch has these below it.
  static constexpr const char *kOwn[] = {"nn/", "_", "fx/", "export/", "autograd/", "utils/", "functional.py"};
  auto isOwn = [&](const char *own) { return place.contains(std::string("/torch/") + own); };
  if (isInstalled ? place.starts_with("/torch/") || place.starts_with("/torchgen/") : llvm::any_of(kOwn, isOwn))
    return 3;
  if (place.contains("/torch_geometric/"))
    return 2;
  return isInstalled ? 1 : 0;
}

/// `File "PATH", line N, in FUNCTION`.
static std::optional<SourceFrame> readFrame(StringRef line) {
  size_t end = line.rfind("\", line ");
  if (!line.consume_front("File \"") || end == StringRef::npos)
    return std::nullopt;
  end = line.rfind("\", line ");
  SourceFrame frame;
  frame.file = line.take_front(end).str();
  StringRef number = line.drop_front(end + 8).take_while([](char c) { return c >= '0' && c <= '9'; });
  if (number.getAsInteger(10, frame.line))
    return std::nullopt;
  return frame;
}

std::optional<SourceFrame> gnnc::frontend::pytorch::readStackTrace(StringRef trace) {
  std::optional<SourceFrame> best;
  int bestDistance = 3;
  bool isOpen = false; // the next line is the best frame's source
  while (!trace.empty()) {
    auto [line, rest] = trace.split('\n');
    trace = rest;
    line = line.trim();
    std::optional<SourceFrame> frame = readFrame(line);
    if (!frame) {
      if (isOpen)
        best->text = line.str();
      isOpen = false;
      continue;
    }
    // Innermost last, so of equals the later.
    int distance = distanceOf(frame->file);
    isOpen = distance < 3 && distance <= bestDistance;
    if (isOpen) {
      best = std::move(frame);
      bestDistance = distance;
    }
  }
  return best;
}

/// Texts between commas that are in no brackets: names of classes may have some.
static llvm::SmallVector<StringRef> splitOutsideBrackets(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.slice(begin, i));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<ModuleFrame> gnnc::frontend::pytorch::readModuleStack(StringRef stack) {
  std::vector<ModuleFrame> frames;
  while (!stack.empty()) {
    auto [each, rest] = stack.split(';');
    stack = rest;
    llvm::SmallVector<StringRef> parts = splitOutsideBrackets(each);
    if (parts.size() < 3 || each.starts_with("_empty_nn_module_stack"))
      continue;
    // A name of an instance may have commas: it is what lies between the first and the last.
    StringRef path(parts[1].begin(), size_t(parts.back().begin() - 1 - parts[1].begin()));
    // How Dynamo calls the model itself.
    if (path.consume_front("L['self']"))
      path.consume_front(".");
    ModuleFrame frame{path.str(), parts.back().str(), 0};
    if (StringRef call = parts[0].rsplit('@').second; call.getAsInteger(10, frame.call))
      frame.call = 0;
    frames.push_back(std::move(frame));
  }
  return frames;
}
