//===- Ranks.cpp - What ranks agree on ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First all ranks say how they fare, so that none waits for one that has failed; then what their parts are like, in as
// many words as the model has spaces and functions; and how they fare once more when all is prepared.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "Context.h"
#include "Topology.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

namespace {

/// How a rank fares.
struct RankReport {
  int64_t status;
  int64_t digest; ///< of its model
  int64_t numWords;
  char message[232];
};

long long shown(int64_t value) { return value; }

} // namespace

} // namespace gnnc::runtime

extern const char gnnc_ranks = 0;

namespace gnnc::runtime {

gnnc_status Agreement::read(const gnnc_part_desc &part, bool isPlanned, bool isOnDevice) {
  if (part.struct_size != sizeof(gnnc_part_desc))
    return fail(error, GNNC_VERSION_MISMATCH, "part description: expected struct_size %zu, found %u",
                sizeof(gnnc_part_desc), part.struct_size);
  if (!part.collectives)
    return fail(error, GNNC_INVALID_ARGUMENT, "part description: collectives is null");
  const gnnc_collectives &with = *part.collectives;
  if (with.struct_size != sizeof(gnnc_collectives))
    return fail(error, GNNC_VERSION_MISMATCH, "collectives: expected struct_size %zu, found %u",
                sizeof(gnnc_collectives), with.struct_size);
  if (with.size < 1 || with.rank < 0 || with.rank >= with.size)
    return fail(error, GNNC_INVALID_ARGUMENT, "collectives: expected a rank from 0 and a larger size, found %d of %d",
                with.rank, with.size);
  if (with.device_type != 1 && with.device_type != 2)
    return fail(error, GNNC_INVALID_ARGUMENT, "collectives: expected device type 1 (host) or 2 (CUDA), found %d",
                with.device_type);
  if (with.device_type == 2 && !isOnDevice)
    return fail(error, GNNC_INVALID_ARGUMENT,
                "collectives: expected device type 1 (host), as the context is the CPU's, found 2 (CUDA)");
  if (!isPlanned && (!with.exchange || !with.gather || !with.gather_host))
    return fail(error, GNNC_INVALID_ARGUMENT, "collectives: '%s' is null",
                !with.exchange ? "exchange"
                : !with.gather ? "gather"
                               : "gather_host");
  graph.ranks.with = with;
  graph.ranks.rank = with.rank;
  graph.ranks.size = with.size;
  if (isPlanned)
    graph.ranks.with.exchange = nullptr;
  return GNNC_OK;
}

gnnc_status Agreement::checkDesc(const gnnc_graph_desc &desc) {
  bool hasMore = desc.struct_size == sizeof desc && (desc.num_capacities != 0 || desc.tuning);
  if (hasMore && graph.ranks.size > 1)
    return fail(error, GNNC_UNSUPPORTED, "prepare_part: expected no %s, which ranks cannot agree on",
                desc.num_capacities != 0 ? "capacities" : "tuning");
  return GNNC_OK;
}

bool Agreement::isTransferred(int64_t space) const {
  for (int64_t i = 0; i < model.header().numSteps; ++i) {
    const StepRec &step = model.step(i);
    const int64_t *buffers = model.list(step.buffersAt);
    if (isTransfer(step) && (model.buffer(buffers[0]).space == space || model.buffer(buffers[1]).space == space))
      return true;
  }
  return false;
}

gnnc_status Agreement::readCounts(const gnnc_part_desc &part) {
  int64_t numSpaces = model.header().numSpaces, size = graph.ranks.size;
  if (part.num_counts < 0 || (part.num_counts > 0 && !part.counts))
    return fail(error, GNNC_INVALID_ARGUMENT, "part description: num_counts is %d%s", part.num_counts,
                part.counts ? "" : ", but counts is null");
  const int64_t **counts = graph.memory.array<const int64_t *>(numSpaces);
  if (!counts)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the counts of ranks");
  for (int64_t space = 0; space < numSpaces; ++space) {
    const char *name = model.name(model.space(space).name);
    counts[space] = nullptr;
    for (int32_t i = 0; i < part.num_counts; ++i) {
      const gnnc_row_counts &given = part.counts[i];
      if (!given.space)
        return fail(error, GNNC_INVALID_ARGUMENT, "part description: counts %d have no space", i);
      if (strcmp(given.space, name) != 0 || !isTransferred(space))
        continue;
      if (!given.counts || counts[space])
        return fail(error, GNNC_INVALID_ARGUMENT, "space '%s': its counts are %s", name,
                    given.counts ? "given twice" : "null");
      int64_t *copy = graph.memory.array<int64_t>(size), sum = 0;
      if (!copy)
        return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the counts of ranks");
      for (int64_t rank = 0; rank < size; ++rank) {
        copy[rank] = given.counts[rank];
        if (copy[rank] < 0 || copy[rank] > kMaxExtent)
          return fail(error, GNNC_INVALID_GRAPH, "space '%s': expected a count of elements for rank %lld, found %lld",
                      name, shown(rank), shown(copy[rank]));
        sum += copy[rank];
      }
      if (sum != graph.extents[space])
        return fail(error, GNNC_INVALID_GRAPH,
                    "space '%s': expected counts that add up to its %lld elements, found %lld", name,
                    shown(graph.extents[space]), shown(sum));
      counts[space] = copy;
    }
  }
  graph.ranks.counts = counts;
  return GNNC_OK;
}

gnnc_status Agreement::checkTransfer(const StepRec &step) {
  const int64_t *buffers = model.list(step.buffersAt);
  int64_t spaces[] = {model.buffer(buffers[0]).space, model.buffer(buffers[1]).space};
  const Ranks &ranks = graph.ranks;
  for (int64_t space : spaces)
    if (ranks.size > 1 && !ranks.counts[space])
      return fail(error, GNNC_INVALID_ARGUMENT, "space '%s': expected its counts for each of %d ranks, found none",
                  model.name(model.space(space).name), ranks.size);
  int64_t from = graph.extents[spaces[0]], to = graph.extents[spaces[1]];
  if (ranks.size == 1 && from != to)
    return fail(
        error, GNNC_INVALID_GRAPH, "space '%s': expected the %lld elements of '%s' on one rank alone, found %lld",
        model.name(model.space(spaces[1]).name), shown(from), model.name(model.space(spaces[0]).name), shown(to));
  return GNNC_OK;
}

gnnc_status Agreement::findCounts(const gnnc_part_desc *part) {
  const Header &header = model.header();
  if (part)
    if (gnnc_status status = readCounts(*part))
      return status;
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    const FunctionRec &function = model.function(i);
    for (int64_t k = 0; k < function.numSteps && graph.functions[i].missing < 0; ++k)
      if (const StepRec &step = model.step(function.firstStep + k); isTransfer(step))
        if (gnnc_status status = checkTransfer(step))
          return status;
  }
  return GNNC_OK;
}

gnnc_status Agreement::share(gnnc_status status, const char *when) {
  const Ranks &ranks = graph.ranks;
  if (!ranks.areReached())
    return status;
  if (!saved)
    saved = static_cast<char *>(scratch.allocate(ranks.size, sizeof(RankReport)));
  // Without memory for their reports the others wait in vain, until whoever moves the data gives up.
  if (!saved)
    return status ? status : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for what %d ranks say", ranks.size);
  RankReport mine = {status, model.header().digest, numWords, {}};
  if (status && error)
    memcpy(mine.message, error->message, sizeof mine.message - 1);
  RankReport *reports = reinterpret_cast<RankReport *>(saved);
  gnnc_error found = {};
  if (ranks.with.gather_host(ranks.with.user, &mine, reports, sizeof(RankReport), &found)) {
    found.message[sizeof found.message - 1] = 0;
    return status ? status : fail(error, GNNC_COLLECTIVE_ERROR, "%s: ranks cannot agree: %.400s", when, found.message);
  }
  if (status)
    return status;
  for (int32_t rank = 0; rank < ranks.size; ++rank) {
    reports[rank].message[sizeof mine.message - 1] = 0;
    if (reports[rank].status)
      return fail(error, GNNC_COLLECTIVE_ERROR, "%s failed on rank %d of %d: %s", when, rank, ranks.size,
                  reports[rank].message);
  }
  for (int32_t rank = 0; rank < ranks.size; ++rank)
    if (reports[rank].digest != reports[0].digest || reports[rank].numWords != reports[0].numWords)
      return fail(error, GNNC_COLLECTIVE_ERROR,
                  "%s: expected the same compilation of the model on all ranks, found others on ranks 0 and %d", when,
                  rank);
  return GNNC_OK;
}

gnnc_status Agreement::compareCounts(const int64_t *all) {
  const Ranks &ranks = graph.ranks;
  const Header &header = model.header();
  auto countsOf = [&](int32_t rank, int64_t space) {
    return all + rank * numWords + header.numSpaces + header.numFunctions + space * ranks.size;
  };
  for (int64_t i = 0; i < header.numSteps; ++i) {
    const StepRec &step = model.step(i);
    if (!isTransfer(step))
      continue;
    const int64_t *buffers = model.list(step.buffersAt);
    int64_t from = model.buffer(buffers[0]).space, to = model.buffer(buffers[1]).space;
    for (int32_t a = 0; a < ranks.size; ++a)
      for (int32_t b = 0; b < ranks.size; ++b)
        if (int64_t sent = countsOf(a, from)[b], received = countsOf(b, to)[a]; sent != received)
          return fail(error, GNNC_INVALID_GRAPH,
                      "rank %d has %lld elements of '%s' for rank %d, which expects %lld of '%s': the parts are not of "
                      "one partition",
                      a, shown(sent), model.name(model.space(from).name), b, shown(received),
                      model.name(model.space(to).name));
  }
  return GNNC_OK;
}

/// All ranks see the same words and come to the same result.
gnnc_status Agreement::compare() {
  const Ranks &ranks = graph.ranks;
  const Header &header = model.header();
  int64_t *next = own;
  for (int64_t i = 0; i < header.numSpaces; ++i)
    *next++ = graph.extents[i];
  for (int64_t i = 0; i < header.numFunctions; ++i)
    *next++ = graph.functions[i].missing;
  for (int64_t i = 0; i < header.numSpaces; ++i)
    for (int32_t rank = 0; rank < ranks.size; ++rank)
      *next++ = ranks.counts[i] ? ranks.counts[i][rank] : 0;
  gnnc_error found = {};
  if (ranks.with.gather_host(ranks.with.user, own, all, numWords * static_cast<int64_t>(sizeof(int64_t)), &found)) {
    found.message[sizeof found.message - 1] = 0;
    return fail(error, GNNC_COLLECTIVE_ERROR, "prepare: ranks cannot agree: %.400s", found.message);
  }
  for (int64_t i = 0; i < header.numSpaces; ++i) {
    means[i] = 0;
    for (int32_t rank = 0; rank < ranks.size; ++rank)
      means[i] += all[rank * numWords + i];
    means[i] /= ranks.size;
  }
  for (int64_t i = 0; i < header.numFunctions; ++i)
    for (int32_t rank = 0; rank < ranks.size && graph.functions[i].missing < 0; ++rank)
      graph.functions[i].missing = all[rank * numWords + header.numSpaces + i];
  return compareCounts(all);
}

gnnc_status Agreement::makeExchanges() {
  bool isWanted = false;
  for (int64_t i = 0; i < model.header().numSteps; ++i)
    isWanted |= model.step(i).kind == StepKind::Start;
  if (!isWanted || graph.ranks.with.device_type == 2)
    return GNNC_OK;
  graph.ranks.exchanges = create<Exchanges>(graph.memory.getAllocator());
  return graph.ranks.exchanges ? GNNC_OK
                               : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for exchanges that go on meanwhile");
}

gnnc_status Agreement::begin(gnnc_status status) {
  const Ranks &ranks = graph.ranks;
  means = graph.extents;
  if (!ranks.areReached())
    return status;
  const Header &header = model.header();
  numWords = header.numSpaces * (1 + ranks.size) + header.numFunctions;
  own = scratch.array<int64_t>(numWords);
  all = scratch.array<int64_t>(numWords * ranks.size);
  means = scratch.array<int64_t>(header.numSpaces);
  if (!status && (!own || !all || !means))
    status = fail(error, GNNC_OUT_OF_MEMORY, "out of memory for what %d ranks say", ranks.size);
  if (!status)
    status = makeExchanges();
  status = share(status, "prepare");
  return status ? status : compare();
}

Text nameOf(const Model &model, const StepRec &step) {
  auto spaceOf = [&](int64_t k) {
    int64_t space = model.buffer(model.list(step.buffersAt)[k]).space;
    return space < 0 ? "shared" : model.name(model.space(space).name);
  };
  Text text;
  if (isTransfer(step)) {
    text.add("transfer %.80s -> %.80s", spaceOf(0), spaceOf(1));
    return text;
  }
  MergeKind kind = model.merge(step, 0).kind;
  text.add("all_reduce %s of %.80s values",
           kind == MergeKind::Sum   ? "sum"
           : kind == MergeKind::Max ? "max"
                                    : "min",
           spaceOf(1));
  return text;
}

gnnc_status collectiveFailed(const Call &call, const StepRec &step, const gnnc_error &found) {
  const Model &model = call.graph.model;
  // The caller's function may have filled all of it.
  char message[sizeof found.message];
  memcpy(message, found.message, sizeof message);
  message[sizeof message - 1] = 0;
  return fail(call.error, GNNC_COLLECTIVE_ERROR, "%s: %s: %.400s", model.name(call.program.name),
              nameOf(model, step).c_str(), message[0] ? message : "the function that moves the data failed");
}

} // namespace gnnc::runtime
