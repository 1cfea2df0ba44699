//===- Drawing.h - A graph as inline SVG or as a list -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_REPORT_DRAWING_H
#define GNNC_LIB_REPORT_DRAWING_H

#include "gnnc/Report/Report.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gnnc {

/// Where the boxes of a graph are drawn, in pixels.
struct Layout {
  struct Box {
    double x = 0, y = 0, width = 0;
  };
  static constexpr double kHeight = 34;
  std::vector<Box> boxes; ///< by node
  double width = 0, height = 0;
};

/// Layers from top to bottom: each node below its operands, as near to them as its layer leaves room.
Layout layOut(const ReportGraph &graph);

/// The class that colours a space's values.
using ColourOf = llvm::function_ref<std::string(llvm::StringRef space)>;

/// Boxes and arrows.
std::string drawGraph(const ReportGraph &graph, ColourOf colour);
/// A table with a row for each node, for graphs that are too large to be drawn.
std::string listGraph(const ReportGraph &graph, ColourOf colour);

/// An operation as text, by itself.
std::string printOperation(mlir::Operation *op);
/// Its name and what it says before its operands, and the map it goes along: `reduce sum .dst`. `text`: what
/// printOperation gives.
std::string labelOf(mlir::Operation *op, llvm::StringRef text);

/// Text for HTML.
std::string escape(llvm::StringRef text);

} // namespace gnnc

#endif // GNNC_LIB_REPORT_DRAWING_H
