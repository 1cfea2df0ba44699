//===- Metrics.cpp - Counters as text -------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"

#include <fstream>
#include <sstream>

#include <unistd.h>

namespace service {

static uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * uint64_t(sysconf(_SC_PAGESIZE));
}

void Metrics::observe(double seconds) {
  ++observations;
  sum += seconds;
  for (size_t i = 0; i < kBounds.size(); ++i)
    buckets[i] += seconds <= kBounds[i];
}

std::string Metrics::text(size_t queued) const {
  std::ostringstream out;
  out << "# TYPE service_responses_total counter\n";
  for (auto [status, number] : responses)
    out << "service_responses_total{status=\"" << status << "\"} " << number << "\n";
  out << "# TYPE service_refusals_total counter\n";
  for (const auto &[reason, number] : refusals)
    out << "service_refusals_total{reason=\"" << reason << "\"} " << number << "\n";
  out << "# TYPE service_queue_length gauge\nservice_queue_length " << queued << "\n";
  out << "# TYPE service_connections gauge\nservice_connections " << connections << "\n";
  out << "# TYPE service_request_seconds histogram\n";
  for (size_t i = 0; i < kBounds.size(); ++i)
    out << "service_request_seconds_bucket{le=\"" << kBounds[i] << "\"} " << buckets[i] << "\n";
  out << "service_request_seconds_bucket{le=\"+Inf\"} " << observations << "\n";
  out << "service_request_seconds_sum " << sum << "\nservice_request_seconds_count " << observations << "\n";
  out << "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes " << residentBytes() << "\n";
  return out.str();
}

} // namespace service
