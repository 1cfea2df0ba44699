//===- Tuning.cpp - Choices that were measured ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

namespace {

/// A run of characters of the text.
struct Token {
  const char *at = nullptr;
  int length = 0;

  bool is(const char *text) const {
    return strlen(text) == static_cast<size_t>(length) && memcmp(at, text, static_cast<size_t>(length)) == 0;
  }
  /// Digits of a base, as many as fit.
  bool number(uint64_t base, uint64_t &value) const {
    value = 0;
    for (int i = 0; i < length; ++i) {
      int c = at[i], digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
      if (static_cast<uint64_t>(digit) >= base || __builtin_mul_overflow(value, base, &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value))
        return false;
    }
    return length > 0;
  }
};

class TuningReader {
public:
  TuningReader(const Model &model, const char *text, int64_t architecture, const int64_t *extents, gnnc_error *error)
      : model(model), header(model.header()), text(text), architecture(architecture), extents(extents), error(error) {}

  /// Checks everything; `best` becomes the number of the nearest section, -1 if none is near.
  gnnc_status check(int64_t &best);
  /// Takes what section `number` says.
  void apply(int64_t number, int64_t *functions, int64_t *least, bool *bySize);

private:
  void start() { at = text, line = 0; }
  bool nextLine();
  Token word();
  int64_t find(int64_t count, Token name, int64_t (TuningReader::*nameOf)(int64_t) const) const;
  int64_t functionName(int64_t i) const { return model.function(i).name; }
  int64_t spaceName(int64_t i) const { return model.space(i).name; }
  int64_t sweepName(int64_t i) const {
    return schedulesOf(model, i).count ? model.step(i).name : -1; // Steps that are alike have kernels in common.
  }
  bool isInstead(int64_t function, int64_t of) const;
  gnnc_status readHeader();
  gnnc_status readGraph();
  gnnc_status readExtent();
  gnnc_status readFunction();
  gnnc_status readSweep();
  gnnc_status expected(const char *what, Token found) {
    return fail(error, GNNC_INVALID_ARGUMENT, "tuning, line %d: expected %s, found '%.*s'", line, what,
                found.length < 60 ? found.length : 60, found.at ? found.at : "");
  }

  const Model &model;
  const Header &header;
  const char *text;
  int64_t architecture;
  const int64_t *extents;
  gnnc_error *error;

  const char *at = nullptr;
  int line = 0;
  // Of the section that is being read.
  bool isNear = false;
  double distance = 0;
  // Where the choices of the wanted section go; null: they are checked only.
  int64_t *functions = nullptr, *least = nullptr;
  bool *bySize = nullptr;
};

} // namespace

/// The next line that has words.
bool TuningReader::nextLine() {
  while (*at) {
    if (line > 0) {
      at += strcspn(at, "\n");
      at += *at == '\n';
    }
    ++line;
    const char *begin = at;
    at += strspn(at, " \t\r");
    if (*at && *at != '\n' && *at != '#')
      return true;
    at = begin;
    if (!*at)
      return false;
  }
  return false;
}

/// The line's next word; empty at its end.
Token TuningReader::word() {
  at += strspn(at, " \t\r");
  Token result{at, 0};
  if (*at != '#')
    result.length = static_cast<int>(strcspn(at, " \t\r\n"));
  at += result.length;
  return result;
}

int64_t TuningReader::find(int64_t count, Token name, int64_t (TuningReader::*nameOf)(int64_t) const) const {
  for (int64_t i = 0; i < count; ++i)
    if (int64_t offset = (this->*nameOf)(i); offset >= 0 && name.is(model.name(offset)))
      return i;
  return -1;
}

Schedules schedulesOf(const Model &model, int64_t number) {
  Schedules result;
  if (model.header().numDeviceSteps == 0)
    return result;
  const DeviceStepRec &step = model.deviceStep(number);
  for (int64_t k = 0; k < step.numLaunches; ++k)
    if (model.launch(step.firstLaunch + k).grid == GridKind::Items) {
      result.first = result.count ? result.first : step.firstLaunch + k;
      ++result.count;
    }
  return result;
}

bool TuningReader::isInstead(int64_t function, int64_t of) const {
  if (function == of)
    return true;
  for (int64_t i = 0; i < header.numAlternatives; ++i)
    if (model.alternative(i).function == function && model.alternative(i).insteadOf == of)
      return true;
  return false;
}

gnnc_status TuningReader::readHeader() {
  bool any = nextLine();
  Token mark = any ? word() : Token{"nothing", 7};
  line = line ? line : 1;
  uint64_t version, digest;
  if (!mark.is("gnnc-tune"))
    return expected("'gnnc-tune'", mark);
  Token number = word();
  if (!number.number(10, version))
    return expected("a version", number);
  if (version != static_cast<uint64_t>(kTuningVersion))
    return fail(error, GNNC_VERSION_MISMATCH, "tuning: expected version %lld, found %llu; tune again",
                static_cast<long long>(kTuningVersion), static_cast<unsigned long long>(version));
  Token own = word();
  if (own.length != 16 || !own.number(16, digest))
    return expected("a digest of 16 hexadecimal digits", own);
  if (digest != static_cast<uint64_t>(header.digest))
    return fail(error, GNNC_VERSION_MISMATCH,
                "tuning: it is for another compilation of the model: expected %016llx, found %016llx; tune again",
                static_cast<unsigned long long>(header.digest), static_cast<unsigned long long>(digest));
  return GNNC_OK;
}

gnnc_status TuningReader::readGraph() {
  Token device = word();
  uint64_t own = 0;
  if (device.is("cuda")) {
    Token number = word();
    if (!number.number(10, own) || own == 0 || own > 1000)
      return expected("an architecture, such as 90", number);
  } else if (!device.is("cpu")) {
    return expected("cpu or cuda", device);
  }
  isNear = architecture == kAnyGPU ? own > 0 : own == static_cast<uint64_t>(architecture);
  distance = 0;
  return GNNC_OK;
}

gnnc_status TuningReader::readExtent() {
  Token name = word(), number = word();
  uint64_t extent;
  int64_t space = find(header.numSpaces, name, &TuningReader::spaceName);
  if (space < 0)
    return expected("a space of the model", name);
  if (!number.number(10, extent) || extent > INT32_MAX)
    return expected("an extent", number);
  double a = static_cast<double>(extent), b = static_cast<double>(extents[space]);
  double low = a < b ? a : b, high = a < b ? b : a;
  isNear &= high <= 1.25 * low;
  distance += high > 0 ? (high - low) / high : 0;
  return GNNC_OK;
}

gnnc_status TuningReader::readFunction() {
  Token name = word(), other = word();
  int64_t own = find(header.numFunctions, name, &TuningReader::functionName);
  if (own < 0)
    return expected("a function of the model", name);
  int64_t taken = find(header.numFunctions, other, &TuningReader::functionName);
  if (taken < 0 || !isInstead(taken, own))
    return expected("that function or an alternative to it", other);
  if (functions)
    functions[own] = taken;
  return GNNC_OK;
}

gnnc_status TuningReader::readSweep() {
  Token name = word(), order = word();
  int64_t step = find(header.numDeviceSteps, name, &TuningReader::sweepName);
  if (step < 0)
    return expected("a sweep of the model", name);
  if (!order.is("by_size") && !order.is("by_owner"))
    return expected("by_size or by_owner", order);
  Schedules schedules = schedulesOf(model, step);
  uint64_t previous = INT32_MAX;
  for (int64_t i = 0; i < schedules.count; ++i) {
    // The last one takes all that are left.
    uint64_t members = 0;
    if (i + 1 < schedules.count) {
      Token number = word();
      if (!number.number(10, members) || members > previous)
        return expected("a number of members for each schedule but the last, none greater than that before it", number);
      previous = members;
    }
    if (least) {
      least[schedules.first + i] = static_cast<int64_t>(members);
      bySize[schedules.first + i] = order.is("by_size");
    }
  }
  return GNNC_OK;
}

gnnc_status TuningReader::check(int64_t &best) {
  best = -1;
  start();
  if (gnnc_status status = readHeader())
    return status;
  double least = 0;
  int64_t number = -1;
  auto endSection = [&] {
    if (number >= 0 && isNear && (best < 0 || distance < least))
      best = number, least = distance;
  };
  for (bool more = true; more;) {
    if (Token rest = word(); rest.length > 0)
      return expected("the end of the line", rest);
    if (!(more = nextLine()))
      break;
    Token key = word();
    gnnc_status status;
    if (key.is("graph")) {
      endSection();
      ++number;
      status = readGraph();
    } else if (number < 0) {
      return expected("graph", key);
    } else if (key.is("extent")) {
      status = readExtent();
    } else if (key.is("function")) {
      status = readFunction();
    } else if (key.is("sweep")) {
      status = readSweep();
    } else {
      return expected("graph, extent, function or sweep", key);
    }
    if (status)
      return status;
  }
  endSection();
  return GNNC_OK;
}

void TuningReader::apply(int64_t wanted, int64_t *toFunctions, int64_t *toLeast, bool *toBySize) {
  start();
  readHeader();
  for (int64_t number = -1; number <= wanted && nextLine();) {
    Token key = word();
    number += key.is("graph");
    bool isWanted = number == wanted;
    functions = isWanted ? toFunctions : nullptr;
    least = isWanted ? toLeast : nullptr;
    bySize = isWanted ? toBySize : nullptr;
    if (key.is("function"))
      readFunction();
    else if (key.is("sweep"))
      readSweep();
  }
}

gnnc_status readTuning(const Model &model, const char *text, int64_t architecture, const int64_t *extents,
                       Memory &memory, Tuning &result, gnnc_error *error) {
  TuningReader reader(model, text, architecture, extents, error);
  int64_t best;
  if (gnnc_status status = reader.check(best))
    return status;
  if (best < 0)
    return GNNC_OK;
  const Header &header = model.header();
  int64_t *functions = memory.array<int64_t>(header.numFunctions), *least = memory.array<int64_t>(header.numLaunches);
  bool *bySize = memory.array<bool>(header.numLaunches);
  if (!functions || !least || !bySize)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a tuning");
  for (int64_t i = 0; i < header.numFunctions; ++i)
    functions[i] = -1;
  for (int64_t i = 0; i < header.numLaunches; ++i)
    least[i] = -1, bySize[i] = false;
  reader.apply(best, functions, least, bySize);
  result = {functions, least, bySize};
  return GNNC_OK;
}

} // namespace gnnc::runtime
