//===- EmitLayers.cpp - Layers and their calls ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emitter.h"
#include "Sema/Builtins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

/// The axes whose sizes a body writes down: those of its parameters, of splits, and arguments of what it calls.
std::vector<int> Emitter::sizedAxes(const Block &block) const {
  std::vector<int> axes;
  auto add = [&](const std::vector<int> &own) {
    for (int each : own)
      if (int axis = program.axis(each); !llvm::is_contained(axes, axis))
        axes.push_back(axis);
  };
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    if (item.call >= 0) {
      const Block &callee = outline.blocks[item.call];
      for (size_t at : layers[callee.layer].integers)
        add({callee.axes[at]});
    } else if (operation.op == Op::Param || operation.op == Op::State) {
      add(operation.axes);
    } else if (operation.op == Op::Split) {
      add(operation.into);
    }
  }
  return axes;
}

/// Whether an axis is a product of others that are none of it.
static bool isAbove(const RecoveredProgram &program, const std::map<int, std::vector<int>> &factors, int axis) {
  std::set<int> seen;
  std::vector<int> open = {axis};
  while (!open.empty()) {
    int each = open.back();
    open.pop_back();
    if (auto found = factors.find(each); found != factors.end())
      for (int factor : found->second) {
        if (program.axis(factor) == axis)
          return false;
        if (seen.insert(program.axis(factor)).second)
          open.push_back(program.axis(factor));
      }
  }
  return true;
}

/// Which sizes are arguments: those that differ from call to call and follow from no others, and those of the result.
void Emitter::chooseSizes(int layer) {
  const Block &block = outline.blocks[outline.layers[layer][0]];
  std::set<int> bound;
  for (int formal : block.formals)
    for (int axis : program.axesOf(formal))
      bound.insert(axis);
  std::map<int, std::vector<int>> factors;
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    if (item.call >= 0 || operation.used.empty())
      continue;
    if (operation.op == Op::Merge)
      factors.try_emplace(program.axis(operation.into[0]), operation.used);
    if (operation.op == Op::Split)
      factors.try_emplace(program.axis(operation.used[0]), operation.into);
  }
  auto placeOf = [&](int axis) { return size_t(llvm::find(block.axes, axis) - block.axes.begin()); };
  auto isSame = [&](int axis) {
    return llvm::all_of(outline.layers[layer], [&](int each) {
      return program.sizeOf(outline.blocks[each].axes[placeOf(axis)]) == program.sizeOf(axis);
    });
  };
  std::vector<int> sized = sizedAxes(block);
  for (size_t i = 0; i < sized.size(); ++i) {
    int axis = sized[i];
    if (bound.count(axis) || (isSame(axis) && !program.hasAxis(block.result, axis)))
      continue;
    auto found = factors.find(axis);
    if (found == factors.end() || !isAbove(program, factors, axis)) {
      layers[layer].integers.push_back(placeOf(axis));
      continue;
    }
    layers[layer].products[axis] = found->second;
    for (int each : found->second)
      if (int factor = program.axis(each); !llvm::is_contained(sized, factor))
        sized.push_back(factor);
  }
}

/// An argument that is the size of an axis of the result is called like the axis.
void Emitter::nameSizes(Scope &scope, int layer, bool ofResult) {
  const Block &block = *scope.block;
  for (size_t at : layers[layer].integers) {
    int axis = block.axes[at];
    if (program.hasAxis(block.result, axis) != ofResult)
      continue;
    const std::string &hint = program.hintOf(axis);
    layers[layer].formals[at] = ofResult
                                    ? axisName(scope, axis)
                                    : unique(scope, hint.empty() || hint == "in" || hint == "out" ? "hidden" : hint);
  }
}

void Emitter::bindSizes(Scope &scope, int layer) {
  const Block &block = *scope.block;
  auto bind = [&](int axis, const std::string &name) {
    scope.sizes[axis] = name;
    scope.sizeOwners[name] = axis;
  };
  for (int formal : block.formals)
    for (int axis : program.axesOf(formal))
      bind(axis, axisName(scope, axis));
  for (auto &[at, name] : layers[layer].formals)
    bind(block.axes[at], name);
  // A factor may be a product itself.
  for (size_t round = 0; round < layers[layer].products.size(); ++round)
    for (auto &[axis, factors] : layers[layer].products) {
      std::string text;
      bool isNumber = true;
      for (int each : factors) {
        std::string size = sizeText(scope, each);
        text += (text.empty() ? "" : " * ") + (StringRef(size).contains(' ') ? "(" + size + ")" : size);
        isNumber &= llvm::all_of(size, llvm::isDigit);
      }
      if (!isNumber)
        scope.sizes[axis] = text;
    }
}

/// What a value is called in a layer: as where it comes from, if that is given to the model.
std::string Emitter::formalName(const Block &block, int layer, int formal) const {
  size_t at = size_t(llvm::find(block.formals, formal) - block.formals.begin());
  // A layer for any space is given more than that.
  std::set<std::string> texts;
  for (int each : outline.layers[layer])
    texts.insert(program.operations[outline.blocks[each].formals[at]].text);
  for (int each : outline.layers[layer]) {
    const Operation &operation = program.operations[outline.blocks[each].formals[at]];
    if (operation.op == Op::Input && !isKeyword(operation.text) && (!block.anySpace || texts.size() == 1))
      return operation.text;
    if (operation.op == Op::Param || operation.op == Op::State)
      return identifier(StringRef(operation.text).contains('.') ? StringRef(operation.text).rsplit('.').second.str()
                                                                : operation.text);
  }
  return program.operations[formal].axes.empty() ? "a" : "x";
}

/// What a constant is called that a layer is given: by the first operation that takes it.
std::string Emitter::numberName(const Block &block, int number) const {
  static const std::map<std::string, std::string> names = {{"*", "factor"}, {"/", "divisor"},     {"^", "power"},
                                                           {"+", "shift"},  {"maximum", "least"}, {"minimum", "most"}};
  for (const Item &item : block.items)
    if (const Operation &operation = program.operations[item.value];
        item.call < 0 && llvm::is_contained(operation.operands, number))
      if (auto found = names.find(operation.text); found != names.end())
        return found->second;
  return "number";
}

std::string Emitter::typeText(const Scope &scope, int value) const {
  int space = program.operations[value].space;
  std::string text = space < 0 ? "" : scope.block->anySpace ? "any" : spaceNames.at(space);
  std::string axes;
  for (int axis : program.axesOf(value))
    axes += (axes.empty() ? "" : ", ") + axisName(scope, axis);
  return text + "[" + axes + "]";
}

std::string Emitter::writeLayer(int layer) {
  const Block &block = outline.blocks[outline.layers[layer][0]];
  chooseSizes(layer);
  Scope scope = open(block);
  scope.maps = layers[layer].maps;
  bindSizes(scope, layer);
  layers[layer].axisNames = scope.axes;
  std::vector<std::string> formals;
  for (int formal : block.formals)
    formals.push_back(scope.values.at(formal) + ": " + typeText(scope, formal));
  for (size_t at : layers[layer].integers)
    formals.push_back(layers[layer].formals.at(at) + ": int");
  for (int number : block.numbers) {
    layers[layer].numbers.push_back(scope.values[number] = unique(scope, numberName(block, number)));
    formals.push_back(layers[layer].numbers.back() + ": float");
  }
  declareTensors(scope);
  for (const Item &item : block.items)
    write(scope, item);
  std::string text = use(scope, block.result, 0);
  scope.body += wrapped("  " + (StringRef(text).starts_with("-") ? "(" + text + ")" : text));
  std::string header = "layer " + layers[layer].name + "(";
  size_t column = header.size(), indent = column;
  for (auto [i, each] : llvm::enumerate(formals)) {
    if (i > 0 && column + each.size() > 112) {
      header += ",\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      header += ", ";
      column += 2;
    }
    header += each;
    column += each.size();
  }
  // A size that the body gives is not known by its name outside.
  bool isTyped = llvm::all_of(program.axesOf(block.result), [&](int axis) {
    auto owner = scope.sizeOwners.find(axisName(scope, axis));
    return owner == scope.sizeOwners.end() || owner->second == axis;
  });
  std::string type = isTyped ? " -> " + typeText(scope, block.result) : "";
  return header + ")" + (layers[layer].maps.empty() ? "" : " on with_self_loops") + type + " {\n" + scope.body +
         "}\n\n";
}

std::string Emitter::writeModel(const std::string &name) {
  Scope scope = open(outline.blocks[0]);
  std::string formals;
  for (auto [i, space] : llvm::enumerate(program.spaces))
    if (liveSpaces.count(int(i)) && space.extent >= 0)
      formals += (formals.empty() ? "" : ", ") + spaceNames[int(i)] + ": int = " + std::to_string(space.extent);
  std::string text = "model " + name + (formals.empty() ? "" : "(" + formals + ")") + " exported {\n";
  scope.body = declareInfinity();
  declareTensors(scope);
  declareUnusedParams(scope);
  for (const Item &item : scope.block->items)
    write(scope, item);
  for (const RecoveredProgram::Output &output : program.outputs) {
    std::string name = unique(scope, identifier(output.name));
    scope.body += wrapped("  output " + name + " = " + use(scope, output.value, 0));
  }
  return text + scope.body + "}\n";
}

std::string Emitter::instanceName(const Block &caller, const Block &callee) const {
  std::string name = nameWithin(caller.path, callee.path);
  return name == identifier(name) && !isKeyword(name) ? name : "\"" + name + "\"";
}

Text Emitter::call(Scope &scope, const Item &item) {
  const Block &block = *scope.block, &callee = outline.blocks[item.call];
  const LayerText &layer = layers[callee.layer];
  std::string arguments, sizes;
  for (int formal : callee.formals)
    arguments += (arguments.empty() ? "" : ", ") + use(scope, formal, 0);
  const Block &general = outline.blocks[outline.layers[callee.layer][0]];
  for (size_t at : layer.integers)
    sizes += (sizes.empty() ? "" : ", ") + layer.formals.at(at) + ": " + sizeText(scope, callee.axes[at]);
  for (auto [name, number] : llvm::zip(layer.numbers, callee.numbers))
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + numberText(program.operations[number].number);
  size_t calls = size_t(llvm::count_if(block.items, [&](const Item &other) {
    return other.call >= 0 && outline.blocks[other.call].path == callee.path;
  }));
  std::string text;
  if (calls > 1) {
    auto [instance, isNew] = scope.instances.try_emplace(callee.path);
    if (isNew) {
      std::string as = instanceName(block, callee), name = moduleName(callee.path);
      name = name.empty() ? "shared_layer" : isBuiltin(name) ? name + "_layer" : name;
      instance->second = unique(scope, name);
      scope.body += "  instance " + instance->second + " = " + layer.name + "(" + sizes + ")" +
                    (as == instance->second ? "" : " as " + as) + "\n";
    }
    text = instance->second + "(" + arguments + ")";
  } else {
    text = layer.name + "(" + arguments + (arguments.empty() || sizes.empty() ? "" : ", ") + sizes + ") as " +
           instanceName(block, callee);
  }
  // Axes that came in with an argument have their names here, unless two would have one; others have the layer's.
  std::vector<std::string> formal, names, renamings;
  std::vector<int> axes = program.axesOf(item.value);
  for (int axis : program.axesOf(general.result)) {
    formal.push_back(layer.axisNames.at(axis));
    names.push_back(formal.back());
    for (size_t i = general.formals.size(); i-- > 0;)
      for (auto [known, own] : llvm::zip(program.axesOf(general.formals[i]), program.axesOf(callee.formals[i])))
        if (known == axis)
          names.back() = axisName(scope, own);
  }
  for (bool again = true; again;) {
    again = false;
    std::vector<std::string> wanted = names;
    for (size_t i = 0; i < names.size(); ++i)
      if (llvm::count(wanted, wanted[i]) > 1 && wanted[i] != formal[i]) {
        names[i] = formal[i];
        again = true;
      }
  }
  for (auto [i, axis] : llvm::enumerate(axes))
    if (names[i] != axisName(scope, axis))
      renamings.push_back(names[i] + ": " + axisName(scope, axis));
  if (!renamings.empty())
    return {"rename(" + text + ", " + llvm::join(renamings, ", ") + ")", Postfix, true};
  return {text, calls > 1 ? Postfix : Power, true};
}
