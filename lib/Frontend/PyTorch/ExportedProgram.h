//===- ExportedProgram.h - What a .pt2 file says ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that `torch.export.save` wrote, as plain data: nodes in order, their arguments, the shapes of values, and
// where weights lie. It is checked to be well formed (every name is defined before its use, every size is positive,
// every weight lies within its storage), but not to mean anything to gnnc. Subgraphs of `no_grad` and `autocast` are
// still subgraphs here.
//
// Source: torch/_export/serde/schema.py, SCHEMA_VERSION 8.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_EXPORTEDPROGRAM_H
#define GNNC_LIB_FRONTEND_PYTORCH_EXPORTEDPROGRAM_H

#include "gnnc/Support/SymbolicExpr.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gnnc::frontend::pytorch {

/// The numbers that the schema uses.
enum class ScalarType {
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Complex32 = 9,
  Complex64 = 10,
  Complex128 = 11,
  Bool = 12,
  BFloat16 = 13,
  UInt16 = 28,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
  Float8E4M3FNUZ = 31,
  Float8E5M2FNUZ = 32,
};

/// torch's own name without `torch.`, such as `float32`.
const char *nameOf(ScalarType type);
bool isFloatType(ScalarType type);
/// The bytes of an element.
int64_t bytesOf(ScalarType type);

/// A size or another integer of the program: an expression over the program's symbols.
struct Size {
  /// The value, if it is linear in the symbols (a literal has no symbol). `Mod(s0, 4)` is a symbol too.
  std::optional<SymbolicExpr> linear;
  /// As sympy prints it (`s77 + 1`, `Mod(s0, 4)`), for messages and where `linear` is empty.
  std::string text;

  /// The number, if no symbol is in it.
  std::optional<int64_t> literal() const {
    if (linear && linear->getFactors().empty())
      return linear->getNumber();
    return std::nullopt;
  }
};

struct TensorMeta {
  ScalarType type = ScalarType::Float32;
  std::vector<Size> sizes;
  bool requiresGrad = false;
  std::string device; ///< its type, such as "cpu"; empty: the file does not say
};

struct Graph;

/// An argument that nothing was given for (`as_none`), or one without a meaning here (layout, device, memory format).
struct NoArgument {};
/// The value called so: a tensor, or a symbolic integer, float or boolean.
struct ValueName {
  std::string name;
};
/// A list of tensors; an empty name stands for None.
struct ValueNames {
  std::vector<std::string> names;
};
/// A list of integers, each a number or the value called so.
struct Integers {
  std::vector<std::variant<int64_t, ValueName>> numbers;
};
/// An argument that no operator of gnnc's takes, such as a complex number or an object, by the schema's name
/// (`as_complex`).
struct OtherArgument {
  std::string kind;
};

using ArgumentVariant =
    std::variant<NoArgument, ValueName, ValueNames, int64_t, double, bool, std::string, Integers, std::vector<double>,
                 std::vector<bool>, ScalarType, std::shared_ptr<const Graph>, OtherArgument>;

/// A type of its own, so that copies and destructors of so many types are compiled once.
struct Argument : ArgumentVariant {
  using ArgumentVariant::ArgumentVariant;
  using ArgumentVariant::operator=;
  Argument();
  Argument(const Argument &other);
  Argument(Argument &&other) noexcept;
  Argument &operator=(const Argument &other);
  Argument &operator=(Argument &&other) noexcept;
  ~Argument();
};

struct NamedArgument {
  /// Of the operator's schema, such as `self`; `a` and `b` for functions of Python's `operator`; empty for arguments of
  /// higher-order operators.
  std::string name;
  Argument value;
};

/// One frame of the user's own code: the innermost of the stack trace that is not torch's.
struct SourceFrame {
  std::string file;
  int line = 0;
  std::string text; ///< the source line, without its indentation
};

/// One instance on the way to a node: path `layers.0.conv`, class `torch_geometric.nn.conv.gcn_conv.GCNConv`.
struct ModuleFrame {
  std::string path; ///< empty for the model itself
  std::string className;
  int64_t call = 0; ///< 0 for the first call of this instance, 1 for the second
};

struct Node {
  std::string name;
  /// As the file has it: `torch.ops.aten.add.Tensor`, `_operator.ge`,
  /// `torch.ops.higher_order.wrap_with_set_grad_enabled`.
  std::string target;
  std::vector<NamedArgument> arguments; ///< those at their default are absent
  std::vector<std::string> outputs;     ///< names of tensors or numbers; empty where the schema has None
  std::vector<ModuleFrame> modules;     ///< from the outermost; empty where the file does not say
  std::optional<SourceFrame> source;
  std::string trace; ///< the whole stack trace, as the file has it
  /// Whether it was `detach` before decompositions; nothing where the file does not say what it was.
  std::optional<bool> wasDetach;

  const Argument *find(const std::string &argument) const;
};

/// A subgraph sees no names but its own; its inputs are arguments of the node that has it.
struct Graph {
  std::vector<std::string> inputs; ///< a name is empty for an input that is a constant
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Size> integers; ///< symbolic integers
};

/// A tensor that lies in the archive. Its storage is shared by all that name the same entry.
struct StoredTensor {
  TensorMeta meta; ///< all sizes are literal
  std::vector<int64_t> strides;
  int64_t offset = 0; ///< in elements
  std::string entry;  ///< name of the archive's entry; the same for tied weights
  std::shared_ptr<const std::vector<std::byte>> storage;
};

struct ProgramInput {
  enum class Kind { Parameter, Buffer, Constant, User, ConstantInput };
  Kind kind = Kind::User;
  std::string value;  ///< the placeholder's name in the graph
  std::string target; ///< the full name of a parameter, buffer or constant: `conv.lin.weight`
  /// What a ConstantInput has: a number, a string, or NoArgument for None. A User input that is a number has it too,
  /// and no name. NoArgument for all others.
  Argument constant;
};

struct ProgramOutput {
  enum class Kind { User, BufferMutation, Loss, InputMutation };
  Kind kind = Kind::User;
  Argument value;
  std::string target; ///< the full name of a mutated buffer
};

/// The least and largest value of a symbol.
struct SymbolRange {
  std::optional<int64_t> least, largest;
};

struct ExportedProgram {
  std::string path;
  int64_t schemaMajor = 0, schemaMinor = 0;
  std::string torchVersion;
  bool isTraining = false; ///< the training IR, before decompositions
  Graph graph;
  std::vector<ProgramInput> inputs; ///< in the order of the graph's inputs
  std::vector<ProgramOutput> outputs;
  std::map<std::string, SymbolRange> ranges;
  std::map<std::string, StoredTensor> tensors; ///< parameters, buffers and constants by their full names
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_EXPORTEDPROGRAM_H
