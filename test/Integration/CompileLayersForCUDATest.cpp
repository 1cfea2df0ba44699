//===- CompileLayersForCUDATest.cpp - All layers' kernels compile for GPUs ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each layer of the standard library, with its gradient, to PTX for sm_90; training programs, rows stored in 16 bits
// and double precision; some to machine code, for the oldest GPU too. Whether the numbers are right is for machines
// with a GPU, where all other tests of layers run on it too.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gnnc/Frontend/Frontend.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Target/CUDA/NVRTC.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Layer {
  const char *name, *text;
  bool hasTraining = false; ///< its programs of training, without gradients of outputs
};

const Layer kLayers[] = {

    {"GCN", "model M { input x: node[6], w: edge[]\n output y = GCN(x, w, out: 5) }"},
    {"SGC", "model M { input x: node[6]\n output y = SGC(x, hops: 2, out: 5) }"},
    {"APPNP", "model M { input x: node[6]\n output y = APPNP(x, hops: 2) }"},
    {"SAGE", "model M { input x: node[6]\n output y = SAGEMax(x, out: 4) + SAGEMin(x, out: 4) + SAGE(x, out: 4) }"},
    {"GIN", "model M { input x: node[6]\n output y = GIN(x, hidden: 8) }"},
    {"EdgeConv", "model M { input x: node[6]\n output y = EdgeConvMLP(x, hidden: 8, out: 5) + EdgeConv(x, out: 5) }"},
    {"GMM", "model M { input x: node[6], p: edge[2]\n output y = GMM(x, p, kernels: 3, out: 5) }"},
    {"NNConv", "model M { input x: node[4], e: edge[3]\n output y = NNConv(x, e, hidden: 6, out: 5) }"},
    {"GAT", "model M { input x: node[6]\n output y = GAT(x, heads: 3, out: 4) }"},
    {"GATMean", "model M { input x: node[6]\n output y = GATPlain(x, heads: 3, out: 4, concat: false) }"},
    {"GATv2", "model M { input x: node[6], f: edge[3]\n output y = GATv2Edge(x, f, heads: 2, out: 4) }"},
    {"Transformer",
     "model M { input x: node[6], f: edge[3]\n output y = GraphTransformerEdge(x, f, heads: 2, out: 4) }"},
    {"AGNN", "model M { input x: node[6]\n output y = AGNN(x) }"},
    {"CGAT", "model M { input x: node[6]\n output y = CGAT(x, out: 4, slope: 0.1) }"},
    {"RGCN", "model M(edge_type: int = 4) { input x: node[6]\n"
             "output h = RGCNEmbedding(bases: 2, out: 6)\n output y = RGCNBasis(x, bases: 3, out: 5) }"},
    {"HGT", "model M(node_type: int = 3, edge_type: int = 4) { input x: node[6]\n"
            "output y = HGT(x, heads: 2, out: 4) }"},
    {"SimpleHGN", "model M(edge_type: int = 4) { input x: node[6]\n"
                  "output y = L2Normalize(SimpleHGN(x, heads: 2, out: 4, relation_dim: 3)) }"},
    {"Interaction", "model M { input x: node[4], e: edge[3]\n"
                    "let f = EdgeNetwork(x, e, hidden: 6, out: 5)\n output y = NodeNetwork(x, f, hidden: 6, out: 7) }"},
    {"Norms", "model M { input x: node[6]\n output y = GraphNorm(BatchNorm(LayerNorm(x))) }"},
    {"Pools", "model M { input x: node[6]\n"
              "output s = GlobalSumPool(x) + GlobalMeanPool(x) + GlobalMaxPool(x) + GlobalAttentionPool(x) }"},
    {"Sparse", "model M { input x: node[in = 50] sparse\n param W[in, out = 7]\n output y = RowNormalize(x) @ W }"},
    {"Joins", "model M { input x: node[features = 6]\n"
              "output y = sum(softmax(concat(x.src, x.dst, axis: features))) }"},
    {"Plain", "model M { input x: node[6], w: edge[], e: edge[3]\n"
              "output y = Residual(PReLU(GCNPlain(x, w, out: 8)), GATv2Plain(x, heads: 2, out: 4))\n"
              "output z = GATv2EdgePlain(x, e, heads: 2, out: 4) }"},
    {"Attention", "model M { input x: node[6]\n"
                  "output y = GATv2(x, heads: 2, out: 4) + GraphTransformer(x, heads: 2, out: 4) }"},
    {"Bipartite", "space user\nspace item\nrelation follows: user -> item\n"
                  "model M { input xs: user[4], xt: item[3]\n"
                  "output y = BipartiteGAT(xs, xt, heads: 2, out: 4) on follows as attention\n"
                  "output z = BipartiteSAGE(xs, xt, out: 5) on follows as mean }"},
    {"Typed", "model M(edge_type: int = 4) { input x: node[in = 6]\n"
              "let y = RGCN(x, out: 8)\n output h = RGCNSum(y, out: 5)\n param W[in, heads = 2, out = 3]\n"
              "let z = x @ W\n let a = SimpleHGNAttention(z, relation_dim: 3) as first\n"
              "output b = sum(SimpleHGNMixedAttention(z, a, relation_dim: 3, mix: 0.25) as second * z.src) }"},
    {"Training",
     "model M(class: int = 3) { input x: node[in = 6], t: node[class], l: edge[]\n"
     "let h = relu(BatchNorm(SAGE(dropout(x, 0.5), out: 70) as c1))\n"
     "output y = rename(GCN(h, out: class) as c2, out: class)\n output s = dot(y.src, y.dst, over: class)\n"
     "loss = CrossEntropy(y.train, onehot(label).train) + BCEWithLogits(s, l) + MultiLabelBCE(y, t) + MSE(y, t)\n"
     "metric accuracy = Accuracy(y.train, onehot(label).train)\n"
     "train AdamW(lr: CosineDecay(step, lr: 0.01, steps: 10), clip: 0.5) for c1\n"
     "train SGD(lr: StepDecay(step, lr: 0.1, every: 5), momentum: 0.9, nesterov: true) }",
     /*hasTraining=*/true},
};

/// Further ways to compile some of them.
struct Variant {
  const char *layer, *name;
  Storage storage = Storage::AsComputed;
  bool twice = false;      ///< in double precision
  int machineCodeFor = 0;  ///< 0: PTX for sm_90
  bool isRepeated = false; ///< of each of its properties there is another: only where everything is tested
};

const Variant kVariants[] = {
    {"GAT", "F64", Storage::AsComputed, true, 0, /*isRepeated=*/true},
    {"GIN", "F64", Storage::AsComputed, true, 80},
    {"GAT", "BF16", Storage::BF16, false, 0, /*isRepeated=*/true},
    {"EdgeConv", "BF16", Storage::BF16, false, 90},
    {"Pools", "F16", Storage::F16, false, 90},
    {"Training", "BF16", Storage::BF16},
    {"GAT", "Code80", Storage::AsComputed, false, 80, /*isRepeated=*/true},
    {"EdgeConv", "Code80", Storage::AsComputed, false, 80},
    {"Training", "Code90", Storage::AsComputed, false, 90},
};

std::optional<frontend::ModelSpec> load(const Layer &layer) {
  return loadText(std::string("import std\n") + layer.text);
}

void checkCompiles(const Layer &layer, const Variant &variant) {
  if (llvm::Error missing = cuda::findCompiler())
    GTEST_SKIP() << llvm::toString(std::move(missing));
  std::optional<frontend::ModelSpec> model = load(layer);
  ASSERT_TRUE(model);
  model->doublePrecision = variant.twice;
  CompileOptions options;
  options.emit = variant.machineCodeFor ? EmitKind::Cubin : EmitKind::PTX;
  options.architectures = {variant.machineCodeFor ? variant.machineCodeFor : 90};
  options.storage = variant.storage;
  options.gradient = !layer.hasTraining;
  llvm::Expected<std::string> code = compile(*model, options);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  EXPECT_NE(code->find(variant.machineCodeFor ? "gnnc_kernel0" : ".entry gnnc_kernel0"), std::string::npos);
}

void PrintTo(const Layer &layer, std::ostream *out) { *out << layer.name; }
void PrintTo(const Variant &variant, std::ostream *out) { *out << variant.layer << variant.name; }

class LayersForCUDA : public testing::TestWithParam<Layer> {};
class LayerVariantsForCUDA : public testing::TestWithParam<Variant> {};

} // namespace

TEST_P(LayersForCUDA, Compile) { checkCompiles(GetParam(), {}); }

TEST_P(LayerVariantsForCUDA, Compile) {
  if (GetParam().isRepeated && !testsEverything())
    GTEST_SKIP() << "only with GNNC_TEST_EVERYTHING";
  const Layer *layer =
      llvm::find_if(kLayers, [](const Layer &l) { return GetParam().layer == llvm::StringRef(l.name); });
  ASSERT_NE(layer, std::end(kLayers));
  checkCompiles(*layer, GetParam());
}

/// A layer is there if some value of a model above comes from a line of it.
TEST(CompileLayersForCUDA, HaveEveryLayerOfTheLibrary) {
  std::set<std::pair<std::string, unsigned>> lines;
  for (const Layer &layer : kLayers) {
    std::optional<frontend::ModelSpec> model = load(layer);
    ASSERT_TRUE(model) << layer.name;
    for (const frontend::Value &value : model->values)
      if (value.loc.line > 0)
        lines.insert({model->files[value.loc.file], value.loc.line});
  }
  std::vector<std::string> missing;
  unsigned count = 0;
  llvm::SmallVector<llvm::StringRef> imports;
  std::string list = frontend::embeddedText("std").value();
  llvm::StringRef(list).split(imports, '\n');
  for (llvm::StringRef import : imports) {
    if (!import.consume_front("import "))
      continue;
    std::optional<std::string> text = frontend::embeddedText(import.str());
    ASSERT_TRUE(text) << import.str();
    llvm::SmallVector<llvm::StringRef> rows;
    llvm::StringRef(*text).split(rows, '\n');
    for (unsigned first = 0; first < rows.size(); ++first) {
      llvm::StringRef name = rows[first];
      if (!name.consume_front("layer "))
        continue;
      ++count;
      unsigned last = first;
      while (last + 1 < rows.size() && rows[last] != "}")
        ++last;
      std::string file = "<std>/" + import.str() + ".gnn";
      auto found = lines.lower_bound({file, first + 1});
      if (found == lines.end() || found->first != file || found->second > last + 1)
        missing.push_back(name.take_until([](char c) { return c == '('; }).str());
    }
  }
  EXPECT_GE(count, 59u);
  EXPECT_EQ(llvm::join(missing, ", "), "");
}

INSTANTIATE_TEST_SUITE_P(Layers, LayersForCUDA, testing::ValuesIn(kLayers),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Variants, LayerVariantsForCUDA, testing::ValuesIn(kVariants),
                         [](const auto &info) { return std::string(info.param.layer) + info.param.name; });

/// A kernel that asks for as many blocks as a processor has room for gets fewer where it lacks registers, and no other
/// kernel of its text does.
TEST(NVRTC, AsksForFewerBlocksWhereRegistersAreMissing) {
  if (llvm::Error missing = cuda::findCompiler())
    GTEST_SKIP() << llvm::toString(std::move(missing));
  // All numbers are held at once.
  auto kernel = [](const std::string &name, int numbers, const std::string &blocks) {
    std::string count = std::to_string(numbers);
    return "extern \"C\" __global__ void __launch_bounds__(128, " + blocks + ") " + name + "(float *x) {\n  float a[" +
           count + "];\n  for (int i = 0; i < " + count +
           "; ++i) a[i] = x[i * 77 + threadIdx.x];\n  for (int k = 0; k < 5; ++k)\n    for (int i = 0; i < " + count +
           "; ++i) a[i] = a[i] * a[(i + 7) % " + count + "] + 1;\n  for (int i = 0; i < " + count +
           "; ++i) x[i * 99 + threadIdx.x] = a[i];\n}\n";
  };
  // The instructions of all.
  auto compiled = [](const std::string &text) {
    cuda::Image image{90, false, {}};
    std::string whole = "#include \"Lanes.cuh\"\n" + text;
    if (llvm::Error error = cuda::compileImages(cuda::Unit{whole, image}))
      ADD_FAILURE() << llvm::toString(std::move(error));
    std::map<std::string, std::string> code;
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(image.bytes, "cubin"));
    if (!object) {
      ADD_FAILURE() << llvm::toString(object.takeError());
      return code;
    }
    for (const llvm::object::SectionRef &section : (*object)->sections())
      for (const char *name : {".text.small", ".text.large", ".text.fixed"})
        if (llvm::cantFail(section.getName()) == name)
          code[name] = llvm::cantFail(section.getContents()).str();
    return code;
  };
  const std::string most = "GNNC_MOST_BLOCKS";
  auto found = compiled(kernel("small", 8, most) + kernel("large", 60, most) + kernel("fixed", 60, "12"));
  EXPECT_EQ(found.size(), 3u);
  EXPECT_TRUE(found == compiled(kernel("small", 8, "16") + kernel("large", 60, "5") + kernel("fixed", 60, "12")));
  EXPECT_FALSE(found == compiled(kernel("small", 8, "16") + kernel("large", 60, "16") + kernel("fixed", 60, "12")));
}
