//===- TimingsReport.cpp - What compilations spend their time on ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimingsReport.h"
#include "Report.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

using namespace gnnc;

namespace {

/// What one compiler did.
struct Share {
  const char *name;
  TimeSpent time;
  int64_t runs = 0, cached = 0;
};

std::string percent(double part, double whole) {
  return std::to_string(whole > 0 ? int64_t(100 * part / whole + 0.5) : 0) + " %";
}

} // namespace

void gnnc::printTimings(llvm::raw_ostream &out, const Timings &timings) {
  Table table;
  table.add({"phase or kernel", "for", "wall", "processor", "in compiler", "statements", "cached"});
  TimeSpent total;
  Share cpu{"LLVM", {}}, gpu{"NVRTC", {}};
  for (const TimedStep &step : timings) {
    bool isKernel = !step.target.empty();
    table.add({std::string(2 * step.depth, ' ') + step.name, step.target, formatSeconds(step.time.wall),
               formatSeconds(step.time.processor), isKernel ? formatSeconds(step.compiler.processor) : "",
               step.statements ? formatCount(step.statements) : "", step.isCached ? "yes" : ""});
    if (step.depth == 0)
      total += step.time;
    if (!isKernel)
      continue;
    llvm::StringRef target = step.target;
    Share &share = target.starts_with("sm_") || target.starts_with("compute_") ? gpu : cpu;
    share.time += step.compiler;
    ++share.runs;
    share.cached += step.isCached;
  }
  table.add({"total", "", formatSeconds(total.wall), formatSeconds(total.processor)});
  table.print(out, "");
  for (const Share &share : {cpu, gpu})
    if (share.runs)
      out << share.name << ": " << formatSeconds(share.time.processor) << " of processor time, "
          << percent(share.time.processor, total.processor) << "; " << share.runs << " compilations, " << share.cached
          << " cached\n";
}

void gnnc::printTimingsAsJSON(llvm::raw_ostream &out, const Timings &timings) {
  llvm::json::OStream json(out);
  json.object([&] {
    json.attributeArray("steps", [&] {
      for (const TimedStep &step : timings)
        json.object([&] {
          json.attribute("name", step.name);
          json.attribute("target", step.target);
          json.attribute("depth", step.depth);
          json.attribute("wall", step.time.wall);
          json.attribute("processor", step.time.processor);
          json.attribute("compiler", step.compiler.processor);
          json.attribute("statements", step.statements);
          json.attribute("cached", step.isCached);
        });
    });
  });
  out << "\n";
}
