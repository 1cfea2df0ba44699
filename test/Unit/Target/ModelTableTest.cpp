//===- ModelTableTest.cpp - The records that the runtime reads ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/ModelFormat/ModelTable.h"
#include "PlannedModel.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "llvm/ADT/bit.h"

#include <cstring>
#include <set>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Reads a table the way the runtime does.
class Reader {
public:
  explicit Reader(ModelTable table) : table(std::move(table)) {
    std::memcpy(&header, this->table.words.data(), sizeof(header));
  }
  template <typename Record> Record at(int64_t begin, int64_t number) const {
    Record record;
    std::memcpy(&record, table.words.data() + begin + number * int64_t(sizeof(Record) / sizeof(int64_t)),
                sizeof(record));
    return record;
  }
  std::vector<int64_t> list(int64_t begin, int64_t count) const {
    return {table.words.begin() + begin, table.words.begin() + begin + count};
  }
  std::string name(int64_t offset) const { return table.names.c_str() + offset; }
  table::SpaceRec space(int64_t i) const { return at<table::SpaceRec>(header.spacesAt, i); }
  table::MapRec map(int64_t i) const { return at<table::MapRec>(header.mapsAt, i); }
  table::BufferRec buffer(int64_t i) const { return at<table::BufferRec>(header.buffersAt, i); }
  table::IndexRec index(int64_t i) const { return at<table::IndexRec>(header.indicesAt, i); }
  table::StepRec step(int64_t i) const { return at<table::StepRec>(header.stepsAt, i); }

  ModelTable table;
  table::Header header;
};

class ModelTableTest : public testing::Test {
protected:
  PlannedModel model;
  Reader read{buildTable(*model.module, model.kernels, 2, DeviceCode())};
};

enum { Ring, Real, Edge, Node, Kind };
enum { RingDst, RealDst, RealIn, Src, Dst };

TEST_F(ModelTableTest, HeaderCounts) {
  EXPECT_EQ(read.header.magic, table::kMagic);
  EXPECT_EQ(read.header.version, table::kTableVersion);
  EXPECT_EQ(read.header.numSpaces, 5);
  EXPECT_EQ(read.header.numMaps, 5);
  EXPECT_EQ(read.header.numOrder, 10);
  EXPECT_EQ(read.header.numBuffers, 5);
  EXPECT_EQ(read.header.numSteps, 2);
  EXPECT_EQ(read.header.numKernels, 2);
  EXPECT_EQ(read.header.numVariants, 2);
}

TEST_F(ModelTableTest, SpacesKeepTheirDeclaredNumbers) {
  EXPECT_EQ(read.name(read.space(Ring).name), "ring");
  EXPECT_EQ(read.space(Ring).kind, table::SpaceKind::Union);
  EXPECT_EQ(read.list(read.space(Ring).partsAt, read.space(Ring).numParts), (std::vector<int64_t>{Real, Node}));
  EXPECT_EQ(read.space(Real).kind, table::SpaceKind::Filter);
  EXPECT_EQ(read.space(Real).base, Edge);
  EXPECT_EQ(read.list(read.space(Real).mapsAt, read.space(Real).numMaps), (std::vector<int64_t>{Src, Dst}));
  EXPECT_EQ(read.space(Real).equal, 0);
  EXPECT_EQ(read.space(Node).kind, table::SpaceKind::Root);
  EXPECT_EQ(read.space(Node).extent, -1);
  EXPECT_EQ(read.space(Node).base, -1);
  EXPECT_EQ(read.space(Kind).extent, 3);
}

TEST_F(ModelTableTest, MapsNameSpacesAndParts) {
  EXPECT_EQ(read.name(read.map(RingDst).name), "ring.dst");
  EXPECT_EQ(read.map(RingDst).from, Ring);
  EXPECT_EQ(read.map(RingDst).to, Node);
  EXPECT_EQ(read.list(read.map(RingDst).partsAt, read.map(RingDst).numParts),
            (std::vector<int64_t>{RealDst, table::kIdentity}));
  EXPECT_EQ(read.map(RealDst).kind, table::MapKind::Compose);
  EXPECT_EQ(read.list(read.map(RealDst).partsAt, 2), (std::vector<int64_t>{RealIn, Dst}));
  EXPECT_EQ(read.map(Dst).kind, table::MapKind::Root);
  EXPECT_EQ(read.map(Dst).partial, 0);
}

TEST_F(ModelTableTest, OrderHasEverythingAfterWhatItIsDerivedFrom) {
  std::vector<int64_t> order = read.list(read.header.orderAt, read.header.numOrder);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 10u) << "each space and map once";
  auto place = [&](int64_t word) { return std::find(order.begin(), order.end(), word) - order.begin(); };
  auto space = [&](int64_t i) { return place(2 * i); };
  auto map = [&](int64_t i) { return place(2 * i + 1); };
  EXPECT_LT(space(Edge), map(Src));
  EXPECT_LT(map(Src), space(Real));
  EXPECT_LT(map(Dst), space(Real));
  EXPECT_LT(space(Real), map(RealIn));
  EXPECT_LT(map(RealIn), map(RealDst));
  EXPECT_LT(space(Real), space(Ring));
  EXPECT_LT(space(Node), space(Ring));
  EXPECT_LT(map(RealDst), map(RingDst));
  EXPECT_LT(space(Ring), map(RingDst));
}

TEST_F(ModelTableTest, BuffersAreArgumentsThenResults) {
  table::BufferRec x = read.buffer(0), w = read.buffer(1), z = read.buffer(2), y = read.buffer(3), top = read.buffer(4);
  EXPECT_EQ(read.name(x.name), "x");
  EXPECT_EQ(x.kind, table::BufferKind::Input);
  EXPECT_EQ(x.space, Node);
  EXPECT_EQ(x.rowElements, 8);
  EXPECT_EQ(read.list(x.dimsAt, x.numDims), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(x.dtypeBits, 32);
  EXPECT_EQ(x.optional, 1);
  EXPECT_EQ(llvm::bit_cast<double>(x.fill), 0.5);
  EXPECT_EQ(w.kind, table::BufferKind::Param);
  EXPECT_EQ(w.space, -1);
  EXPECT_EQ(w.rowElements, 48);
  EXPECT_EQ(w.optional, 0);
  EXPECT_EQ(z.kind, table::BufferKind::Arena);
  EXPECT_EQ(z.first, 0);
  EXPECT_EQ(z.last, 1);
  EXPECT_EQ(read.name(y.name), "y");
  EXPECT_EQ(y.kind, table::BufferKind::Output);
  EXPECT_EQ(y.space, Node);
  EXPECT_EQ(read.name(top.name), "top");
  EXPECT_EQ(top.space, -1);
}

/// A value in the memory of an output is that buffer, to whoever makes and reads it.
TEST(ModelTableOutputs, HoldWhatIsWrittenOverThere) {
  PlannedModel model;
  mlir::Builder b(&model.context);
  auto function = *model.module->getOps<mlir::func::FuncOp>().begin();
  auto arena = *function.getOps<mpk::ArenaOp>().begin();
  arena.setSpacesAttr(b.getArrayAttr({}));
  arena.setBytes({});
  arena.setFirst({});
  arena.setLast({});
  mlir::Attribute inFirst = mpk::PlaceAttr::get(&model.context, mpk::PlaceKind::Result, 0),
                  nowhere = mpk::PlaceAttr::get(&model.context, mpk::PlaceKind::None);
  (*function.getOps<mpk::ProductOp>().begin())->setAttr(mpk::kPlacesAttr, b.getArrayAttr({inFirst}));
  (*function.getOps<mpk::SweepOp>().begin())->setAttr(mpk::kPlacesAttr, b.getArrayAttr({inFirst, nowhere}));
  Reader read{buildTable(*model.module, model.kernels, 2, DeviceCode())};
  ASSERT_EQ(read.header.numBuffers, 4);
  table::BufferRec y = read.buffer(2), top = read.buffer(3);
  EXPECT_EQ(read.name(y.name), "y");
  EXPECT_EQ(y.kind, table::BufferKind::Output);
  EXPECT_EQ(y.replaces, -1);
  EXPECT_EQ(read.name(top.name), "top");
  table::StepRec rows = read.step(0), sum = read.step(1);
  EXPECT_EQ(read.list(rows.buffersAt, rows.numBuffers), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(read.list(sum.buffersAt, sum.numBuffers), (std::vector<int64_t>{2, 2, 3}));
  // A caller is asked for it once.
  auto program = read.at<table::ProgramRec>(read.header.programsAt, 0);
  EXPECT_EQ(read.list(program.buffersAt, program.numBuffers), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST_F(ModelTableTest, StepsNameBuffersIndicesAndMerges) {
  table::StepRec rows = read.step(0), sum = read.step(1);
  EXPECT_EQ(rows.kind, table::StepKind::Rows);
  EXPECT_EQ(rows.space, Node);
  EXPECT_EQ(rows.map, -1);
  EXPECT_EQ(read.list(rows.buffersAt, rows.numBuffers), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(rows.numIndices, 0);
  EXPECT_EQ(rows.numMerges, 0);
  EXPECT_EQ(sum.kernel, 1);
  EXPECT_EQ(sum.kind, table::StepKind::Sweep);
  EXPECT_EQ(sum.map, RingDst);
  EXPECT_EQ(sum.space, -1);
  EXPECT_EQ(read.list(sum.buffersAt, sum.numBuffers), (std::vector<int64_t>{2, 3, 4}));
  ASSERT_EQ(sum.numMerges, 1);
  auto merge = read.at<table::MergeRec>(sum.mergesAt, 0);
  EXPECT_EQ(merge.buffer, 4) << "a number of the table, not of the kernel";
  EXPECT_EQ(merge.kind, table::MergeKind::Max);
  EXPECT_EQ(merge.elements, 6);
}

TEST_F(ModelTableTest, EqualIndexArraysAreMadeOnce) {
  EXPECT_EQ(read.header.numIndices, 2);
  table::StepRec sum = read.step(1);
  EXPECT_EQ(read.list(sum.indicesAt, sum.numIndices), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(read.index(0).kind, table::IndexKind::Pointers);
  EXPECT_EQ(read.index(0).map, RingDst);
  EXPECT_EQ(read.index(0).other, -1);
  EXPECT_EQ(read.index(1).kind, table::IndexKind::Sorted);
  EXPECT_EQ(read.index(1).other, RealDst);
}

} // namespace
