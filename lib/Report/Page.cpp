//===- Page.cpp - The page ------------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "gnnc/Host/PlanInfo.h"
#include "gnnc/Report/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace gnnc;

// page.css and page.js; see lib/Report/CMakeLists.txt.
extern const char *const gnnc_page_texts[];

namespace {

/// Above this a graph is a list: a drawing of so many boxes is no longer read.
constexpr size_t kMostDrawn = 110;

class Page {
public:
  Page(ModuleOp module, const ModelInfo &model, llvm::raw_ostream &out) : module(module), model(model), out(out) {
    // What the graph is given with comes first.
    for (llvm::StringRef kind : {"root", "", "static"})
      for (const SpaceInfo &space : model.spaces)
        if (space.kind == kind || (kind.empty() && space.kind != "root" && space.kind != "static")) {
          inOrder.push_back(&space);
          colours.insert({space.name, "c" + std::to_string(colours.size() % 12)});
        }
  }

  void head(llvm::StringRef settings);
  void sizes();
  void program(llvm::StringRef name, llvm::ArrayRef<std::pair<std::string, const ReportGraph *>> phases);
  void remarks(llvm::ArrayRef<std::string> lines);
  void end(llvm::StringRef description);

private:
  std::string colourOf(llvm::StringRef space) const {
    auto found = colours.find(space.str());
    return found == colours.end() ? "shared" : found->second;
  }
  /// A cell with a number for the sizes that are set, and the formula as its title.
  std::string cell(const SymbolicMax &formula, llvm::StringRef unit) const;
  std::string cell(const SymbolicExpr &formula, llvm::StringRef unit) const {
    SymbolicMax one;
    one.add(formula);
    return cell(one, unit);
  }
  void phaseTabs(llvm::StringRef program, llvm::ArrayRef<std::pair<std::string, const ReportGraph *>> phases);
  void costs(llvm::StringRef program, llvm::ArrayRef<KernelInfo> kernels);
  void plan(llvm::StringRef program);

  ModuleOp module;
  const ModelInfo &model;
  llvm::raw_ostream &out;
  std::vector<const SpaceInfo *> inOrder;
  std::map<std::string, std::string> colours;
};

std::string plural(size_t count, llvm::StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

} // namespace

void Page::head(llvm::StringRef settings) {
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
      << "<title>" << escape(model.name) << " · gnnc</title>\n<style>\n"
      << gnnc_page_texts[0] << "</style></head><body>\n<header><h1>" << escape(model.name) << "</h1><p>"
      << escape(settings) << "</p><nav>";
  for (auto function : module.getOps<func::FuncOp>())
    out << llvm::formatv("<a href=\"#{0}\">{0}</a>", function.getSymName());
  out << "<a href=\"#remarks\">remarks</a></nav></header>\n<main>\n";
}

/// Spaces that are the origin of a map of the graph have members; without a graph, ten for each element of others.
void Page::sizes() {
  out << "<div class=\"sizes\"><b>elements</b>";
  for (const SpaceInfo *known : inOrder) {
    const SpaceInfo &space = *known;
    bool hasMembers = llvm::any_of(model.maps, [&](const MapInfo &map) {
      const SpaceInfo *to = model.findSpace(map.to);
      return map.from == space.name && to && to->kind != "static" && map.to != map.from;
    });
    int64_t extent = space.extent ? *space.extent : hasMembers ? 100000 : 10000;
    out << llvm::formatv("<label><span class=\"chip {0}\">{1}</span> <input type=\"number\" min=\"0\" value=\"{2}\" "
                         "data-space=\"{1}\" data-colour=\"{0}\"{3}></label>",
                         colourOf(space.name), escape(space.name), extent,
                         space.extent ? " readonly title=\"as compiled\"" : "");
  }
  out << "<span class=\"chip shared\">shared</span></div>\n";
}

std::string Page::cell(const SymbolicMax &formula, llvm::StringRef unit) const {
  llvm::json::Array terms;
  for (const SymbolicExpr &expression : formula.list()) {
    llvm::json::Array list;
    for (const auto &[space, each] : expression.getFactors())
      list.push_back(llvm::json::Array{space, each});
    if (expression.getNumber() != 0)
      list.push_back(llvm::json::Array{"", expression.getNumber()});
    terms.push_back(std::move(list));
  }
  std::string json;
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(terms));
  return llvm::formatv("<td class=\"n\" title=\"{0}\" data-unit=\"{1}\" data-formula=\"{2}\">{0}</td>",
                       escape(formula.str()), unit, escape(json));
}

void Page::phaseTabs(llvm::StringRef program, llvm::ArrayRef<std::pair<std::string, const ReportGraph *>> phases) {
  out << "<h3>The graph after each phase</h3>\n<div class=\"tabs\">\n";
  auto colour = [&](llvm::StringRef space) { return colourOf(space); };
  for (auto [i, phase] : llvm::enumerate(phases)) {
    std::string id = (program + "." + phase.first).str();
    size_t operations =
        llvm::count_if(phase.second->nodes, [](const ReportNode &node) { return node.kind == ReportNode::Operation; });
    out << llvm::formatv("<input type=\"radio\" name=\"{0}\" id=\"{1}\"{2}><label for=\"{1}\">{3}</label>"
                         "<div class=\"pane\"><p>{4}</p>\n",
                         program, id, i + 1 == phases.size() ? " checked" : "", phase.first,
                         plural(operations, "operation"));
    out << (phase.second->nodes.size() <= kMostDrawn ? drawGraph(*phase.second, colour)
                                                     : listGraph(*phase.second, colour))
        << "</div>\n";
  }
  out << "</div>\n";
}

void Page::costs(llvm::StringRef program, llvm::ArrayRef<KernelInfo> kernels) {
  out << "<h3>What it costs</h3>\n<table class=\"costs\"><tr><th></th><th>kernel</th><th class=\"n\">operations</th>"
         "<th class=\"n\">read</th><th class=\"n\">written</th><th class=\"n\">saved</th>"
         "<th class=\"n\">peak</th></tr>\n";
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    std::string title = kernel.kind + (kernel.map     ? " along " + *kernel.map
                                       : kernel.space ? " over " + *kernel.space
                                                      : std::string());
    out << llvm::formatv("<tr class=\"{0}\"><td class=\"number\">{1}</td><td>{2}</td>{3}{4}{5}<td></td><td></td>"
                         "</tr>\n",
                         kernel.half, i, escape(title), cell(kernel.flops, "count"), cell(kernel.read, "bytes"),
                         cell(kernel.written, "bytes"));
  }
  for (const PhaseInfo &phase : phasesOf(model))
    if (phase.program == program)
      out << llvm::formatv(
          "<tr class=\"{0}\"><td></td><td>{1}, {2}</td>{3}{4}{5}{6}{7}</tr>\n", phase.half.empty() ? "total" : "half",
          phase.half.empty() ? "in all" : phase.half, plural(size_t(phase.kernels), "kernel"),
          cell(phase.flops, "count"), cell(phase.read, "bytes"), cell(phase.written, "bytes"),
          phase.half == "backward" ? "<td></td>" : cell(phase.saved, "bytes"), cell(phase.peak, "bytes"));
  out << "</table>\n";
}

void Page::plan(llvm::StringRef program) {
  if (llvm::none_of(model.buffers, [&](const BufferInfo &buffer) { return buffer.function == program; }))
    return;
  out << llvm::formatv("<h3>Memory plan over time: bytes of the arena upwards, kernels from left to right</h3>\n"
                       "<p data-caption=\"{0}\"></p>\n<svg class=\"plan\" data-program=\"{0}\"></svg>\n"
                       "<details><summary>intermediate values</summary><table class=\"buffers\">"
                       "<tr><th>value</th><th class=\"n\">bytes</th><th>kernels</th><th></th></tr>\n",
                       program);
  for (const BufferInfo &buffer : model.buffers)
    if (buffer.function == program)
      out << llvm::formatv("<tr><td><span class=\"chip {0}\">{1}[{2}]</span></td>{3}<td>{4} to {5}</td><td>{6}</td>"
                           "</tr>\n",
                           colourOf(buffer.space.value_or("")), escape(buffer.space.value_or("")), buffer.rowElements,
                           cell(bytesOf(model, buffer), "bytes"), buffer.first.value_or(0), buffer.last.value_or(0),
                           buffer.saved ? "kept for the backward half" : "");
  out << "</table></details>\n";
}

void Page::program(llvm::StringRef name, llvm::ArrayRef<std::pair<std::string, const ReportGraph *>> phases) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  std::vector<KernelInfo> kernels;
  for (const KernelInfo &kernel : model.kernels)
    if (kernel.function == name)
      kernels.push_back(kernel);
  out << llvm::formatv("<h2 id=\"{0}\">{0}: {1}</h2>\n<section>\n", name, plural(kernels.size(), "kernel"));
  phaseTabs(name, phases);
  costs(name, kernels);
  plan(name);
  out << "<h3>Kernels and what they fuse</h3>\n"
      << listKernels(function, kernels, [&](llvm::StringRef space) { return colourOf(space); }) << "</section>\n";
}

/// `PLACE: [Passed] decision | Category:pass | Function=f | Reason="...", Remark="..."`, as MLIR writes remarks.
void Page::remarks(llvm::ArrayRef<std::string> lines) {
  struct Remark {
    std::string place, outcome, decision, function, text, reason;
  };
  std::map<std::string, std::vector<Remark>> byPass;
  for (llvm::StringRef line : lines) {
    auto [place, rest] = line.split("[");
    auto [outcome, tail] = rest.split("]");
    auto field = [&](llvm::StringRef key, llvm::StringRef stop) {
      return line.split(key).second.split(stop).first.trim().str();
    };
    byPass[field("Category:", " |")].push_back({place.rtrim(": ").str(), outcome.str(),
                                                tail.split("|").first.trim().str(), field("Function=", " |"),
                                                field("Remark=\"", "\""), field("Reason=\"", "\"")});
  }
  out << "<h2 id=\"remarks\">Remarks: what each pass did or declined</h2>\n<section class=\"remarks\">\n";
  for (const auto &[pass, list] : byPass) {
    out << llvm::formatv("<details><summary>{0} ({1})</summary><table>\n", escape(pass), list.size());
    for (const Remark &remark : list)
      out << llvm::formatv("<tr><td class=\"{0}\">{1}</td><td>{2}{3}</td><td>{4}</td><td>{5}</td></tr>\n",
                           escape(remark.outcome), remark.outcome == "Passed" ? "applied" : "declined",
                           escape(remark.text), remark.reason.empty() ? "" : ": " + escape(remark.reason),
                           escape(remark.function), escape(remark.place));
    out << "</table></details>\n";
  }
  if (byPass.empty())
    out << "<p>none</p>\n";
  out << "</section>\n";
}

void Page::end(llvm::StringRef description) {
  // Nothing in a script may look like its end.
  std::string json;
  for (char c : description)
    json += c == '<' ? "\\u003c" : std::string(1, c);
  out << "</main>\n<script type=\"application/json\" id=\"model\">" << json << "</script>\n<script>\n"
      << gnnc_page_texts[1] << "</script></body></html>\n";
}

llvm::Expected<std::string> ReportBuilder::makePage(ModuleOp module, llvm::StringRef description,
                                                    llvm::StringRef settings) {
  llvm::Expected<ModelInfo> model = ModelInfo::parse(description, "the model");
  if (!model)
    return model.takeError();
  std::string text;
  llvm::raw_string_ostream out(text);
  Page page(module, *model, out);
  page.head(settings);
  page.sizes();
  for (auto function : module.getOps<func::FuncOp>()) {
    std::vector<std::pair<std::string, const ReportGraph *>> found;
    for (const Phase &phase : phases)
      for (const ReportGraph &graph : phase.graphs)
        if (graph.function == function.getSymName())
          found.push_back({phase.name, &graph});
    page.program(function.getSymName(), found);
  }
  page.remarks(remarks);
  page.end(description);
  return text;
}
