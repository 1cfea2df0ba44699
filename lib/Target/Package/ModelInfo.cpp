//===- ModelInfo.cpp - A model's description of itself --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Needs.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc-c/gnnc.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Target/Package/Package.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace gnnc;

namespace {

llvm::json::Value nameOf(Attribute ref) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(ref);
  return symbol ? llvm::json::Value(symbol.getValue()) : llvm::json::Value(nullptr);
}

/// What a narrower tensor is stored as; empty for others.
StringRef storageOf(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return element.isBF16() ? "bf16" : element.isF16() ? "f16" : "";
}

llvm::json::Object tensor(Type type, StringAttr name, ArrayAttr axes) {
  llvm::json::Array dims, names;
  for (int64_t size : mpdfg::getFeatureShape(type))
    dims.push_back(size);
  if (axes)
    for (Attribute axis : axes)
      names.push_back(cast<StringAttr>(axis).getValue());
  llvm::json::Object object{{"name", name.getValue()},
                            {"space", nameOf(mpdfg::getResidency(type))},
                            {"dims", std::move(dims)},
                            {"axes", std::move(names)}};
  if (StringRef storage = storageOf(type); !storage.empty())
    object["dtype"] = storage;
  return object;
}

/// Says what a root space or map comes from.
void addSource(llvm::json::Object &object, ModuleOp module, StringRef name) {
  if (auto sources = module->getAttrOfType<DictionaryAttr>(kSourceAttr))
    if (auto source = sources.getAs<StringAttr>(name))
      object["source"] = source.getValue();
}

llvm::json::Array spaces(ModuleOp module) {
  llvm::json::Array list;
  for (auto op : module.getOps<mpdfg::SpaceOp>()) {
    llvm::json::Object space{{"name", op.getSymName()}, {"kind", stringifyEnum(op.getKind())}};
    if (op.getExtent())
      space["extent"] = int64_t(*op.getExtent());
    addSource(space, module, op.getSymName());
    list.push_back(std::move(space));
  }
  return list;
}

llvm::json::Array maps(ModuleOp module) {
  llvm::json::Array list;
  for (auto op : module.getOps<mpdfg::MapOp>()) {
    llvm::json::Object map{{"name", op.getSymName()},
                           {"from", op.getFrom()},
                           {"to", op.getTo()},
                           {"kind", stringifyEnum(op.getKind())},
                           {"partial", op.getPartial()}};
    addSource(map, module, op.getSymName());
    list.push_back(std::move(map));
  }
  return list;
}

/// A list of so many for each element of a space; without a space: in any case.
llvm::json::Array formula(const SymbolicExpr &expression) {
  llvm::json::Array list;
  for (const auto &[space, factor] : expression.getFactors())
    list.push_back(llvm::json::Object{{"space", space}, {"each", factor}});
  if (expression.getNumber() != 0)
    list.push_back(llvm::json::Object{{"space", nullptr}, {"each", expression.getNumber()}});
  return list;
}

/// The ways in which a GPU can divide a sweep's owners among lanes.
llvm::json::Array schedules(const cuda::DeviceStep &step) {
  llvm::json::Array list;
  for (const cuda::Launch &launch : step.launches)
    if (launch.grid == cuda::GridKind::Items)
      list.push_back(llvm::json::Object{{"kernel", step.name},
                                        {"lanes", launch.lanes},
                                        {"groups", launch.groups},
                                        {"flight", launch.flight},
                                        {"threads", launch.threads},
                                        {"few", launch.isFew},
                                        {"least", launch.leastMembers}});
  return list;
}

llvm::json::Array kernelList(ArrayRef<EmittedKernel> kernels, ModuleOp module, const DeviceCode &device) {
  llvm::json::Array list;
  SmallVector<Operation *> ops;
  OperationSet backward;
  for (auto function : module.getOps<func::FuncOp>()) {
    backward.insert_range(findBackwardKernels(function));
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op))
        ops.push_back(&op);
  }
  for (auto [kernel, op] : llvm::zip(kernels, ops)) {
    llvm::json::Object object{{"name", kernel.name},
                              {"function", cast<func::FuncOp>(op->getParentOp()).getSymName()},
                              {"map", nameOf(kernel.map)},
                              {"over", nameOf(kernel.space)}};
    if (auto product = dyn_cast<mpk::ProductOp>(op)) {
      object["kind"] = "product";
      object["k"] = int64_t(product.getK());
      object["n"] = int64_t(product.getN());
    } else if (auto outer = dyn_cast<mpk::OuterSumOp>(op)) {
      object["kind"] = "outer_sum";
      object["k"] = int64_t(outer.getK());
      object["n"] = int64_t(outer.getN());
    } else if (auto transfer = dyn_cast<mpdfg::TransferOp>(op)) {
      object["kind"] = "transfer";
      object["from"] = mpdfg::getResidency(transfer.getInput().getType()).getValue();
      object["to"] = mpdfg::getResidency(transfer.getType()).getValue();
    } else if (auto await = dyn_cast<mpdfg::AwaitOp>(op)) {
      object["kind"] = "await";
      object["awaits"] = kernels[llvm::find(ops, await.getInput().getDefiningOp()) - ops.begin()].name;
    } else if (mpdfg::isChoice(op)) {
      object["kind"] = op->getName().stripDialect();
    } else if (auto reduce = dyn_cast<mpdfg::AllReduceOp>(op)) {
      object["kind"] = "all_reduce";
      object["reduction"] = mpdfg::stringifyEnum(reduce.getKind());
    } else {
      object["kind"] = "sweep";
      object["operations"] = int64_t(llvm::range_size(op->getRegion(0).front())) - 1;
    }
    object["half"] = backward.contains(op) ? "backward" : "forward";
    if (!device.steps.empty()) {
      const cuda::DeviceStep &step = device.steps[list.size()];
      object["launches"] =
          int64_t(llvm::count_if(step.launches, [](const cuda::Launch &launch) { return !launch.isJoined; }));
      if (llvm::json::Array ways = schedules(step); !ways.empty())
        object["schedules"] = std::move(ways);
    }
    Cost cost = costOf(op);
    object["flops"] = formula(cost.flops);
    object["bytes_read"] = formula(cost.read);
    object["bytes_written"] = formula(cost.written);
    object["operands"] = int64_t(op->getNumOperands());
    object["results"] = int64_t(op->getNumResults());
    list.push_back(std::move(object));
  }
  return list;
}

void addPlan(func::FuncOp function, llvm::json::Array &list) {
  OperationSet backward = findBackwardKernels(function);
  /// Made by the forward half and read, as it is or through a view, by the backward half.
  auto isSaved = [&](auto &&self, Value value) -> bool {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      bool isSeen = mpdfg::isView(user) && user->getOperand(0) == value;
      return backward.contains(user) || (isSeen && self(self, user->getResult(0)));
    });
  };
  llvm::DenseMap<int64_t, size_t> listed; // Values that take each other's place have one slot.
  for (Operation &op : function.getBody().front()) {
    for (OpResult value : op.getResults())
      if (mpk::PlaceAttr place = mpk::getPlace(value); place && place.getKind() == mpk::PlaceKind::Arena) {
        auto arena = *function.getOps<mpk::ArenaOp>().begin();
        int64_t slot = *place.getNumber();
        auto [known, fresh] = listed.try_emplace(slot, list.size());
        if (fresh)
          list.push_back(llvm::json::Object{{"name", "arena" + std::to_string(slot)},
                                            {"function", function.getSymName()},
                                            {"kind", "arena"},
                                            {"space", nameOf(mpdfg::getResidency(value.getType()))},
                                            {"row_elements", mpdfg::getFeatureElements(value.getType())},
                                            {"first", arena.getFirst()[slot]},
                                            {"last", arena.getLast()[slot]}});
        if (StringRef storage = storageOf(value.getType()); !storage.empty())
          (*list[known->second].getAsObject())["dtype"] = storage;
        if (!backward.empty() && !backward.contains(&op) && isSaved(isSaved, value))
          (*list[known->second].getAsObject())["saved"] = true;
      }
  }
}

/// What a program is bound to: names of arguments, outputs, and names of what it replaces. `only`: what it gives, by
/// name; empty: everything.
llvm::json::Object describeProgram(func::FuncOp function, const llvm::Twine &name,
                                   llvm::function_ref<bool(Value)> needed, llvm::function_ref<bool(Value)> made) {
  llvm::json::Array inputs, outputs, updates, needs;
  for (StringRef need : findNeeds(function))
    needs.push_back(need);
  for (BlockArgument argument : function.getArguments())
    if (needed(argument))
      inputs.push_back(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr).getValue());
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto label = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    if (!made(mpdfg::getViewed(value)))
      continue;
    if (getUpdated(function, i))
      updates.push_back(label.getValue());
    else
      outputs.push_back(tensor(value.getType(), label, function.getResultAttrOfType<ArrayAttr>(i, kAxesAttr)));
  }
  return llvm::json::Object{{"name", name.str()},
                            {"inputs", std::move(inputs)},
                            {"needs", std::move(needs)},
                            {"outputs", std::move(outputs)},
                            {"updates", std::move(updates)}};
}

llvm::json::Array programs(ModuleOp module) {
  llvm::json::Array list;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(mpk::kAlternativeAttr))
      continue;
    auto any = [](Value) { return true; };
    list.push_back(describeProgram(function, function.getSymName(), any, any));
    std::optional<int64_t> seedless = countSeedless(function);
    if (!seedless)
      continue;
    DenseSet<Operation *> first;
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op) && int64_t(first.size()) < *seedless)
        first.insert(&op);
    for (bool forward : {true, false}) { // The backward half may read outputs of the forward one.
      auto mine = [&](Operation *op) { return mpk::isKernel(op) && first.contains(op) == forward; };
      auto needed = [&](Value argument) {
        auto search = [&](auto &&self, Value value) -> bool {
          return llvm::any_of(value.getUsers(), [&](Operation *user) {
            // A view is of its first operand; rows that an await waits for have been sent from others.
            return mine(user) ||
                   (mpdfg::isView(user) && user->getOperand(0) == value && self(self, user->getResult(0)));
          });
        };
        return search(search, argument);
      };
      auto made = [&](Value value) { return mine(value.getDefiningOp()) || needed(value); };
      list.push_back(
          describeProgram(function, function.getSymName() + (forward ? ".forward" : ".backward"), needed, made));
    }
  }
  return list;
}

/// What sources read of the object itself, in 64 bits, little-endian.
llvm::json::Array integers(ArrayRef<EmbeddedTensor> embedded) {
  llvm::json::Array list;
  for (const EmbeddedTensor &tensor : embedded)
    if (tensor.isInteger)
      list.push_back(llvm::json::Object{{"name", tensor.name},
                                        {"shape", llvm::json::Array(tensor.shape)},
                                        {"base64", llvm::encodeBase64(tensor.bytes)}});
  return list;
}

/// Functions that stand in for others on some graphs.
llvm::json::Array alternatives(ModuleOp module) {
  llvm::json::Array list;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto leader = function->getAttrOfType<FlatSymbolRefAttr>(mpk::kAlternativeAttr))
      list.push_back(llvm::json::Object{{"function", function.getSymName()},
                                        {"instead_of", leader.getValue()},
                                        {"cost", formula(timeOf(function))},
                                        {"instead_cost", formula(timeOf(module.lookupSymbol(leader.getValue())))},
                                        {"percent", kAlternativePercent}});
  return list;
}

} // namespace

std::string gnnc::describeModel(ModuleOp module, ArrayRef<EmittedKernel> kernels, const DeviceCode &device,
                                ArrayRef<EmbeddedTensor> embedded) {
  llvm::json::Array inputs, params, states, outputs, sparse, buffers;
  llvm::StringSet<> seen;
  for (auto function : module.getOps<func::FuncOp>()) {
    addPlan(function, buffers);
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
      if (!seen.insert(name.getValue()).second)
        continue;
      llvm::json::Object object = tensor(argument.getType(), name, function.getArgAttrOfType<ArrayAttr>(i, kAxesAttr));
      if (auto fill = function.getArgAttrOfType<FloatAttr>(i, kFillAttr)) {
        object["optional"] = true;
        object["fill"] = fill.getValueAsDouble();
      }
      if (llvm::any_of(embedded, [&](const EmbeddedTensor &tensor) { return tensor.name == name.getValue(); }))
        object["embedded"] = true;
      if (auto source = function.getArgAttrOfType<StringAttr>(i, kSourceAttr))
        object["source"] = source.getValue();
      if (function.getArgAttr(i, kSeedAttr))
        object["gradient"] = true;
      if (function.getArgAttr(i, kNumbersAttr))
        object["numbers"] = true;
      if (auto of = function.getArgAttrOfType<StringAttr>(i, kHaloOfAttr))
        object["halo_of"] = of.getValue();
      std::optional<mpdfg::Role> role = getRole(function, i);
      (role == mpdfg::Role::Param ? params : role == mpdfg::Role::State ? states : inputs).push_back(std::move(object));
    }
  }
  auto function = module.lookupSymbol<func::FuncOp>(kForward);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    outputs.push_back(tensor(type, function.getResultAttrOfType<StringAttr>(i, kNameAttr),
                             function.getResultAttrOfType<ArrayAttr>(i, kAxesAttr)));
  if (auto list = module->getAttrOfType<ArrayAttr>(kSparseAttr))
    for (auto input : list.getAsRange<mpdfg::SparseInputAttr>()) {
      llvm::json::Object object{{"name", input.getName().getValue()},
                                {"entries", nameOf(input.getEntries())},
                                {"row", nameOf(input.getRow())},
                                {"column", nameOf(input.getColumn())}};
      if (StringAttr value = input.getValue())
        object["value"] = value.getValue();
      sparse.push_back(std::move(object));
    }
  Type element = mpdfg::getElementType(function.getResultTypes().front()).getElementType();
  llvm::json::Object document{{"name", module.getSymName().value_or("model")},
                              {"abi", int64_t(GNNC_ABI_VERSION)},
                              {"dtype", element.isF64() ? "f64" : "f32"},
                              {"spaces", spaces(module)},
                              {"maps", maps(module)},
                              {"inputs", std::move(inputs)},
                              {"params", std::move(params)},
                              {"states", std::move(states)},
                              {"outputs", std::move(outputs)},
                              {"sparse_inputs", std::move(sparse)},
                              {"programs", programs(module)},
                              {"alternatives", alternatives(module)},
                              {"integers", integers(embedded)},
                              {"kernels", kernelList(kernels, module, device)},
                              {"buffers", std::move(buffers)}};
  if (auto alongs = module->getAttrOfType<DictionaryAttr>(kDistributedAttr)) {
    llvm::json::Object along;
    for (NamedAttribute entry : alongs)
      along[entry.getName().getValue()] = cast<StringAttr>(entry.getValue()).getValue();
    document["distributed"] = llvm::json::Object{{"along", std::move(along)}};
  }
  if (module->hasAttr(kExportedAttr))
    document["exported"] = true;
  if (auto plans = module->getAttrOfType<StringAttr>(kPlansAttr)) {
    if (llvm::Expected<llvm::json::Value> value = llvm::json::parse(plans.getValue()))
      document["plans"] = std::move(*value);
    else
      llvm::consumeError(value.takeError());
  }
  if (auto metadata = module->getAttrOfType<DictionaryAttr>(kMetadataAttr)) {
    llvm::json::Object texts;
    for (NamedAttribute entry : metadata)
      texts[entry.getName().getValue()] = cast<StringAttr>(entry.getValue()).getValue();
    document["metadata"] = std::move(texts);
  }
  if (auto names = module->getAttrOfType<ArrayAttr>(kUnusedParamsAttr)) {
    llvm::json::Array unused;
    for (StringRef name : names.getAsValueRange<StringAttr>())
      unused.push_back(name);
    document["unused_params"] = std::move(unused);
  }
  module.walk([&](func::FuncOp each) {
    for (Type type : llvm::concat<const Type>(each.getArgumentTypes(), each.getResultTypes()))
      if (StringRef storage = storageOf(type); !storage.empty())
        document["storage"] = storage;
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::json::Value(std::move(document));
  return text;
}
