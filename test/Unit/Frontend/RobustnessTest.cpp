//===- RobustnessTest.cpp - Texts that mean harm --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"
#include "gnnc/Frontend/JSON.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <random>

using namespace gnnc::frontend;

static const char *sample = R"(
import std
space user
relation follows: user -> node
map twin: user -> user partial
layer L(x: any[k], n: int = k, f: float = 0.5) -> any[k] {
  param W[k, n = 2] = normal(0.1), b: any[k] = glorot(k, 2)
  state seen[m = 2] = 1
  let y = (x @ W) * sum(W, over: k) / f
  space P = distinct(src, etype)
  repeat 2 { let y = dropout(relu(y), 0.5) + 1 }
  update seen = rename(mean(y, along: all), n: m)
  n > 1 ? sum(y, over: n) * x + b : x
}
model M(in: int = 8, edge_type: int = 2, class: int = 4) {
  input x: node[in] sparse, h: node[in], u: user[in], w: edge[] = 1
  param K: edge_type[in], k[features = 1]
  let a = GCN(x, w: w, out: 4) as c1
  let b = GAT(h, heads: 2, out: 4) on with_self_loops
  output y = concat(a, a[out: 0..2], axis: z)
  output t = softmax(dot(L(h).src, K.edge, over: in) + log_softmax(w)) - join(w, 1, on: U)
  loss = CrossEntropy(a.train, onehot(label).train) + sum(sum(gradient(sum(b, along: all)[features: 0..1] @ k, h),
    over: in), along: all)
  metric hits = training ? 0 : Accuracy(a.val, onehot(label).val)
  train Adam(lr: CosineDecay(step, lr: 0.1, steps: 9), clip: 2) for c1, gat.W
  train SGD(momentum: 0.9)
  output s = sum(L(u).follows.src, along: follows.dst) + rename(flatten(b, f), f: in) ^ 2
}
)";

static void loadQuietly(const std::string &text) {
  Loaded loaded = tryLoad(text);
  EXPECT_EQ(loaded.model.has_value(), !hasErrors(loaded.diagnostics));
  render(loaded.diagnostics);
  analyzeText("test.gnn", text, {});
}

TEST(Robustness, CutAnywhere) {
  std::string text = sample;
  for (size_t length = 0; length < text.size(); ++length)
    loadQuietly(text.substr(0, length));
}

TEST(Robustness, MutatedTexts) {
  std::mt19937 random(1);
  std::string original = sample;
  const std::vector<std::string> pieces = {
      "(",      ")",       "[",       "]",        "{",      "}",        ".",      "..",   ":",  "=",
      "@",      "?",       "\n",      "let ",     "param ", "repeat 3", "layer ", "9e9",  "0",  "-",
      "node",   "edge",    " on ",    " as ",     "any",    "sum(",     "x",      "W",    "in", "src",
      "\xff",   "\"",      "/*",      "import ",  "space ", "map ",     "4096",   "none", "|",  "->",
      "train ", "update ", "loss = ", "training", "step",   "for "};
  for (int round = 0; round < 1000; ++round) {
    std::string text = original;
    for (int edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text.erase(at, random() % 8);
        break;
      case 1:
        text.insert(at, pieces[random() % pieces.size()]);
        break;
      default:
        text[at] = char(random() % 256);
      }
    }
    loadQuietly(text);
  }
}

/// The words, numbers and signs of a text, with the space between them.
static std::vector<std::string> piecesOf(const std::string &text) {
  std::vector<std::string> pieces;
  for (char c : text) {
    bool wordy = llvm::isAlnum(c) || c == '_';
    bool goesOn = wordy && !pieces.empty() && (llvm::isAlnum(pieces.back().back()) || pieces.back().back() == '_');
    goesOn ? pieces.back().push_back(c) : pieces.push_back(std::string(1, c));
  }
  return pieces;
}

/// Every text of the standard library and the examples with a few words left out, repeated, or taken from elsewhere:
/// what is wrong with it is said at a place of the text.
TEST(Robustness, MutatedLibrary) {
  std::vector<std::string> files, vocabulary;
  for (const char *folder : {"/lib/Frontend/std", "/examples"}) {
    std::error_code code;
    for (llvm::sys::fs::recursive_directory_iterator it(std::string(GNNC_SOURCE_DIR) + folder, code), end;
         !code && it != end; it.increment(code))
      if (llvm::StringRef(it->path()).ends_with(".gnn"))
        files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 15u);
  std::vector<std::vector<std::string>> texts;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    ASSERT_TRUE(bool(buffer)) << file;
    texts.push_back(piecesOf((*buffer)->getBuffer().str()));
    vocabulary.insert(vocabulary.end(), texts.back().begin(), texts.back().end());
  }
  std::mt19937 random(4);
  for (int round = 0; round < 250; ++round) {
    std::vector<std::string> pieces = texts[size_t(round) % texts.size()];
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % pieces.size();
      switch (random() % 4) {
      case 0:
        pieces.erase(pieces.begin() + long(at));
        break;
      case 1:
        pieces.insert(pieces.begin() + long(at), pieces[at]);
        break;
      case 2:
        std::swap(pieces[at], pieces[random() % pieces.size()]);
        break;
      default:
        pieces[at] = vocabulary[random() % vocabulary.size()];
      }
    }
    std::string text;
    for (const std::string &piece : pieces)
      text += piece;
    unsigned lines = 1 + unsigned(std::count(text.begin(), text.end(), '\n'));
    for (const Diagnostic &diagnostic : analyzeText("test.gnn", text, {}).diagnostics) {
      EXPECT_FALSE(diagnostic.message.empty());
      EXPECT_NE(diagnostic.loc.line, 0u) << diagnostic.message;
      EXPECT_LE(diagnostic.file == "test.gnn" ? diagnostic.loc.line : 1, lines) << diagnostic.message;
    }
    loadQuietly(text);
    completeText("test.gnn", text, 1 + random() % lines, 1 + random() % 60, {});
  }
}

TEST(Robustness, RandomBytes) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = random() % 200; i > 0; --i)
      text += char(random() % 256);
    loadQuietly(text);
    if (llvm::Expected<ModelSpec> model = readJSON(text); !model)
      llvm::consumeError(model.takeError());
  }
}

TEST(Robustness, MutatedJSON) {
  std::string source = sample;
  source.replace(source.find("join(w, 1, on: U)"), 17, "w");
  std::string original = writeJSON(load(source), /*locations=*/false);
  ASSERT_TRUE(bool(readJSON(original)));
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {
      "null",    "-1",    "[]",      "{}",      "\"x\"", "1e400",  "true", "99999999999999999999",
      "\"",      ",",     "{",       "]",       "0",     "\"%9\"", "4",    "\"node\"",
      "\"src\"", "\".\"", "\"all\"", "\"root\""};
  for (int round = 0; round < 1000; ++round) {
    std::string text = original;
    for (int edits = 1 + random() % 2; edits > 0; --edits) {
      // Replace one whole word or number, so that most of the results are still JSON.
      size_t begin = text.find_first_of(":,[", random() % text.size());
      if (begin == std::string::npos)
        continue;
      size_t end = text.find_first_of(",]}\n", begin + 1);
      text.replace(begin + 1, end == std::string::npos ? 0 : end - begin - 1, pieces[random() % pieces.size()]);
    }
    llvm::Expected<ModelSpec> model = readJSON(text);
    if (!model) {
      std::string message = llvm::toString(model.takeError());
      EXPECT_EQ(message.substr(0, 1), "/") << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      continue;
    }
    // What is accepted can be written and read again.
    llvm::Expected<ModelSpec> again = readJSON(writeJSON(*model));
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    expectEqual(*model, *again);
  }
}

TEST(Robustness, DeepJSON) {
  for (const char *open : {"[", "{\"a\":"}) {
    std::string text = "{\"version\": 1, \"ops\": ";
    for (int i = 0; i < 200000; ++i)
      text += open;
    llvm::Expected<ModelSpec> model = readJSON(text);
    EXPECT_FALSE(bool(model));
    llvm::consumeError(model.takeError());
  }
}

TEST(Robustness, LongChains) {
  // Layers that call each other often come to more than any model needs.
  std::string text = "layer L0(x: node[k]) { x + 1 }\n";
  for (int i = 1; i < 40; ++i)
    text += "layer L" + std::to_string(i) + "(x: node[k]) { L" + std::to_string(i - 1) + "(x) + L" +
            std::to_string(i - 1) + "(x) }\n";
  EXPECT_NE(errorOf(text + "model M { input x: node[k = 2]; output y = L39(x) }").find("the model"), std::string::npos);

  std::string chain = "layer L0(x: node[k]) { x }\n";
  for (int i = 1; i < 5000; ++i)
    chain += "layer L" + std::to_string(i) + "(x: node[k]) { L" + std::to_string(i - 1) + "(x) }\n";
  EXPECT_NE(errorOf(chain + "model M { input x: node[k = 2]; output y = L4999(x) }").find("nested too deep"),
            std::string::npos);

  std::string repeats = "model M { input x: node[k = 2]\n let y = x\n";
  for (int i = 0; i < 6; ++i)
    repeats += "repeat 4096 {\n";
  EXPECT_NE(errorOf(repeats + "let y = y + 1\n}}}}}}\n output z = y }").find("too large"), std::string::npos);

  std::string maps = "map m0: node -> node\n";
  for (int i = 1; i < 300; ++i)
    maps += "map m" + std::to_string(i) + ": node -> node = m" + std::to_string(i - 1) + ".m0\n";
  EXPECT_NE(errorOf(maps + "model M { input x: node[]; output y = x.m299 }").find("maps are composed"),
            std::string::npos);
}

TEST(Robustness, DeepImports) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 200; ++i)
    files["f" + std::to_string(i) + ".gnn"] = "import \"f" + std::to_string(i + 1) + ".gnn\"";
  EXPECT_NE(errorOf("import \"f0.gnn\"\nmodel M { output y = 1 }", {}, files).find("levels deep"), std::string::npos);
}
