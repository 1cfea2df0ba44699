//===- Import.cpp - From a .pt2 file to a text ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Arrange.h"
#include "PyTorch/Emit.h"
#include "PyTorch/ReadExportedProgram.h"
#include "PyTorch/Recover.h"
#include "gnnc/Frontend/PyTorch.h"
#include "gnnc/Support/Half.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <map>
#include <optional>

using namespace gnnc;
using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;

template <typename T> static T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

static double loadNumber(ScalarType type, const std::byte *data, int64_t at) {
  switch (type) {
  case ScalarType::Float32:
    return load<float>(data + at * 4);
  case ScalarType::Float64:
    return load<double>(data + at * 8);
  case ScalarType::BFloat16: {
    uint32_t bits = uint32_t(load<uint16_t>(data + at * 2)) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  default:
    throw Refusal{"a parameter is stored as a type that gnnc does not read; expected float32, float64 or bfloat16"};
  }
}

static ImportedTensor readTensor(const std::string &name, const StoredTensor &stored) {
  ImportedTensor result;
  result.name = name;
  int64_t count = 1;
  for (const Size &size : stored.meta.sizes) {
    result.shape.push_back(size.literal().value_or(0));
    count *= result.shape.back();
  }
  result.numbers.reserve(size_t(count));
  std::vector<int64_t> place(result.shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = stored.offset;
    for (size_t d = 0; d < place.size(); ++d)
      at += place[d] * stored.strides[d];
    result.numbers.push_back(loadNumber(stored.meta.type, stored.storage->data(), at));
    for (size_t d = place.size(); d-- > 0;) {
      if (++place[d] < result.shape[d])
        break;
      place[d] = 0;
    }
  }
  return result;
}

/// A number of an input that is a size, as `int(batch.max())`: `batch.max()`. Empty: none is.
static std::string numberInWords(const ExportedProgram &exported, const std::string &symbol) {
  auto operandOf = [](const Node &node) {
    const Argument *argument = node.find("self");
    auto *name = argument ? std::get_if<ValueName>(argument) : nullptr;
    return name ? name->name : "";
  };
  std::map<std::string, const Node *> givers;
  for (const Node &node : exported.graph.nodes) {
    for (const std::string &output : node.outputs)
      givers[output] = &node;
    auto size =
        node.outputs.size() == 1 ? exported.graph.integers.find(node.outputs[0]) : exported.graph.integers.end();
    auto giver = givers.find(operandOf(node));
    if (size == exported.graph.integers.end() || size->second.text != symbol || giver == givers.end())
      continue;
    llvm::StringRef function = giver->second->target;
    for (const ProgramInput &input : exported.inputs)
      if (input.kind == ProgramInput::Kind::User && input.value == operandOf(*giver->second) &&
          function.consume_front("torch.ops.aten.") && function.consume_back(".default"))
        return input.value + "." + function.str() + "()";
  }
  return "";
}

/// What a size is, as torch's name for it does not say: of which argument, or of the result of which line.
static std::string sizeInWords(const ExportedProgram &exported, const std::string &symbol) {
  auto axisOf = [&](const std::string &value) -> std::optional<size_t> {
    auto meta = exported.graph.tensors.find(value);
    if (meta != exported.graph.tensors.end())
      for (auto [i, size] : llvm::enumerate(meta->second.sizes))
        if (size.text == symbol)
          return i;
    return std::nullopt;
  };
  for (const ProgramInput &input : exported.inputs)
    if (std::optional<size_t> axis = axisOf(input.value); axis && input.kind == ProgramInput::Kind::User)
      return input.value + ".size(" + std::to_string(*axis) + ")";
  if (std::string number = numberInWords(exported, symbol); !number.empty())
    return number;
  for (const Node &node : exported.graph.nodes)
    for (const std::string &output : node.outputs)
      if (node.source && axisOf(output))
        return "the computed size of '" + node.source->text + "'";
  return "a computed size";
}

namespace {

/// A reason in the user's words: torch's symbols (`s17`, `u0`) and functions of sizes mean nothing to them. Sizes are
/// written as Python has them, `2 * x.size(0) // 3`.
class Words {
public:
  explicit Words(const ExportedProgram &exported) : exported(exported) {}

  std::string of(llvm::StringRef reason) {
    std::string text;
    isQuoted = false; // names and lines of the program may look like symbols
    while (!reason.empty())
      next(reason, text);
    return text;
  }

private:
  void next(llvm::StringRef &reason, std::string &text) {
    llvm::StringRef word = reason.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!word.empty()) {
      reason = reason.drop_front(word.size());
      return addWord(word, reason, text);
    }
    char c = reason.front();
    if (!isQuoted && reason.starts_with("+ -")) {
      text += "- ";
      reason = reason.drop_front(3);
      if (reason.starts_with("1 ") && isSize(reason.drop_front(2)))
        reason = reason.drop_front(2);
      return;
    }
    bool isApostrophe = !text.empty() && llvm::isAlpha(text.back()) && reason.size() > 1 && llvm::isAlpha(reason[1]);
    isQuoted ^= c == '\'' && !isApostrophe;
    reason = reason.drop_front();
    // A factor stands before a size, as `2 s17` or `2*s17`.
    bool isFactor = !isQuoted && !text.empty() && isSize(reason);
    text += isFactor && (c == '*' || (c == ' ' && llvm::isDigit(text.back()))) ? " * " : std::string(1, c);
  }

  void addWord(llvm::StringRef word, llvm::StringRef &reason, std::string &text) {
    if (isQuoted) {
      bool isName = exported.graph.tensors.count(word.str()) || !isSymbol(word);
      text += isName ? word.str() : sizeInWords(exported, word.str());
      return;
    }
    if (isSymbol(word)) {
      text += sizeInWords(exported, word.str());
      return;
    }
    auto function = operators().find(word);
    size_t end = function == operators().end() ? llvm::StringRef::npos : endOfCall(reason);
    llvm::StringRef arguments = end == llvm::StringRef::npos ? "" : reason.substr(1, end - 2);
    size_t comma = commaIn(arguments);
    if (comma == llvm::StringRef::npos) {
      text += word == "Max" ? "max" : word == "Min" ? "min" : word.str();
      return;
    }
    reason = reason.drop_front(end);
    std::string result =
        operand(arguments.take_front(comma)) + function->second + operand(arguments.drop_front(comma + 1));
    bool isOperand = llvm::StringRef(text).ends_with("* ") || reason.starts_with("*");
    text += isOperand ? "(" + result + ")" : result;
  }

  std::string operand(llvm::StringRef argument) {
    std::string text = Words(exported).of(argument.trim());
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }

  static const std::map<llvm::StringRef, const char *> &operators() {
    static const std::map<llvm::StringRef, const char *> found = {
        {"FloorDiv", " // "}, {"CleanDiv", " // "}, {"Mod", " % "}, {"PythonMod", " % "}};
    return found;
  }

  static bool isSymbol(llvm::StringRef word) {
    llvm::StringRef digits = word.drop_while([](char c) { return !llvm::isDigit(c); });
    llvm::StringRef letters = word.drop_back(digits.size());
    return !digits.empty() && llvm::all_of(digits, [](char c) { return llvm::isDigit(c); }) &&
           (letters == "s" || letters == "u" || letters == "zuf" || letters == "zf");
  }

  /// Whether a text begins with a symbol or with a function of some.
  static bool isSize(llvm::StringRef text) {
    llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    return isSymbol(word) || operators().count(word);
  }

  /// Behind the parenthesis that closes the first one.
  static size_t endOfCall(llvm::StringRef text) {
    if (!text.starts_with("("))
      return llvm::StringRef::npos;
    int depth = 0;
    for (auto [i, c] : llvm::enumerate(text)) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0)
        return i + 1;
    }
    return llvm::StringRef::npos;
  }

  static size_t commaIn(llvm::StringRef text) {
    int depth = 0;
    for (auto [i, c] : llvm::enumerate(text)) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0 && c == ',')
        return i;
    }
    return llvm::StringRef::npos;
  }

  const ExportedProgram &exported;
  bool isQuoted = false;
};

} // namespace

/// One line: the node, the user's own line, the reason.
static std::string explain(const ExportedProgram &exported, const NormalNode *node, const std::string &reason) {
  std::string text = "'" + exported.path + "': ";
  if (node && node->origin) {
    text += "node '" + node->origin->name + "' (" + node->origin->target + ")";
    if (node->origin->source)
      text += ", from " + node->origin->source->file + ":" + std::to_string(node->origin->source->line) + ": " +
              node->origin->source->text;
    text += ": ";
  }
  return text + Words(exported).of(reason);
}

/// Whether a text has a name as a whole word.
static bool mentions(llvm::StringRef text, llvm::StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  for (size_t at = text.find(name); at != llvm::StringRef::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

/// With further statements at the end of its model, which is the last thing in a text.
static void addStatements(std::string &text, const std::vector<std::string> &statements) {
  std::string lines;
  for (const std::string &statement : statements)
    lines += "  " + statement + "\n";
  text.insert(text.rfind('}'), lines);
}

/// `moved`: of what the program is another arrangement, in words.
static llvm::Expected<ImportedModel> import(const ExportedProgram &exported, const std::vector<std::string> &moved,
                                            const std::vector<std::string> &statements, const GridOptions &grids,
                                            GridOptions *wanted = nullptr) {
  Recover recover(exported, grids);
  llvm::scope_exit noteWanted([&] {
    if (wanted)
      *wanted = recover.wanted();
  });
  try {
    RecoveredProgram program = recover.run();
    ImportedModel model;
    std::string file = llvm::sys::path::filename(exported.path).str();
    std::string heading = "Imported from " + file + ", which PyTorch " + exported.torchVersion + " exported";
    if (!moved.empty())
      heading += ", with the axis of elements first in " + llvm::join(moved, ", ") + " too";
    if (!program.joined.empty())
      heading += ", with several axes of elements as one in " + llvm::join(program.joined, ", ");
    std::vector<RecoveredProgram::StoredIntegers> integers = std::move(program.integers);
    model.fixedSizes = std::move(program.fixedSizes);
    Emitted emitted = emit(std::move(program), llvm::sys::path::stem(exported.path).str(), heading + ".");
    model.text = std::move(emitted.text);
    addStatements(model.text, statements);
    for (const std::string &name : emitted.tensors)
      if (auto stored = exported.tensors.find(name); stored != exported.tensors.end())
        model.parameters.push_back(readTensor(name, stored->second));
    for (RecoveredProgram::Constant &constant : emitted.constants)
      if (llvm::is_contained(emitted.tensors, constant.name))
        model.parameters.push_back({constant.name, constant.shape, std::move(constant.numbers)});
    for (RecoveredProgram::StoredIntegers &each : integers)
      if (mentions(model.text, each.name))
        model.integers.push_back({each.name, std::move(each.shape), std::move(each.numbers)});
    return model;
  } catch (const Refusal &refusal) {
    std::string reason = explain(exported, recover.current, refusal.reason);
    return llvm::createStringError(recover.fixedSizes().empty() ? reason : reason + "; " + recover.fixedSizes());
  } catch (const std::out_of_range &) {
    return llvm::createStringError(
        explain(exported, recover.current, "its operands have fewer axes than the operator needs"));
  }
}

/// With several axes of elements. Lists may turn out to index further axes then.
static llvm::Expected<ImportedModel> importOnGrids(const ExportedProgram &exported,
                                                   const std::vector<std::string> &statements, GridOptions options) {
  options.areFollowed = true;
  for (;;) {
    GridOptions wanted;
    llvm::Expected<ImportedModel> model = import(exported, {}, statements, options, &wanted);
    if (!model) {
      GridOptions turned = options;
      turned.isBatchLast = true;
      llvm::Expected<ImportedModel> other = import(exported, {}, statements, turned);
      if (other) {
        llvm::consumeError(model.takeError());
        return other;
      }
      llvm::consumeError(other.takeError());
    }
    const GridOptions before = options;
    options.sizes.insert(wanted.sizes.begin(), wanted.sizes.end());
    options.chosen.insert(wanted.chosen.begin(), wanted.chosen.end());
    options.areChannelsInside |= wanted.areChannelsInside && !model;
    if (options.sizes == before.sizes && options.chosen == before.chosen &&
        options.areChannelsInside == before.areChannelsInside)
      return model;
    llvm::consumeError(model.takeError());
  }
}

/// Whether an input's axis of elements is not its first axis alone, and none is a matrix over all pairs.
static bool hasInnerElements(const ExportedProgram &exported) {
  bool hasInner = false;
  for (const ProgramInput &input : exported.inputs) {
    auto meta = exported.graph.tensors.find(input.value);
    if (input.kind != ProgramInput::Kind::User || meta == exported.graph.tensors.end() ||
        !isFloatType(meta->second.type))
      continue;
    std::set<std::string> open;
    for (auto [axis, size] : llvm::enumerate(meta->second.sizes))
      if (!size.literal()) {
        if (!open.insert(size.text).second)
          return false;
        hasInner |= axis > 0;
      }
  }
  return hasInner;
}

/// Whether sizes of several axes of one input are not fixed.
static bool hasSeveralAxes(const ExportedProgram &exported) {
  return llvm::any_of(exported.inputs, [&](const ProgramInput &input) {
    auto meta = exported.graph.tensors.find(input.value);
    return input.kind == ProgramInput::Kind::User && meta != exported.graph.tensors.end() &&
           isFloatType(meta->second.type) &&
           llvm::count_if(meta->second.sizes, [](const Size &size) { return !size.literal(); }) > 1;
  });
}

/// The model with several axes of elements where it is refused as it is; the first reason counts where that is refused.
static llvm::Expected<ImportedModel> importOnGridsOr(llvm::Expected<ImportedModel> refused,
                                                     const ExportedProgram &exported,
                                                     const std::vector<std::string> &statements) {
  llvm::Expected<ImportedModel> model = importOnGrids(exported, statements, {});
  if (!model) {
    // The reason is about several axes of elements if an input has them.
    llvm::Error reason = model.takeError();
    if (!hasInnerElements(exported)) {
      llvm::consumeError(std::move(reason));
      return refused;
    }
    llvm::consumeError(refused.takeError());
    return reason;
  }
  llvm::consumeError(refused.takeError());
  return model;
}

llvm::Expected<ImportedModel> gnnc::frontend::importExportedProgram(const std::string &path,
                                                                    const ImportOptions &options) {
  llvm::Expected<ExportedProgram> exported = readExportedProgram(path);
  if (!exported)
    return exported.takeError();
  GridOptions wanted;
  llvm::Expected<ImportedModel> model = import(*exported, {}, options.statements, {}, &wanted);
  if (options.oneAxis && (!model || !wanted.sizes.empty())) {
    std::string reason = model ? "'" + path + "': lists index axes of fixed size" : llvm::toString(model.takeError());
    std::vector<std::string> sizes;
    for (int64_t size : wanted.sizes)
      sizes.push_back(std::to_string(size));
    if (!sizes.empty())
      reason += "\ngnnc: note: axes of elements: " + llvm::join(sizes, ", ");
    return llvm::createStringError(reason);
  }
  // What lists index along an axis of features is better off with an axis of elements there.
  if (!wanted.sizes.empty() || !wanted.chosen.empty()) {
    llvm::Expected<ImportedModel> onGrid = importOnGrids(*exported, options.statements, wanted);
    if (onGrid || !wanted.chosen.empty()) { // tables of chosen elements need an axis of their own
      llvm::consumeError(model.takeError());
      return onGrid;
    }
    llvm::consumeError(onGrid.takeError());
  }
  if (model)
    return model;
  if (options.keepAxes)
    return hasSeveralAxes(*exported) ? importOnGridsOr(std::move(model), *exported, options.statements)
                                     : std::move(model);
  ExportedProgram turned = *exported;
  std::vector<std::string> moved = bringToFront(turned);
  if (moved.empty())
    return importOnGridsOr(std::move(model), *exported, options.statements);
  llvm::Expected<ImportedModel> arranged = import(turned, moved, options.statements, {});
  if (!arranged) { // the first reason is about the program as its author knows it
    llvm::consumeError(arranged.takeError());
    return importOnGridsOr(std::move(model), *exported, options.statements);
  }
  llvm::consumeError(model.takeError());
  arranged->moved = std::move(moved);
  return arranged;
}
