//===- TrainingTest.cpp - Programs besides forward ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

#include <cmath>
#include <set>

using namespace gnnc::frontend;

static const Program &programNamed(const ModelSpec &model, const std::string &name) {
  for (const Program &program : model.programs)
    if (program.name == name)
      return program;
  ADD_FAILURE() << "no program " << name;
  static const Program none;
  return none;
}

static std::vector<std::string> targets(const ModelSpec &model, const Program &program) {
  std::vector<std::string> names;
  for (const Update &update : program.updates)
    names.push_back(model.values.at(update.target).name);
  return names;
}

static const Value &updateOf(const ModelSpec &model, const Program &program, const std::string &name) {
  for (const Update &update : program.updates)
    if (model.values.at(update.target).name == name)
      return model.values.at(update.value);
  ADD_FAILURE() << "no update of " << name;
  static const Value none;
  return none;
}

/// The given values and operations that some values need.
static std::set<Id> needs(const ModelSpec &model, const std::vector<Output> &outputs,
                          const std::vector<Update> &updates = {}) {
  std::set<Id> needed;
  for (const Output &output : outputs)
    needed.insert(output.value);
  for (const Update &update : updates)
    needed.insert(update.value);
  for (Id id = Id(model.values.size()) - 1; id >= 0; --id)
    if (needed.count(id))
      needed.insert(model.values[id].operands.begin(), model.values[id].operands.end());
  return needed;
}

static std::set<std::string> givenOf(const ModelSpec &model, const std::set<Id> &needed) {
  std::set<std::string> names;
  for (Id id : needed)
    if (model.values[id].op <= OpCode::State)
      names.insert(model.values[id].name);
  return names;
}

static const char *linear = "layer Descend(w: any[n], g: any[n], lr: float = 0.5) -> any[n] { w - lr * g }\n"
                            "layer Net(x: node[in], out: int) -> node[out] { param W[in, out], b[out]\n x @ W + b }\n";

static ModelSpec trained(const std::string &statements, const std::string &declarations = "") {
  return load(linear + declarations + "model M {\n  input x: node[in = 3], t: node[out = 2]\n" +
              "  output y = Net(x, out: 2) as net\n" + statements + "\n}");
}

static const std::string squares = "  loss = sum(sum(square(y - t), over: out), along: all)\n";

TEST(Train, OneStep) {
  ModelSpec model = trained(squares + "  train Descend()");
  ASSERT_EQ(model.programs.size(), 2u);
  EXPECT_EQ(model.outputs.size(), 1u);
  const Program &step = programNamed(model, "train_step");
  ASSERT_EQ(step.outputs.size(), 1u);
  EXPECT_EQ(step.outputs[0].name, "loss");
  EXPECT_EQ(typeOf(model, step.outputs[0].value), "shared[]");
  EXPECT_EQ(targets(model, step), (std::vector<std::string>{"net.W", "net.b"}));
  // W - 0.5 * gradient, flat on the way.
  const Value &W = updateOf(model, step, "net.W");
  EXPECT_EQ(W.op, OpCode::Split);
  EXPECT_EQ(W.axes, model.values[valueNamed(model, "net.W")].axes);
  const Value &renamed = model.values[W.operands[0]];
  EXPECT_EQ(renamed.axes, (std::vector<Axis>{{"flat", 6}}));
  const Value &difference = model.values[renamed.operands[0]];
  EXPECT_EQ(difference.name, "sub");
  EXPECT_EQ(count(model, OpCode::Gradient), 2);
  for (const Value &value : model.values)
    if (value.op == OpCode::Gradient) {
      EXPECT_EQ(value.operands[0], step.outputs[0].value);
      EXPECT_EQ(value.axes, model.values[value.operands[1]].axes);
    }
  // Forward needs neither the target nor the gradient.
  EXPECT_EQ(givenOf(model, needs(model, model.outputs)), (std::set<std::string>{"x", "net.W", "net.b"}));
  EXPECT_EQ(givenOf(model, needs(model, step.outputs, step.updates)),
            (std::set<std::string>{"x", "t", "net.W", "net.b"}));
  EXPECT_EQ(count(model, OpCode::State), 1); // the seed of initialize
}

TEST(Train, TheFirstStatementThatMatchesTakesAParameter) {
  const std::string declarations = "layer Two(x: node[in], out: int) { (Net(x, out: 4) as a) + "
                                   "(Net(x, out: 4) as ab) * 0 }\n";
  auto rates = [&](const std::string &statements) {
    ModelSpec model = load(linear + declarations +
                           "model M {\n  input x: node[in = 3]\n  output y = Two(x, out: 4) "
                           "as two\n  loss = sum(sum(y, over: out), along: all)\n" +
                           statements + "\n}");
    std::map<std::string, double> rates;
    const Program &step = programNamed(model, "train_step");
    for (const Update &update : step.updates) {
      // The constant that the gradient is multiplied by.
      for (Id id : needs(model, {{"", update.value}}))
        if (const Value &value = model.values[id]; value.op == OpCode::Binary && value.name == "sub")
          rates[model.values[update.target].name] = model.values[model.values[value.operands[1]].operands[0]].number;
    }
    return rates;
  };
  EXPECT_EQ(rates("train Descend(lr: 1) for two.a\n train Descend(lr: 2) for two.ab.W, two.a\n"),
            (std::map<std::string, double>{{"two.a.W", 1}, {"two.a.b", 1}, {"two.ab.W", 2}}));
  EXPECT_EQ(rates("train Descend(lr: 1) for two.ab.b\n train Descend(lr: 3)\n"),
            (std::map<std::string, double>{{"two.a.W", 3}, {"two.a.b", 3}, {"two.ab.W", 3}, {"two.ab.b", 1}}));
}

TEST(Train, StatesOfAnOptimiser) {
  ModelSpec model =
      load("import std\n" + std::string(linear) +
           "model M {\n  input x: node[in = 3], t: node[out = 2]\n  output y = Net(x, out: 2) as net\n" +
           "  param e: node[k = 5], scale\n" + squares +
           "  let all_of_it = loss + sum(sum(e, over: k), along: all) * scale\n" +
           "  output z = all_of_it\n  train Adam(lr: StepDecay(step, lr: 0.1, every: 10)) as opt for net.W\n"
           "  train SGD(momentum: 0.9)\n}");
  const Program &step = programNamed(model, "train_step");
  EXPECT_EQ(targets(model, step), (std::vector<std::string>{"net.W", "net.b", "net.W.opt.m", "net.W.opt.v",
                                                            "net.b.sgd.momentum.velocity", "step"}));
  EXPECT_EQ(typeOf(model, valueNamed(model, "net.W.opt.m")), "shared[dim = 6]");
  const Value &next = updateOf(model, step, "step");
  EXPECT_EQ(next.name, "add");
  EXPECT_EQ(next.operands[0], valueNamed(model, "step"));
  // What the loss does not depend on is not trained, but given a value.
  const Program &start = programNamed(model, "initialize");
  std::vector<std::string> names = targets(model, start);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"net.W", "net.b", "e", "scale", "net.W.opt.m", "net.W.opt.v",
                                   "net.b.sgd.momentum.velocity", "step"}));
  EXPECT_EQ(names.size(), 8u);
}

TEST(Train, ParametersOfAnyShape) {
  ModelSpec model = load(std::string(linear) + "model M {\n  param e: node[k = 5, l = 2], c: node[], s\n"
                                               "  output y = e * s + c\n"
                                               "  loss = sum(sum(y, over: (k, l)), along: all)\n"
                                               "  train Descend(clip: 1)\n}");
  const Program &step = programNamed(model, "train_step");
  for (const Update &update : step.updates) {
    EXPECT_EQ(typeOf(model, update.value), typeOf(model, update.target));
    EXPECT_EQ(model.values[update.value].axes, model.values[update.target].axes);
  }
  // The norm of all three: two of them are on nodes.
  EXPECT_EQ(count(model, OpCode::Binary, "minimum"), 1);
  int sums = 0;
  for (const Value &value : model.values)
    sums += value.op == OpCode::Reduce && value.map == kAll;
  EXPECT_EQ(sums, 3); // the loss and two norms
}

TEST(Train, Dropout) {
  ModelSpec model = trained("  loss = sum(sum(dropout(y, 0.25) - dropout(y, 0.5), over: out), along: all)\n"
                            "  metric m = sum(sum(dropout(y, 0.25), over: out), along: all)\n  train Descend()");
  std::vector<int> sites;
  for (const Value &value : model.values)
    if (value.op == OpCode::Random && value.residency != kNone) {
      sites.push_back(value.site);
      EXPECT_EQ(value.operands, (std::vector<Id>{valueNamed(model, "seed"), valueNamed(model, "step")}));
      EXPECT_EQ(value.axes, (std::vector<Axis>{{"out", 2}}));
    }
  EXPECT_EQ(sites, (std::vector<int>{0, 1}));
  EXPECT_EQ(targets(model, programNamed(model, "train_step")), (std::vector<std::string>{"net.W", "net.b", "step"}));
  // Metrics are those of the model at rest.
  const Program &evaluate = programNamed(model, "evaluate");
  for (Id id : needs(model, evaluate.outputs))
    EXPECT_NE(model.values[id].op, OpCode::Random);
  EXPECT_EQ(evaluate.outputs.at(0).name, "m");
}

TEST(Train, DropoutIsWrittenOut) {
  ModelSpec model = load(std::string(linear) +
                         "model M {\n  input x: node[in = 3] sparse\n  param W[in] = uniform(1)\n  output y = x @ W\n"
                         "  loss = sum(dropout(x, 0.2) @ W, along: all)\n  train Descend()\n}");
  const Value *random = nullptr;
  for (const Value &value : model.values)
    if (value.op == OpCode::Random && value.site == 0)
      random = &value;
  ASSERT_TRUE(random);
  EXPECT_EQ(spaceOf(model, random->residency), "x.entry");
  const Value &less = only(model, OpCode::Binary, "lt");
  EXPECT_EQ(&model.values[less.operands[0]], random);
  EXPECT_EQ(model.values[less.operands[1]].number, 0.8);
  const Value &mask = only(model, OpCode::Select);
  EXPECT_EQ(model.values[mask.operands[1]].number, 1.25);
  EXPECT_EQ(model.values[mask.operands[2]].number, 0);
}

TEST(Train, UpdatesOfStates) {
  const std::string norm = "layer Track(x: node[d], r: float = 0.5) -> node[d] {\n  state seen[d] = 2, count\n"
                           "  update seen = r * seen + mean(x, along: all)\n  update count = count + training\n"
                           "  training ? x : x - seen\n}\n";
  ModelSpec model = trained("  let h = Track(y) as t1\n"
                            "  loss = sum(sum(h - t, over: out), along: all)\n  output z = h\n"
                            "  metric unseen = sum(sum(Track(x) as t2, over: in), along: all)\n  train Descend()",
                            norm);
  const Program &step = programNamed(model, "train_step");
  EXPECT_EQ(targets(model, step), (std::vector<std::string>{"net.W", "net.b", "t1.seen", "t1.count"}));
  EXPECT_EQ(updateOf(model, step, "t1.seen").axes, (std::vector<Axis>{{"d", 2}}));
  EXPECT_EQ(givenOf(model, needs(model, step.outputs)), (std::set<std::string>{"x", "t", "net.W", "net.b"}));
  EXPECT_EQ(givenOf(model, needs(model, model.outputs)), (std::set<std::string>{"x", "net.W", "net.b", "t1.seen"}));
  EXPECT_EQ(givenOf(model, needs(model, programNamed(model, "evaluate").outputs)),
            (std::set<std::string>{"x", "t2.seen"}));
  // A number fills the state.
  const Value &seen = updateOf(model, programNamed(model, "initialize"), "t1.seen");
  EXPECT_EQ(seen.op, OpCode::Select);
  EXPECT_EQ(model.values[seen.operands[0]].number, 1);
  EXPECT_EQ(model.values[seen.operands[1]].number, 2);
  EXPECT_EQ(seen.axes, (std::vector<Axis>{{"d", 2}}));
}

TEST(Train, Labels) {
  ModelSpec model = load("import std\n" + std::string(linear) +
                         "model M(class: int = 4) {\n  input x: node[in = 3]\n"
                         "  output y = Net(x, out: class) as net\n  loss = CrossEntropy(y.train, onehot(label).train)\n"
                         "  metric val_accuracy = Accuracy(y.val, onehot(label).val)\n  train Adam()\n}");
  const Value *identity = nullptr;
  for (const Value &value : model.values)
    if (value.op == OpCode::Identity)
      identity = &value;
  ASSERT_TRUE(identity);
  EXPECT_EQ(spaceOf(model, identity->residency), "class");
  EXPECT_EQ(identity->axes, (std::vector<Axis>{{"class", 4}}));
  const Map &label = model.maps[mapNamed(model, "label")];
  EXPECT_TRUE(label.partial);
  EXPECT_EQ(label.from, spaceNamed(model, "node"));
  for (const Space &space : model.spaces)
    EXPECT_NE(space.name, "test"); // nobody tests
  EXPECT_EQ(typeOf(model, programNamed(model, "evaluate").outputs[0].value), "shared[]");
}

TEST(Train, Gradients) {
  ModelSpec model = load("model M {\n  input pos: node[xyz = 3]\n  let d = pos.src - pos.dst\n"
                         "  let energy = sum(sum(square(d), over: xyz), along: all)\n"
                         "  output force = -gradient(energy, pos)\n}");
  EXPECT_EQ(outputType(model), "node[xyz = 3]");
  const Value &gradient = only(model, OpCode::Gradient);
  EXPECT_EQ(gradient.operands[1], valueNamed(model, "pos"));
  EXPECT_TRUE(model.programs.empty());
  EXPECT_EQ(errorIn("\n  input x: node[k = 2]\n  output y = gradient(x, x)"),
            "3:14: expected a shared number to differentiate, found node[k = 2]");
}

TEST(Train, TheTwoElaborationsShareNames) {
  // Without `as` the second call would be 'net2' in training alone.
  const std::string loss = "  loss = sum(sum(z - t, over: out), along: all)\n  train Descend()\n";
  EXPECT_EQ(errorOf(std::string(linear) +
                    "model M {\n  input x: node[in = 3], t: node[out = 2]\n"
                    "  let z = training ? Net(Net(x, out: 3), out: 2) : Net(x, out: 2)\n"
                    "  output y = z\n" +
                    loss + "}"),
            "6:26: 'net.W' belongs to another call when the model is not trained; name this one with 'as'");
  ModelSpec model = load(std::string(linear) +
                         "model M {\n  input x: node[in = 3], t: node[out = 2]\n"
                         "  let h = training ? (Net(x, out: 3) as noise) : x\n"
                         "  let z = Net(h, out: 2) as net\n  output y = z\n" +
                         loss + "}");
  EXPECT_EQ(count(model, OpCode::Param), 4);
  EXPECT_EQ(givenOf(model, needs(model, model.outputs)), (std::set<std::string>{"x", "net.W", "net.b"}));
}

TEST(Train, Mistakes) {
  const std::string y = "  input x: node[in = 3], t: node[out = 2]\n  output y = Net(x, out: 2) as net\n";
  auto error = [&](const std::string &statements) {
    return errorOf("model M {\n" + y + statements + "\n}\n" + linear);
  };
  EXPECT_EQ(error("loss = y"),
            "4:8: a loss is one shared number, found node[out = 2]; reduce it, as in 'mean(x, along: all)'");
  EXPECT_EQ(error("metric m = y"),
            "4:12: a metric is one shared number, found node[out = 2]; reduce it, as in 'mean(x, along: all)'");
  EXPECT_EQ(error("loss = 1"), "4:1: nothing minimises this loss; expected a statement 'train OPTIMISER(...)' too, or "
                               "'output loss = ...'");
  EXPECT_EQ(error("train Descend()"), "4:7: there is no loss yet; expected a statement 'loss = ...' before this one");
  EXPECT_EQ(error("let loss = 1; train Descend()"),
            "4:21: there is no loss yet; expected a statement 'loss = ...' before this one");
  EXPECT_EQ(error("loss = 1; train Descend()"),
            "4:17: this trains no parameter: the loss depends on none that is left");
  EXPECT_EQ(error("loss = 1; loss = 2; train Descend()"), "4:11: a model has one loss");
  EXPECT_EQ(error("metric m = 1; metric m = 2"), "4:22: there is already a metric 'm'");
  EXPECT_EQ(error(squares + "train Descnd()"), "5:7: unknown optimiser 'Descnd'; did you mean 'Descend'?");
  EXPECT_EQ(error(squares + "train Descend(0.1)"), "5:15: arguments of an optimiser have names, as in 'lr: 0.01'");
  EXPECT_EQ(error(squares + "train Descend(rate: 0.1)"), "5:21: layer 'Descend' has no parameter 'rate'");
  EXPECT_EQ(error(squares + "train Descend(g: 1)"), "5:15: training itself gives 'g' to the optimiser");
  EXPECT_EQ(error(squares + "train Descend(clip: x)"),
            "5:21: the bound of gradients is one shared number, found node[in = 3]");
  EXPECT_EQ(error(squares + "train Descend() for nett"),
            "5:21: no parameter is called 'nett', nor does one belong to it; did you mean 'net'?");
  EXPECT_EQ(error(squares + "train Net(out: 2)"), "5:7: layer 'Net' is not an optimiser: it must take two values, a "
                                                  "parameter's and its gradient");
  EXPECT_EQ(error("state s[out]\nupdate s = y"), "5:12: state 's' is shared[out = 2] and cannot become node[out = 2]");
  EXPECT_EQ(error("update x = 1"), "4:8: only states can be updated, but 'x' is node[in = 3]");
  EXPECT_EQ(error("update z = 1"), "4:8: unknown name 'z'");
  EXPECT_EQ(error("state s\nupdate s = 1; update s = 2\n" + squares + "train Descend()"),
            "5:22: state 's' is updated twice in one step");
  EXPECT_EQ(error("repeat 2 { loss = 1 }"), "4:12: 'loss' is allowed only in a model, outside 'repeat'");
  EXPECT_EQ(error("input step: node[]\n" + squares + "train Descend(lr: 1)\noutput z = dropout(x, 0.5)"),
            "7:12: 'step' is a state that training keeps; something else has its name");
  EXPECT_EQ(errorOf("model M { output y = onehot(label) }"),
            "1:22: the extent of static space 'class' is not known; define it with '-D class=...' or give the model a "
            "parameter 'class: int'");
  EXPECT_EQ(errorOf("model M { output y = onehot(src) }"),
            "1:22: the identity matrix is on a static space, but 'node' is not one");
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

/// The bound of a uniform initial value: the factor of 2u - 1.
static double boundOf(const ModelSpec &model, const std::string &name) {
  const Value &value = updateOf(model, programNamed(model, "initialize"), name);
  EXPECT_EQ(value.name, "mul") << name;
  if (value.operands.size() != 2)
    return 0;
  const Value &centred = model.values[value.operands[0]];
  EXPECT_EQ(centred.name, "sub") << name;
  return model.values[value.operands[1]].number;
}

TEST(Initial, WhatIsSaid) {
  ModelSpec model =
      load(std::string(linear) +
           "model M(class: int = 6) {\n  param a[k = 8] = uniform(1 / sqrt(k)), b[k] = normal(0.5), c[k] = "
           "-2.5, d = 4\n  param e, f: node[k] = 1, g: node[k], h[k, l = 2, m = 5]\n"
           "  param i: class[k] = glorot(class, k), j: node[k, l] = glorot(node, l)\n  state s[k] = 7\n"
           "  output y = sum(sum(a * b * c * d * e * f * g * s * j * sum(sum(h, over: m), over: l) *\n"
           "                     sum(i, along: all), over: l), over: k)\n"
           "  loss = sum(y, along: all)\n  train Descend()\n}");
  EXPECT_EQ(boundOf(model, "a"), 1 / std::sqrt(8.0));
  EXPECT_EQ(boundOf(model, "h"), std::sqrt(6.0 / (8 + 2 * 5)));
  EXPECT_EQ(boundOf(model, "i"), std::sqrt(6.0 / (6 + 8)));
  const Program &start = programNamed(model, "initialize");
  auto fill = [&](const std::string &name) {
    const Value &value = updateOf(model, start, name);
    EXPECT_TRUE(value.op == OpCode::Select || value.op == OpCode::Constant) << name;
    return value.op == OpCode::Select ? model.values[value.operands[1]].number : value.number;
  };
  EXPECT_EQ(fill("c"), -2.5);
  EXPECT_EQ(fill("d"), 4);
  EXPECT_EQ(fill("e"), 1);
  EXPECT_EQ(fill("f"), 1);
  EXPECT_EQ(fill("s"), 7);
  for (const char *name : {"b", "g"}) { // g is an embedding
    const Value &value = updateOf(model, start, name);
    EXPECT_EQ(model.values[value.operands[1]].number, name[0] == 'b' ? 0.5 : 1);
    const Value &normal = model.values[value.operands[0]];
    EXPECT_EQ(model.values[normal.operands[0]].name, "sqrt");
    EXPECT_EQ(model.values[normal.operands[1]].name, "cos");
  }
  // The number of nodes is counted.
  const Value &j = updateOf(model, start, "j");
  EXPECT_EQ(model.values[j.operands[1]].name, "sqrt");
  EXPECT_EQ(typeOf(model, j.operands[1]), "shared[]");
  for (const Update &update : start.updates) {
    EXPECT_EQ(typeOf(model, update.value), typeOf(model, update.target));
    EXPECT_EQ(model.values[update.target].axes, model.values[update.value].axes);
  }
}

TEST(Initial, SitesDoNotDependOnDropout) {
  auto sites = [&](const std::string &h) {
    ModelSpec model = trained("  loss = sum(sum(" + h + " - t, over: out), along: all)\n  train Descend()");
    std::set<int> sites;
    for (const Update &update : programNamed(model, "initialize").updates)
      for (Id id : needs(model, {{"", update.value}}))
        if (const Value &value = model.values[id]; value.op == OpCode::Random) {
          sites.insert(value.site);
          EXPECT_EQ(model.values[value.operands[1]].op, OpCode::Constant); // at step 0, whatever `step` holds
        }
    return sites;
  };
  EXPECT_EQ(sites("y").size(), 1u);
  EXPECT_EQ(sites("y"), sites("dropout(dropout(y, 0.5), 0.5)"));
}

TEST(Initial, TheStandardLibrarys) {
  ModelSpec model = load(
      "import std\nmodel M(edge_type: int = 3, node_type: int = 2) {\n  input x: node[in = 16]\n"
      "  output y = Residual(GAT(x, heads: 2, out: 4), Linear(x, out: 8)) * sum(HGT(x, heads: 2, out: 4), over: in)\n"
      "  output z = BatchNorm(LayerNorm(RGCNBasis(x, bases: 5, out: 4)))\n"
      "  loss = sum(sum(y, over: features), along: all)\n"
      "  train SGD()\n}");
  EXPECT_EQ(boundOf(model, "gat.W"), std::sqrt(6.0 / (16 + 8)));
  EXPECT_EQ(boundOf(model, "gat.a_src"), std::sqrt(6.0 / (2 + 4)));
  EXPECT_EQ(boundOf(model, "linear.W"), 0.25);
  EXPECT_EQ(boundOf(model, "linear.b"), 0.25);
  EXPECT_EQ(boundOf(model, "hgt.O"), 1 / std::sqrt(8.0));
  EXPECT_EQ(boundOf(model, "rgcnbasis.basis"), std::sqrt(6.0 / (16 + 4)));
  EXPECT_EQ(boundOf(model, "rgcnbasis.comp"), std::sqrt(6.0 / (3 + 5)));
  const Value &gain = updateOf(model, programNamed(model, "initialize"), "batchnorm.gain");
  EXPECT_EQ(model.values[gain.operands[1]].number, 1);
}

TEST(Initial, Mistakes) {
  EXPECT_EQ(errorIn("\n  param a[k = 2] = glorot"),
            "2:20: glorot needs two axes, or both fans, as in 'glorot(in, out)'");
  EXPECT_EQ(errorIn("\n  param a[k = 2] = glorot(k)"), "2:20: expected both fans, as in 'glorot(in, out)'");
  EXPECT_EQ(errorIn("\n  param a[k = 2] = glorot(k, 0)"), "2:30: a fan of glorot must be positive, found 0");
  EXPECT_EQ(errorIn("\n  param a[k = 2] = normal()"), "2:20: expected one number, as in 'normal(0.1)'");
  EXPECT_EQ(
      errorIn("\n  input x: node[k = 2]\n  param a[k] = x"),
      "3:16: an initial value (one of glorot, normal(s), uniform(b) or a number) must be a number known at compile "
      "time, found node[k = 2]");
}
