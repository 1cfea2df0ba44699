//===- Drawing.cpp - A graph as inline SVG or as a list -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

std::string gnnc::escape(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

static llvm::StringRef shapeOf(const ReportNode &node) {
  return node.kind == ReportNode::Argument ? "argument" : node.kind == ReportNode::Result ? "result" : "operation";
}

std::string gnnc::drawGraph(const ReportGraph &graph, ColourOf colour) {
  Layout layout = layOut(graph);
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv("<svg class=\"graph\" width=\"{0:f0}\" height=\"{1:f0}\" viewBox=\"0 0 {0:f0} {1:f0}\">\n",
                       layout.width, layout.height);
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    const Layout::Box &to = layout.boxes[i];
    for (auto [k, operand] : llvm::enumerate(node.operands)) {
      const Layout::Box &from = layout.boxes[operand];
      double x1 = from.x + from.width / 2, y1 = from.y + Layout::kHeight;
      double x2 = to.x + to.width * double(k + 1) / double(node.operands.size() + 1), y2 = to.y;
      double bend = std::min(40.0, (y2 - y1) / 2);
      out << llvm::formatv("<path class=\"{0}\" d=\"M{1:f1} {2:f1}C{1:f1} {3:f1} {4:f1} {5:f1} {4:f1} {6:f1}\"/>\n",
                           colour(graph.nodes[operand].space), x1, y1, y1 + bend, x2, y2 - bend, y2);
    }
  }
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    const Layout::Box &box = layout.boxes[i];
    out << llvm::formatv("<g class=\"{0} {1}{2}\"><title>{3}</title>", shapeOf(node), colour(node.space),
                         node.backward ? " backward" : "", escape(node.detail));
    out << llvm::formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" height=\"{3:f0}\" rx=\"{4}\"/>", box.x,
                         box.y, box.width, Layout::kHeight, node.kind == ReportNode::Operation ? 4 : 16);
    out << llvm::formatv("<text x=\"{0:f1}\" y=\"{1:f1}\">{2}</text><text class=\"type\" x=\"{0:f1}\" y=\"{3:f1}\">"
                         "{4}</text></g>\n",
                         box.x + box.width / 2, box.y + 14, escape(node.label), box.y + 28, escape(node.type));
  }
  out << "</svg>\n";
  return text;
}

std::string gnnc::listGraph(const ReportGraph &graph, ColourOf colour) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "<table class=\"list\"><tr><th></th><th>value</th><th>where</th><th>made of</th></tr>\n";
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    out << llvm::formatv("<tr class=\"{0}{1}\" title=\"{2}\"><td class=\"number\">{3}</td><td>{4}</td>"
                         "<td><span class=\"chip {5}\">{6}</span></td><td>",
                         shapeOf(node), node.backward ? " backward" : "", escape(node.detail), i, escape(node.label),
                         colour(node.space), escape(node.type));
    llvm::interleaveComma(node.operands, out);
    out << "</td></tr>\n";
  }
  out << "</table>\n";
  return text;
}
