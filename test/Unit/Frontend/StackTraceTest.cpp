//===- StackTraceTest.cpp - Where a node comes from -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/StackTrace.h"

#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;

static std::string lineOf(const std::string &trace) {
  std::optional<SourceFrame> frame = readStackTrace(trace);
  return frame ? frame->file + ":" + std::to_string(frame->line) + ": " + frame->text : "none";
}

static std::string frame(const std::string &file, int line, const std::string &text) {
  return "  File \"" + file + "\", line " + std::to_string(line) + ", in forward\n    " + text + "\n";
}

static const std::string kPackages = "/opt/venv/lib/python3.11/site-packages/";

TEST(StackTrace, FindsTheUsersInnermostLine) {
  std::string user = frame("/home/me/model.py", 7, "x = self.conv(x)"), deeper = frame("layers.py", 3, "return a + b");
  std::string torch = frame(kPackages + "torch/nn/modules/linear.py", 134, "return F.linear(input)");
  std::string pyg = frame(kPackages + "torch_geometric/nn/conv/gcn_conv.py", 241, "out = self.propagate()");
  std::string other = frame(kPackages + "gnnlib/layers.py", 11, "return x");
  EXPECT_EQ(lineOf(user + pyg + torch), "/home/me/model.py:7: x = self.conv(x)");
  EXPECT_EQ(lineOf(user + pyg + deeper + torch), "layers.py:3: return a + b");
  EXPECT_EQ(lineOf(other + pyg + torch), kPackages + "gnnlib/layers.py:11: return x");
  EXPECT_EQ(lineOf(pyg + torch), kPackages + "torch_geometric/nn/conv/gcn_conv.py:241: out = self.propagate()");
  EXPECT_EQ(lineOf(torch), "none");
  // A checkout of either, and what a program made.
  // A project of the user's may be called like the package.
  EXPECT_EQ(lineOf(frame("/home/me/torch/models/gnn.py", 7, "return a") + torch),
            "/home/me/torch/models/gnn.py:7: return a");
  EXPECT_EQ(lineOf(user + frame("/src/pytorch/torch/nn/functional.py", 1, "y")), lineOf(user));
  EXPECT_EQ(lineOf(user + frame("/src/pytorch_geometric/torch_geometric/nn/a.py", 1, "y")),
            "/home/me/model.py:7: x = self.conv(x)");
  EXPECT_EQ(lineOf(user + frame("<eval_with_key>.1", 2, "z")), "/home/me/model.py:7: x = self.conv(x)");
  EXPECT_EQ(lineOf(user + frame("C:\\venv\\Lib\\site-packages\\torch\\nn\\a.py", 2, "z")),
            "/home/me/model.py:7: x = self.conv(x)");
}

TEST(StackTrace, TakesTextsAsTheyAre) {
  EXPECT_EQ(lineOf(""), "none");
  EXPECT_EQ(lineOf("File \"a.py\", line 3"), "a.py:3: ");
  EXPECT_EQ(lineOf("File \"a.py\", line 99999999999999999999, in f\n  x"), "none");
  EXPECT_EQ(lineOf("File \"a.py\", line -3, in f\n  x"), "none");
  EXPECT_EQ(lineOf("File \"a\", line 1.py\", line 4, in f\n  x\n  ^^^\n"), "a\", line 1.py:4: x");
  EXPECT_EQ(lineOf("File a.py, line 3"), "none");
}

TEST(StackTrace, ReadsModules) {
  auto modules = [](const char *stack) {
    std::string text;
    for (const ModuleFrame &frame : readModuleStack(stack))
      text += "[" + frame.path + " " + frame.className + (frame.call ? " #" + std::to_string(frame.call) : "") + "]";
    return text;
  };
  EXPECT_EQ(modules("L__self__,,a.Net;L__self__conv@1,conv,b.Conv"), "[ a.Net][conv b.Conv #1]");
  EXPECT_EQ(modules("1400,L['self'].layers.0,b.Conv"), "[layers.0 b.Conv]");
  EXPECT_EQ(modules("k,convs.a,b,c.Conv"), "[convs.a,b c.Conv]");
  EXPECT_EQ(modules("k,p,Wrapped[a.B,c.D]"), "[p Wrapped[a.B,c.D]]");
  EXPECT_EQ(modules("_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,_empty"), "");
  EXPECT_EQ(modules(""), "");
  EXPECT_EQ(modules(";;,;no commas"), "");
}
