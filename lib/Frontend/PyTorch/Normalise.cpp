//===- Normalise.cpp - One set of operators for all exports ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/MergeEqual.h"
#include "PyTorch/Program.h"
#include "PyTorch/Spelling.h"
#include "PyTorch/Stacks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

namespace {

class Normaliser {
public:
  explicit Normaliser(bool isTraining) : isTraining(isTraining) {}

  NormalProgram run(const Graph &graph) {
    for (const std::string &input : graph.inputs)
      if (isFloat(input, graph.tensors))
        graded.insert(input);
    inlineGraph(graph, "", {}, /*detached=*/false);
    for (const Argument &output : graph.outputs)
      program.outputs.push_back(renamed(output, ""));
    for (const Argument &output : program.outputs) {
      auto *name = std::get_if<ValueName>(&output);
      program.outputRefusals.push_back(name ? refusalOf(name->name) : "");
    }
    mergeEqual(program);
    restoreStacks(program);
    uniteSizesOfOperands(program);
    return std::move(program);
  }

private:
  /// What a name of this (sub)graph is called in the result.
  std::string nameOf(const std::string &name, const std::string &prefix) const {
    std::string whole = prefix + name;
    for (auto known = current.find(whole); known != current.end(); known = current.find(whole))
      whole = known->second;
    return whole;
  }

  Argument renamed(Argument argument, const std::string &prefix) const {
    return renameValues(std::move(argument), [&](const std::string &name) { return nameOf(name, prefix); });
  }

  void inlineGraph(const Graph &graph, const std::string &prefix, const std::vector<Argument> &given, bool detached) {
    for (auto &[name, meta] : graph.tensors)
      program.tensors.emplace(prefix + name, meta);
    for (auto &[name, size] : graph.integers)
      program.integers.emplace(prefix + name, size);
    for (auto [i, argument] : llvm::enumerate(given))
      if (i < graph.inputs.size())
        if (auto *name = std::get_if<ValueName>(&argument))
          current[prefix + graph.inputs[i]] = name->name;
    for (const Node &node : graph.nodes)
      inlineNode(graph, node, prefix, detached);
  }

  /// Whether a node's result is read, and by nothing but the largest or smallest of many.
  static bool hasOnlyExtrema(const Graph &graph, const Node &node) {
    static const llvm::StringSet<> extrema = {"scatter_reduce", "index_reduce", "amax", "amin", "max", "min"};
    auto isName = [&](const Argument &argument) {
      auto *name = std::get_if<ValueName>(&argument);
      auto *names = std::get_if<ValueNames>(&argument);
      return !node.outputs.empty() &&
             ((name && name->name == node.outputs[0]) || (names && llvm::is_contained(names->names, node.outputs[0])));
    };
    bool isRead = false;
    for (const Node &user : graph.nodes)
      for (const NamedArgument &argument : user.arguments) {
        if (!isName(argument.value))
          continue;
        StringRef op = user.target;
        op.consume_front("torch.ops.aten.");
        const Argument *reduce = user.find("reduce");
        auto *kind = reduce ? std::get_if<std::string>(reduce) : nullptr;
        if (!extrema.contains(op.split('.').first) || (kind && *kind != "amax" && *kind != "amin"))
          return false;
        isRead = true;
      }
    return isRead && llvm::none_of(graph.outputs, isName);
  }

  void inlineNode(const Graph &graph, const Node &node, const std::string &prefix, bool detached) {
    StringRef target = node.target;
    if (target.consume_front("torch.ops.higher_order."))
      return inlineCall(node, target, prefix, detached);
    NormalNode normal;
    normal.origin = &node;
    if (target.consume_front("torch.ops.aten.") || target.consume_front("_operator.") ||
        (!target.starts_with("torch.ops.") && target.consume_front("torch."))) {
      auto [op, overload] = target.split('.');
      normal.op = op.str();
      normal.overload = overload.str();
      if (StringRef(node.target).starts_with("_operator.") || !StringRef(node.target).starts_with("torch.ops."))
        normal.overload = pythonOverload;
    } else {
      normal.op = node.target;
    }
    // Decompositions leave `alias` where `detach` was, but `x[...]` is one too, which has a gradient. Where the file
    // has no history of its nodes, one of which extrema alone are taken is the `detach` that the shift of a softmax
    // has.
    if (!isTraining && normal.op == "alias") {
      if (node.wasDetach ? *node.wasDetach : hasOnlyExtrema(graph, node))
        normal.op = "detach";
      else if (!node.wasDetach)
        normal.refusal =
            "'alias' is what decompositions leave of 'detach', but of x[...] too, and the file does not say "
            "of which; save the program before run_decompositions()";
    }
    const std::string op = normal.op;
    if (StringRef(op).starts_with("_assert") || StringRef(op).starts_with("sym_constrain_range"))
      return;
    for (auto [i, argument] : llvm::enumerate(node.arguments)) {
      std::string name = argument.name.empty() ? "arg" + std::to_string(i) : argument.name;
      normal.arguments[name] = renamed(argument.value, prefix);
    }
    for (const std::string &output : node.outputs)
      normal.outputs.push_back(output.empty() ? "" : prefix + output);
    bool inPlace = op.size() > 1 && StringRef(op).ends_with("_") && !StringRef(op).ends_with("__");
    if (inPlace)
      normal.op.pop_back();
    normal.op = spelled(normal.op).str();
    if (normal.op == "take_along_dim")
      takeAsGather(normal);
    std::string changed;
    if (inPlace || op == "batch_norm")
      if (auto *self = std::get_if<ValueName>(&normal.arguments["self"]); inPlace && self)
        changed = self->name;
    // cumsum(x, out=y[1:]) writes over all of what it is given.
    if (StringRef(normal.overload).ends_with("out"))
      if (auto out = normal.arguments.find("out"); out != normal.arguments.end())
        if (auto *written = std::get_if<ValueName>(&out->second)) {
          changed = written->name;
          normal.arguments.erase(out);
        }
    static const llvm::StringSet<> reshaping = {"squeeze",  "unsqueeze", "transpose", "t",        "swapaxes",
                                                "swapdims", "resize",    "set",       "resize_as"};
    if (!changed.empty() && changed != rootOf(changed) && !wholes.count(changed) && reshaping.contains(normal.op))
      normal.refusal = "it changes the shape of a tensor in place; use '" + normal.op + "' without the underscore";
    auto *together = normal.op == "broadcast_tensors" ? std::get_if<ValueNames>(&normal.arguments["tensors"]) : nullptr;
    if (!together)
      return append(std::move(normal), changed, detached);
    for (auto [operand, output] : llvm::zip(together->names, normal.outputs)) {
      if (output.empty())
        continue;
      NormalNode each;
      each.origin = &node;
      each.op = "expand";
      each.arguments["self"] = ValueName{operand};
      each.outputs = {output};
      append(std::move(each), "", detached);
    }
  }

  /// A node with all that follows from it. `changed`: what it writes to.
  void append(NormalNode normal, const std::string &changed, bool detached) {
    const Node &node = *normal.origin;
    noteView(normal);
    if (detached && !changed.empty() && (graded.count(changed) || graded.count(nameOf(rootOf(changed), ""))))
      normal.refusal =
          "it changes a tensor in place within no_grad, so that PyTorch takes its gradient for that of the "
          "tensor before the change; compute a new tensor outside of no_grad, or change a detached copy";
    bool isGraded = !detached && normal.op != "detach" && hasGraded(normal);
    std::vector<std::string> outputs = normal.outputs;
    program.nodes.push_back(std::move(normal));
    for (const std::string &output : outputs)
      if (isGraded && isFloat(output, program.tensors))
        graded.insert(output);
    if (!changed.empty() && !outputs.empty())
      replaceChanged(changed, outputs[0], node);
    if (detached)
      for (const std::string &output : outputs)
        detach(output, node);
  }

  /// `take_along_dim` is `gather` where neither operand is the same all along an axis of the other.
  void takeAsGather(NormalNode &node) const {
    auto metaOf = [&](const char *argument) -> const TensorMeta * {
      auto *name = std::get_if<ValueName>(&node.arguments[argument]);
      auto found = name ? program.tensors.find(name->name) : program.tensors.end();
      return found == program.tensors.end() ? nullptr : &found->second;
    };
    const TensorMeta *rows = metaOf("self"), *places = metaOf("indices");
    auto *dim = std::get_if<int64_t>(&node.arguments["dim"]);
    if (!rows || !places || !dim || rows->sizes.size() != places->sizes.size())
      return;
    int64_t axis = *dim < 0 ? *dim + int64_t(rows->sizes.size()) : *dim;
    for (auto [i, all, own] : llvm::enumerate(rows->sizes, places->sizes))
      if (int64_t(i) != axis && (all.literal() == 1) != (own.literal() == 1))
        return;
    node.op = "gather";
    node.arguments["index"] = node.arguments["indices"];
    node.arguments.erase("indices");
  }

  template <typename Tensors> static bool isFloat(const std::string &name, const Tensors &tensors) {
    auto meta = tensors.find(name);
    return meta != tensors.end() &&
           (meta->second.type == ScalarType::Float32 || meta->second.type == ScalarType::Float64);
  }

  /// Whether a node is given anything that may have a gradient.
  bool hasGraded(const NormalNode &node) const {
    for (auto &[argument, value] : node.arguments) {
      auto *name = std::get_if<ValueName>(&value);
      auto *names = std::get_if<ValueNames>(&value);
      if ((name && graded.count(name->name)) ||
          (names && llvm::any_of(names->names, [&](const std::string &each) { return graded.count(each) > 0; })))
        return true;
    }
    return false;
  }

  /// Later uses of a tensor that is changed in place get the operation's result, as do those of the tensor whose memory
  /// it is. All other views of that memory still have the old numbers, so that using them is refused.
  void replaceChanged(const std::string &changed, const std::string &result, const Node &node) {
    const std::string root = rootOf(changed), memory = memoryOf(root);
    program.changed.push_back(root);
    if (memory != root)
      program.changed.push_back(memory);
    std::set<std::string> renewed = {result};
    bool isAll = changed == root || wholes.count(changed);
    current[changed] = result;
    if (isAll)
      replaceWhole(root, result);
    else if (!writeBack(changed, result, node, renewed))
      frozen.emplace(nameOf(root, ""), node.name);
    for (auto &[view, base] : views)
      if (base == root && !renewed.count(view) && !current.count(view))
        if (isAll ? view != result : view != nameOf(root, ""))
          frozen.emplace(view, node.name);
    standsFor(result, changed);
    // What shares the memory and has another gradient has the new numbers too.
    auto freezeOther = [&](const std::string &name) {
      if (rootOf(name) != root && memoryOf(name) == memory)
        frozen.emplace(nameOf(name, ""), node.name);
    };
    freezeOther(memory);
    for (auto &[detached, of] : memories)
      freezeOther(detached);
    for (auto &[view, base] : views)
      freezeOther(view);
  }

  /// `value` lies where `of` lay, as a part of the same memory.
  void standsFor(const std::string &value, const std::string &of) {
    if (value != rootOf(of))
      views[value] = rootOf(of);
    if (auto maker = makers.find(of); maker != makers.end() && !wholes.count(value))
      makers[value] = maker->second;
    if (of == rootOf(of) || wholes.count(of))
      wholes.insert(value);
  }

  /// A tensor, and all that is the whole of it, is `value` from now on.
  void replaceWhole(const std::string &root, const std::string &value) {
    current[root] = value;
    for (const std::string &whole : wholes)
      if (whole != value && rootOf(whole) == root)
        current[whole] = value;
    views[value] = root;
    wholes.insert(value);
  }

  /// What was written into a part of a tensor is a part of the tensor from then on: `x[:, 0] = v` gives x another
  /// value. `part` is a view that is made of views which can be turned round. What may be a copy (reshape, flatten,
  /// contiguous) is none: nobody can tell from the file whether the tensor changes.
  bool writeBack(const std::string &part, const std::string &result, const Node &node, std::set<std::string> &renewed) {
    static const llvm::StringSet<> shapes = {"view", "squeeze", "unsqueeze", "unflatten"};
    std::string own = part, value = result;
    const std::string root = rootOf(part);
    std::vector<NormalNode> nodes;
    std::vector<std::pair<std::string, std::string>> written; // what each part between has become
    while (own != root && !wholes.count(own)) {
      auto maker = makers.find(own);
      if (maker == makers.end())
        return false;
      const NormalNode &view = maker->second;
      std::string base = nameOf(std::get<ValueName>(view.arguments.at("self")).name, "");
      NormalNode back;
      back.origin = &node;
      back.arguments["self"] = ValueName{base};
      back.arguments["src"] = ValueName{value};
      if (view.op == "select" || view.op == "slice") {
        back.op = view.op + "_scatter";
        for (const char *name : {"dim", "index", "start", "end", "step"})
          if (auto found = view.arguments.find(name); found != view.arguments.end())
            back.arguments[name] = found->second;
      } else if (view.op == "narrow") { // a slice that says how long it is
        back.op = "slice_scatter";
        back.arguments["dim"] = view.arguments.at("dim");
        back.arguments["start"] = view.arguments.at("start");
        auto *start = std::get_if<int64_t>(&view.arguments.at("start"));
        auto *length = std::get_if<int64_t>(&view.arguments.at("length"));
        if (start && length && (*start >= 0 || *start + *length < 0))
          back.arguments["end"] = *start + *length;
      } else if (shapes.contains(view.op) && !view.arguments.count("dtype")) {
        back.op = "view";
        back.arguments = {{"self", ValueName{value}}};
      } else if (view.op == "t" || view.op == "transpose") {
        back.op = view.op;
        back.arguments = view.arguments;
        back.arguments["self"] = ValueName{value};
      } else {
        return false;
      }
      auto meta = program.tensors.find(base);
      if (meta == program.tensors.end())
        return false;
      std::string name = (wholes.count(base) ? root : base) + ".written" + std::to_string(++writes);
      program.tensors.emplace(name, TensorMeta(meta->second));
      back.outputs = {name};
      nodes.push_back(back);
      written.emplace_back(base, name);
      value = name;
      own = base;
    }
    for (NormalNode &each : nodes)
      program.nodes.push_back(std::move(each));
    for (auto &[base, name] : written) {
      renewed.insert(name);
      if (name == value)
        break;
      current[base] = name;
      standsFor(name, base);
    }
    replaceWhole(root, value);
    return true;
  }

  const std::string &rootOf(const std::string &name) const {
    auto known = views.find(name);
    return known == views.end() ? name : known->second;
  }

  /// The tensor that has a tensor's memory: `detach` gives another tensor of the same numbers.
  const std::string &memoryOf(const std::string &name) const {
    const std::string &root = rootOf(name);
    auto known = memories.find(root);
    return known == memories.end() ? root : known->second;
  }

  std::string refusalOf(const std::string &name) const {
    auto known = frozen.find(name);
    if (known == frozen.end())
      return "";
    return "'" + name + "' is used after node '" + known->second +
           "' wrote to its memory in place through another tensor, which is not supported; compute a new tensor "
           "instead, for instance with torch.where, or write to the whole tensor by its own name";
  }

  /// Remembers what shares memory with what, and refuses uses of what has been changed through something else.
  void noteView(NormalNode &node) {
    auto check = [&](const std::string &name) {
      if (std::string refusal = refusalOf(name); !refusal.empty())
        node.refusal = refusal;
    };
    for (auto &[argument, value] : node.arguments) {
      if (auto *name = std::get_if<ValueName>(&value))
        check(name->name);
      if (auto *names = std::get_if<ValueNames>(&value))
        for (const std::string &name : names->names)
          check(name);
    }
    static const llvm::StringSet<> viewing = {
        "view",         "reshape",          "expand",      "expand_as",       "select",
        "slice",        "squeeze",          "unsqueeze",   "transpose",       "t",
        "detach",       "permute",          "flatten",     "unflatten",       "alias",
        "narrow",       "unbind",           "split",       "chunk",           "to",
        "contiguous",   "numpy_T",          "view_as",     "reshape_as",      "type_as",
        "diagonal",     "unfold",           "ravel",       "swapaxes",        "movedim",
        "mT",           "adjoint",          "float",       "double",          "lift_fresh",
        "tensor_split", "swapdims",         "expand_copy", "moveaxis",        "broadcast_to",
        "unsafe_split", "split_with_sizes", "dropout",     "feature_dropout", "hsplit",
        "vsplit",       "dsplit",           "atleast_1d",  "atleast_2d",      "atleast_3d"};
    static const llvm::StringSet<> inputs = {"self", "input"};
    for (auto &[argument, value] : node.arguments) {
      auto *base = std::get_if<ValueName>(&value);
      if (!viewing.contains(node.op) || !base || !inputs.contains(argument))
        continue;
      if (isConverted(node, *base)) // in memory of its own
        continue;
      for (const std::string &output : node.outputs) {
        if (node.op == "detach") {
          memories[output] = memoryOf(base->name);
          continue;
        }
        views[output] = rootOf(base->name);
        if (node.outputs.size() == 1 && argument == "self")
          makers[output] = node;
        if (isWhole(node) && (base->name == rootOf(base->name) || wholes.count(base->name)))
          wholes.insert(output);
      }
    }
  }

  static bool mayConvert(StringRef op) { return op == "to" || op == "type_as" || op == "float" || op == "double"; }

  /// Whether a conversion has something to do: `x.to(device)` is x where that is there.
  bool isConverted(const NormalNode &node, const ValueName &self) const {
    if (!mayConvert(node.op) || node.outputs.size() != 1)
      return false;
    auto copy = node.arguments.find("copy");
    if (auto *flag = copy == node.arguments.end() ? nullptr : std::get_if<bool>(&copy->second); flag && *flag)
      return true;
    auto from = program.tensors.find(self.name), to = program.tensors.find(node.outputs[0]);
    return from != program.tensors.end() && to != program.tensors.end() &&
           (from->second.type != to->second.type || from->second.device != to->second.device);
  }

  /// `x[:]`, for example: all of a tensor, in its shape.
  static bool isWhole(const NormalNode &node) {
    auto number = [&](const char *name, int64_t absent) {
      auto found = node.arguments.find(name);
      if (found == node.arguments.end() || std::holds_alternative<NoArgument>(found->second))
        return absent;
      auto *value = std::get_if<int64_t>(&found->second);
      return value ? *value : int64_t(-1);
    };
    // Dropout outside training gives back what it is given.
    auto train = node.arguments.find("train");
    auto *isTraining = train == node.arguments.end() ? nullptr : std::get_if<bool>(&train->second);
    if (node.op == "dropout" || node.op == "feature_dropout")
      return isTraining && !*isTraining;
    if (node.op == "alias" || node.op == "lift_fresh" || mayConvert(node.op))
      return true;
    return (node.op == "slice" && number("start", 0) == 0 && number("end", INT64_MAX) == INT64_MAX &&
            number("step", 1) == 1);
  }

  void detach(const std::string &output, const Node &node) {
    auto meta = program.tensors.find(output);
    if (!isFloat(output, program.tensors))
      return;
    NormalNode normal;
    normal.origin = &node;
    normal.op = "detach";
    normal.arguments["self"] = ValueName{output};
    normal.outputs = {output + ".detached"};
    program.tensors.emplace(output + ".detached", meta->second);
    current[output] = output + ".detached";
    standsFor(output + ".detached", output);
    program.nodes.push_back(std::move(normal));
  }

  /// The subgraph of `no_grad` or autocast, as if it stood in the place of the call.
  void inlineCall(const Node &node, StringRef kind, const std::string &prefix, bool detached) {
    std::shared_ptr<const Graph> graph;
    std::vector<Argument> given;
    bool enabled = true, afterGraph = false;
    std::vector<Argument> before;
    for (const NamedArgument &argument : node.arguments) {
      if (auto *found = std::get_if<std::shared_ptr<const Graph>>(&argument.value)) {
        graph = *found;
        afterGraph = true;
      } else if (afterGraph) {
        given.push_back(renamed(argument.value, prefix));
      } else {
        before.push_back(argument.value);
      }
    }
    if (!graph || (kind != "wrap_with_set_grad_enabled" && kind != "wrap_with_autocast"))
      throw Refusal{"the higher-order operator '" + kind.str() + "' has no meaning in gnnc; write the step without it"};
    for (const Argument &argument : before)
      if (auto *flag = std::get_if<bool>(&argument)) {
        enabled = *flag;
        break;
      }
    if (kind == "wrap_with_autocast" && enabled)
      throw Refusal{
          "autocast to a narrower type inside the model; export it without autocast, and compile with --dtype"};
    std::string inner = prefix + node.name + "/";
    inlineGraph(*graph, inner, given, detached || (kind == "wrap_with_set_grad_enabled" && !enabled));
    std::vector<std::string> results;
    for (const Argument &output : graph->outputs)
      if (auto *name = std::get_if<ValueName>(&output))
        results.push_back(nameOf(name->name, inner));
    for (auto [output, result] : llvm::zip(node.outputs, results))
      current[prefix + output] = result;
  }

  const bool isTraining;
  NormalProgram program;
  std::map<std::string, std::string> current; ///< names that now stand for others
  std::map<std::string, std::string> views;   ///< what a view looks at
  std::set<std::string> wholes;               ///< views of all of it, in its shape
  /// Of a tensor from `detach`, which is no view of another, the one whose memory it has.
  std::map<std::string, std::string> memories;
  std::set<std::string> graded;             ///< what may have a gradient
  std::map<std::string, NormalNode> makers; ///< the node of each view
  int writes = 0;
  std::map<std::string, std::string> frozen; ///< what was changed through another name, and by which node
};

} // namespace

NormalProgram gnnc::frontend::pytorch::normalise(const Graph &graph, bool isTraining) {
  return Normaliser(isTraining).run(graph);
}
