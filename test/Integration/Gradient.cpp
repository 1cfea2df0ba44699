//===- Gradient.cpp - Gradients against differences -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradient.h"
#include "Interpreted.h"

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Transforms/Passes.h"

#include "dialects/mpk/IR/MPK.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace gnnc;
using namespace gnnc::test;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::shared_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mpk::MPKDialect, mpdfg::MPDFGDialect, mlir::func::FuncDialect>();
  return context;
}

Program::Program(const frontend::ModelSpec &model, bool forRanks)
    : context(makeContext()), module(importModel(model, context.get(), forRanks)) {}

Program::Program(llvm::StringRef mlir)
    : context(makeContext()), module(mlir::parseSourceString<mlir::ModuleOp>(mlir, context.get())) {}

bool Program::differentiate(bool inputs) {
  function = kGradient.str();
  DifferentiateOptions options;
  options.inputs = inputs;
  mlir::PassManager passes(context.get());
  passes.addPass(createDifferentiate(options));
  return mlir::succeeded(passes.run(*module));
}

bool Program::lower(unsigned optLevel) {
  function = kGradient.str();
  for (const PassPhase &phase : passPhases()) {
    mlir::PassManager passes(context.get());
    phase.populate(passes, PhaseOptions(optLevel, /*gradient=*/true));
    if (mlir::failed(passes.run(*module)))
      return false;
    if (phase.name == "fuse")
      break;
  }
  return true;
}

mlir::func::FuncOp Program::body() const {
  return mlir::cast<mlir::func::FuncOp>(mlir::SymbolTable::lookupSymbolIn(module.get(), function));
}

llvm::Expected<Tensors> Program::run(const Graph &graph, const Tensors &tensors) const {
  auto results = interpretOn(*module, graph, tensors, function);
  if (!results)
    return results.takeError();
  return tensorsOf(std::move(*results));
}

/// Element numbers are no magnitudes.
static bool isNumber(mlir::Value value) {
  while (auto move = value.getDefiningOp<mpdfg::BroadcastOp>())
    value = move.getInput();
  auto reduce = value.getDefiningOp<mpdfg::ReduceOp>();
  return reduce && (reduce.getKind() == mpdfg::ReduceKind::ArgMax || reduce.getKind() == mpdfg::ReduceKind::ArgMin);
}

llvm::Expected<std::map<std::string, double>> Program::magnitudes(const Graph &graph, const Tensors &tensors) const {
  // All values are results of a copy.
  mlir::OwningOpRef<mlir::ModuleOp> copy = mlir::cast<mlir::ModuleOp>(module.get()->clone());
  auto function = mlir::cast<mlir::func::FuncOp>(mlir::SymbolTable::lookupSymbolIn(copy.get(), this->function));
  mlir::Block &block = function.getBody().front();
  mlir::Operation *terminator = block.getTerminator();
  llvm::SmallVector<mlir::Value> results(terminator->getOperands()), all(results);
  llvm::SmallVector<std::string> names;
  for (size_t i = 0; i < results.size(); ++i)
    names.push_back(function.getResultAttrOfType<mlir::StringAttr>(i, kNameAttr).str());
  llvm::append_range(all, block.getArguments());
  for (mlir::Operation &op : block.without_terminator())
    llvm::append_range(all, op.getResults());
  terminator->setOperands(all);
  function.removeResAttrsAttr();
  function.setType(
      mlir::FunctionType::get(context.get(), function.getArgumentTypes(), mlir::ValueRange(all).getTypes()));
  auto values = interpretOn(*copy, graph, tensors, this->function);
  if (!values)
    return values.takeError();
  llvm::DenseMap<mlir::Value, double> largest;
  for (auto [value, tensor] : llvm::zip(all, *values)) {
    double most = 0;
    if (!isNumber(value))
      for (double number : tensor.value.data)
        if (std::isfinite(number))
          most = std::max(most, std::abs(number));
    if (mlir::Operation *op = value.getDefiningOp())
      for (mlir::Value operand : op->getOperands())
        most = std::max(most, largest.lookup(operand));
    double &known = largest[value];
    known = std::max(known, most);
  }
  std::map<std::string, double> magnitudes;
  for (auto [name, value] : llvm::zip(names, results))
    magnitudes[name] = largest.lookup(value);
  return magnitudes;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

void test::addOutputGradients(Tensors &tensors, const Tensors &outputs, unsigned seed) {
  for (const auto &[name, output] : outputs) {
    Tensor gradient = output;
    uint32_t mixed = seed;
    for (unsigned char c : name)
      mixed = mixed * 31 + c;
    std::mt19937 random(mixed);
    for (double &number : gradient.data)
      number = double(int32_t(random() % 513) - 256) / 256;
    tensors["grad." + name] = std::move(gradient);
  }
}

namespace {

/// The sum over all outputs y of y * grad.y, as a function of inputs that change.
class Loss {
public:
  Loss(const Program &program, const Graph &graph, const Tensors &tensors)
      : changed(tensors), program(program), graph(graph), tensors(tensors) {}

  double operator()() {
    double sum = 0;
    llvm::Expected<Tensors> outputs = program.run(graph, changed);
    if (!outputs) {
      error = llvm::toString(outputs.takeError());
      return sum;
    }
    for (const auto &[name, output] : *outputs) {
      const Tensor &weight = tensors.at("grad." + name);
      for (size_t i = 0; i < output.data.size(); ++i)
        if (!std::isinf(output.data[i])) // The log-sum-exp of no members does not change.
          sum += weight.data[i] * output.data[i];
    }
    return sum;
  }

  /// The input that a gradient is of; null where it is not given.
  Tensor *inputOf(llvm::StringRef gradient) {
    if (!gradient.consume_front("grad."))
      return nullptr;
    auto given = changed.find(gradient.str());
    return given == changed.end() ? nullptr : &given->second;
  }

  Tensors changed;
  std::string error; ///< of the last run, if it failed

private:
  const Program &program;
  const Graph &graph;
  const Tensors &tensors;
};

} // namespace

std::string test::compareAlongLines(const Program &program, const Graph &graph, const Tensors &tensors,
                                    const Tensors &gradients) {
  Loss loss(program, graph, tensors);
  std::mt19937 random(11);
  for (const auto &[name, gradient] : gradients) {
    Tensor *x = loss.inputOf(name);
    if (!x)
      continue;
    if (gradient.shape != x->shape)
      return name + " has another shape than the value";
    double largest = 1e-2;
    for (double number : gradient.data)
      largest = std::max(largest, std::abs(number));
    const std::vector<double> before = x->data;
    // No direction is small for any number, so that each number's error shows.
    double tolerance = 2e-6 * largest * std::sqrt(double(before.size()));
    for (int line = 0; line < 2; ++line) {
      std::vector<double> direction(before.size());
      double predicted = 0;
      for (size_t i = 0; i < direction.size(); ++i) {
        direction[i] = (random() % 2 ? 1 : -1) * (0.5 + double(random() % 512) / 1024);
        predicted += direction[i] * gradient.data[i];
      }
      auto at = [&](double step) {
        for (size_t i = 0; i < before.size(); ++i)
          x->data[i] = before[i] + step * direction[i];
        double value = loss();
        x->data = before;
        return value;
      };
      double best = INFINITY, found = 0;
      std::vector<double> slopes;
      for (double step : {1e-5, 1e-6, 1e-4, 1e-7, 1e-8}) {
        double above = at(step), slope = (above - at(-step)) / (2 * step);
        if (!loss.error.empty())
          return loss.error;
        slopes.push_back(slope);
        if (double difference = std::abs(slope - predicted); difference < best) {
          best = difference;
          found = slope;
        }
        if (best <= tolerance)
          break;
      }
      // Of many maxima some change their winner within any step that is not lost in rounding: then no two steps have
      // the same slope, and the line says nothing. A gradient that is wrong leaves the slopes as they are.
      llvm::sort(slopes);
      bool agree = std::adjacent_find(slopes.begin(), slopes.end(), [&](double a, double b) {
                     return !(b - a > tolerance); // Also where one is not a number.
                   }) != slopes.end();
      if (!(best <= tolerance) && agree)
        return llvm::formatv("{0} along a line: the slope is {1}, the gradient says {2}", name, found, predicted);
    }
  }
  return "";
}

std::string test::compareWithDifferences(const Program &program, const Graph &graph, const Tensors &tensors,
                                         const Tensors &gradients, double tolerance) {
  Loss loss(program, graph, tensors);
  for (const auto &[name, gradient] : gradients) {
    Tensor *input = loss.inputOf(name);
    if (!input)
      continue;
    Tensor &x = *input;
    if (gradient.shape != x.shape)
      return name + " has another shape than the value";
    double largest = 1e-2;
    for (double number : gradient.data)
      largest = std::max(largest, std::abs(number));
    for (size_t i = 0; i < x.data.size(); ++i) {
      // A kink may be near by: then a smaller step.
      double before = x.data[i], best = INFINITY, found = 0;
      for (double step : {1e-5, 1e-6, 1e-4, 1e-7, 1e-8}) {
        x.data[i] = before + step;
        double above = loss();
        x.data[i] = before - step;
        double slope = (above - loss()) / (2 * step);
        x.data[i] = before;
        if (!loss.error.empty())
          return loss.error;
        double difference = std::abs(slope - gradient.data[i]);
        if (difference < best) {
          best = difference;
          found = slope;
        }
        if (best <= tolerance * largest)
          break;
      }
      if (!(best <= tolerance * largest))
        return llvm::formatv("{0}, number {1}: the slope is {2}, the gradient {3}", name, i, found, gradient.data[i]);
    }
  }
  return "";
}
