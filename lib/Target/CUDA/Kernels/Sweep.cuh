//===- Sweep.cuh - A sweep over a worklist of chunks ------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners are cut into *items* of a bounded number of members, made when the graph is prepared. An item belongs to
// kLanes * kSplits lanes: kLanes share the features of a row, and kSplits such groups take every kSplits-th member. So
// do the groups of kWarps warps where items are long: otherwise the longest item becomes a straggler.
// kFlight members are loaded before the first is used. What is accumulated is a struct of numbers in registers (Sums),
// which knows how two become one; so the groups of an item, and the items of an owner with more than one, are merged by
// the same code, always in the same order. There are no atomics.
//
// What a Body has, which the compiler prints, is the concept SweepBody below; test/Target/CUDA/handwritten.cu is one
// written by hand.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_SWEEP_CUH
#define GNNC_KERNELS_SWEEP_CUH

#include "Half.cuh"
#include "Lanes.cuh"

namespace gnnc {

using device::Heavy, device::Item, device::Part, device::Rows, device::Work, device::kMostAlongY;

GNNC_DEVICE Item itemAt(const Item *items, unsigned number) {
  int4 words = __ldg(reinterpret_cast<const int4 *>(items) + number);
  return {words.x, words.y, words.z, words.w};
}

/// Which indices of the axes that are cut into tiles are this block's. Where there are too many for one dimension of
/// the grid, the last may be one that is not there: isTile.
template <int Tiles> GNNC_DEVICE int tile() { return Tiles > 1 ? blockIdx.y + blockIdx.z * gridDim.y : 0; }
template <int Tiles> GNNC_DEVICE bool isTile() { return Tiles <= kMostAlongY || tile<Tiles>() < Tiles; }

/// Types by number.
template <typename... Ts> struct Types;
template <int K, typename List> struct At;
template <typename T, typename... Ts> struct At<0, Types<T, Ts...>> {
  using Type = T;
};
template <int K, typename T, typename... Ts> struct At<K, Types<T, Ts...>> {
  using Type = typename At<K - 1, Types<Ts...>>::Type;
};
template <class Body, int K> using SumsOf = typename At<K, typename Body::Walks>::Type::Sums;
template <class Body, int K> using MemberOf = typename At<K, typename Body::Walks>::Type::Member;

/// For bodies without totals.
struct NoTotals {
  static constexpr bool kNone = true;
};

//===----------------------------------------------------------------------===//
// What the compiler prints
//===----------------------------------------------------------------------===//

// clang-format off
template <typename T, typename U> constexpr bool kIsSame = false;
template <typename T> constexpr bool kIsSame<T, T> = true;
template <typename T, typename U> concept Same = kIsSame<T, U>;

/// A pass over an owner's members. What is accumulated is a struct of Reals; what is read of a member is another one.
template <class W, typename Real> concept SweepWalk = requires(typename W::Member member) {
  requires sizeof(typename W::Sums) % sizeof(Real) == 0 || sizeof(typename W::Sums) < sizeof(Real);
                                                           // Sums are moved as arrays of numbers.
  { member.live } -> Same<bool &>;                         // whether the member is there
};

/// What walk K of a body does, in this order.
template <class B, int K> concept SweepWalkOf = SweepWalk<typename At<K, typename B::Walks>::Type, typename B::Real> &&
    requires(B body, SumsOf<B, K> sums, const SumsOf<B, K> others, MemberOf<B, K> member,
             const MemberOf<B, K> (&members)[B::kFlight], int position, int count) {
  body.reset(sums);                                        // to the sums of no members
  body.find(member, position);                             // numbers of the rows that a member reads
  body.load(member);                                       // the rows
  body.score(member);                                      // its scores for online softmaxes
  body.raise(sums, members);                               // raises running maxima to them
  body.add(sums, member);                                  // all the rest
  body.merge(sums, others);                                // two groups' sums become one
  body.after(others, count);                               // what the owner knows when the walk is over
};
template <class B, int K> constexpr bool kHasWalks = SweepWalkOf<B, K - 1> && kHasWalks<B, K - 1>;
template <class B> constexpr bool kHasWalks<B, 0> = true;

/// Sums over all owners; kNone: there are none.
template <class B> concept HasTotals = requires(B body, typename B::Totals totals, const typename B::Totals others) {
  { B::Totals::kNone } -> Same<const bool &>;
  body.reset(totals);
  body.merge(totals, others);
  body.add(totals);                                        // what the owner gives
  body.store(totals);
};

template <class B> concept SweepBody = HasTotals<B> &&
    (B::kWalks == 0 || SweepWalkOf<B, 0>) && kHasWalks<B, B::kWalks> && // The former says what is missing.
    requires(B body, const typename B::Args &args, typename B::Real *staging, int number) {
  args.work;                                               // Work, or Rows for kWalks = 0; operands come before it,
                                                           // and `Part parts[]` for each way of walk 0 behind it
  requires B::kLanes * B::kSplits <= 32;                   // lanes share a row; that many groups share an item
  requires B::kWarps >= 1 && B::kFlight >= 1;              // warps that share an item: 1, or all of a block
  requires B::kThreads % 32 == 0 && B::kCombineThreads % 32 == 0; // of a block; of the one that adds up totals
  requires B::kTiles >= 1 && B::kStaging >= 0;             // tiles of the axes; shared numbers of a group
  { B::kIsLight } -> Same<const bool &>;                   // little is held in a walk
  requires B::kStateWords >= 0;                            // numbers of the merged sums that a heavy owner keeps,
  { B::stateAt(number) } -> Same<int>;                     // and where those of a walk are among them
  B(args, number, number, staging);                        // lane of the group, tile: reads what all owners share
  body.begin(number);                                      // what an owner's walks need
  body.store();                                            // the owner's results
};
// clang-format on

//===----------------------------------------------------------------------===//
// Structs of numbers as arrays of words
//===----------------------------------------------------------------------===//

template <typename Real, typename S> constexpr int wordsOf = sizeof(S) / sizeof(Real);

/// Word w of lane l of a group of Lanes is at w * Lanes + l.
template <typename Real, int Lanes, typename S> GNNC_DEVICE void saveWords(Real *to, const S &sums, int groupLane) {
  GNNC_FOR(w, (wordsOf<Real, S>)) to[w * Lanes + groupLane] = reinterpret_cast<const Real *>(&sums)[w];
}
template <typename Real, int Lanes, typename S> GNNC_DEVICE void loadWords(S &sums, const Real *from, int groupLane) {
  GNNC_FOR(w, (wordsOf<Real, S>)) reinterpret_cast<Real *>(&sums)[w] = from[w * Lanes + groupLane];
}
/// Merges the sums of lanes that differ in bits [First, End) of their number.
template <typename Real, int First, int End, typename Body, typename S>
GNNC_DEVICE void mergeLanes(const Body &body, S &sums) {
  if constexpr (First < End) {
    S other;
    GNNC_FOR(w, (wordsOf<Real, S>)) {
      reinterpret_cast<Real *>(&other)[w] = shuffleXor(reinterpret_cast<const Real *>(&sums)[w], First);
    }
    body.merge(sums, other);
    mergeLanes<Real, First * 2, End>(body, sums);
  }
}

//===----------------------------------------------------------------------===//
// Totals: sums over all owners. Each block leaves one partial total.
//===----------------------------------------------------------------------===//

/// Shared memory for a block's totals. All ways of a kernel have the same, since a block goes one way alone: what each
/// had of its own would add up.
template <typename Real, int Count> GNNC_DEVICE Real *placeOfTotals() {
  __shared__ Real numbers[Count];
  return numbers;
}

template <int Threads, class Body, typename Totals>
GNNC_DEVICE void leaveTotals(const Body &body, Totals &totals, typename Body::Real *partials, int64 block) {
  if constexpr (!Totals::kNone) {
    using Real = typename Body::Real;
    constexpr int kWords = wordsOf<Real, Totals> * Body::kLanes, kWarps = Threads / 32;
    mergeLanes<Real, Body::kLanes, 32>(body, totals);
    if constexpr (kWarps > 1) {
      Real *const shared = placeOfTotals<Real, kWords * kWarps>();
      int warp = threadIdx.x / 32;
      if (lane() < Body::kLanes)
        saveWords<Real, Body::kLanes>(shared + warp * kWords, totals, lane());
      __syncthreads();
      if (warp == 0 && lane() < Body::kLanes) {
        for (int other = 1; other < kWarps; ++other) {
          Totals next;
          loadWords<Real, Body::kLanes>(next, shared + other * kWords, lane());
          body.merge(totals, next);
        }
      }
    }
    if (threadIdx.x < Body::kLanes)
      saveWords<Real, Body::kLanes>(partials + (block * Body::kTiles + tile<Body::kTiles>()) * kWords, totals,
                                    threadIdx.x);
  }
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

/// The same body in another way: so many warps share an item, and so many groups of each. Several warps are all of a
/// block. With fewer members in flight there are few members, for which whole rounds are not worth a loop either.
template <class Base, int Warps, int Splits, int Threads = Base::kThreads, int Flight = Base::kFlight>
struct InWay : Base {
  static constexpr int kWarps = Warps, kSplits = Splits, kThreads = Threads, kFlight = Flight;
  static constexpr bool kIsLight = Base::kIsLight || Flight < Base::kFlight;
  GNNC_DEVICE InWay(const typename Base::Args &args, int lane, int tile, typename Base::Real *staging)
      : Base(args, lane, tile, staging) {}
};

/// Merges the sums of a block's warps, of which each has its own: all have the whole then.
template <int Warps, class Body, typename S> GNNC_DEVICE void mergeWarps(const Body &body, S &sums) {
  if constexpr (Warps > 1 && wordsOf<typename Body::Real, S> > 0) {
    using Real = typename Body::Real;
    constexpr int kWords = wordsOf<Real, S> * Body::kLanes;
    __shared__ Real parts[Warps][kWords];
    const int groupLane = lane() % Body::kLanes;
    if (lane() < Body::kLanes)
      saveWords<Real, Body::kLanes>(parts[threadIdx.x / 32], sums, groupLane);
    __syncthreads();
    loadWords<Real, Body::kLanes>(sums, parts[0], groupLane);
    for (int other = 1; other < Warps; ++other) {
      S next;
      loadWords<Real, Body::kLanes>(next, parts[other], groupLane);
      body.merge(sums, next);
    }
    __syncthreads(); // Now the place may be used again.
  }
}

template <class Body> struct Group {
  static constexpr int kItemLanes = Body::kLanes * Body::kSplits;
  static constexpr int kItemsOfWarp = 32 / kItemLanes;
  static_assert(kItemLanes <= 32 && Body::kThreads % 32 == 0);
  static_assert(Body::kWarps == 1 || (Body::kWarps == Body::kThreads / 32 && kItemsOfWarp == 1));
  GNNC_DEVICE static int groupLane() { return lane() % Body::kLanes; }
  /// Among the groups that share an item.
  GNNC_DEVICE static int split() {
    int ofWarp = lane() / Body::kLanes % Body::kSplits;
    return Body::kWarps > 1 ? threadIdx.x / 32 * Body::kSplits + ofWarp : ofWarp;
  }
  GNNC_DEVICE static int itemOfWarp() { return lane() / kItemLanes; }
  GNNC_DEVICE static int warp() { return blockIdx.x * (Body::kThreads / 32) + threadIdx.x / 32; }
  GNNC_DEVICE static int warps() { return gridDim.x * (Body::kThreads / 32); }
  /// Who takes turns in a block: its warps, or all of it.
  static constexpr unsigned kTakers = Body::kWarps > 1 ? 1 : Body::kThreads / 32;
  GNNC_DEVICE static unsigned taker(unsigned block) { return block * kTakers + (kTakers > 1 ? threadIdx.x / 32 : 0); }
  /// Shared memory of this thread's group.
  GNNC_DEVICE static typename Body::Real *staging() {
    if constexpr (Body::kStaging == 0) {
      return nullptr;
    } else {
      extern __shared__ double memory[];
      return reinterpret_cast<typename Body::Real *>(memory) + threadIdx.x / Body::kLanes * Body::kStaging;
    }
  }
};

/// One round of a walk: so many members of each group. All: none of them is beyond `end`, in no group of the warp.
template <class Body, int K, bool All, int kFlight = Body::kFlight>
GNNC_DEVICE void goRound(Body &body, SumsOf<Body, K> &sums, int first, int end, int last) {
  constexpr int kGroups = Body::kSplits * Body::kWarps;
  MemberOf<Body, K> members[kFlight];
  GNNC_FOR(u, kFlight) {
    int position = first + u * kGroups;
    members[u].live = All || position < end;
    body.find(members[u], members[u].live ? position : last);
  }
  GNNC_FOR(u, kFlight) body.load(members[u]);
  GNNC_FOR(u, kFlight) body.score(members[u]);
  body.raise(sums, members);
  GNNC_FOR(u, kFlight) body.add(sums, members[u]);
}

/// All groups of a warp go round equally often, so that all lanes meet at every exchange between lanes. As long as all
/// have members for a whole round, nothing asks which are there, and a warp with one item goes half rounds at its end;
/// in a light body both are worth less than the registers of two loops.
template <class Body, int K> GNNC_DEVICE void walk(Body &body, SumsOf<Body, K> &sums, int begin, int end) {
  constexpr int kGroups = Body::kSplits * Body::kWarps, kStep = Body::kFlight * kGroups;
  constexpr bool kHasHalves = !Body::kIsLight && Group<Body>::kItemsOfWarp == 1 && Body::kFlight % 2 == 0;
  constexpr int kLastFlight = kHasHalves ? Body::kFlight / 2 : Body::kFlight, kLastStep = kLastFlight * kGroups;
  int number = end - begin, whole = number / kStep * kStep, all = (number + kLastStep - 1) / kLastStep * kLastStep;
  if constexpr (Group<Body>::kItemsOfWarp > 1)
    whole = minLanes<1, 32>(whole), all = maxLanes<1, 32>(all);
  int last = number > 0 ? end - 1 : 0, first = begin + Group<Body>::split();
  const int wholeEnd = first + whole, allEnd = first + all;
  if constexpr (!Body::kIsLight)
    for (; first < wholeEnd; first += kStep)
      goRound<Body, K, true>(body, sums, first, end, last);
  for (; first < allEnd; first += kLastStep)
    goRound<Body, K, false, kLastFlight>(body, sums, first, end, last);
  mergeLanes<typename Body::Real, Body::kLanes, Group<Body>::kItemLanes>(body, sums);
  mergeWarps<Body::kWarps>(body, sums);
}

template <class Body, int K> GNNC_DEVICE typename Body::Real *slotOf(const Work &work, int slot) {
  using Real = typename Body::Real;
  constexpr int kWords = wordsOf<Real, SumsOf<Body, K>> * Body::kLanes;
  return static_cast<Real *>(work.slots) + (int64(slot) * Body::kTiles + tile<Body::kTiles>()) * kWords;
}
/// Merged sums of walk K of a heavy owner.
template <class Body, int K> GNNC_DEVICE typename Body::Real *stateOf(const Work &work, int64 heavy) {
  using Real = typename Body::Real;
  int64 at = (heavy * Body::kTiles + tile<Body::kTiles>()) * Body::kStateWords;
  return static_cast<Real *>(work.states) + (at + Body::stateAt(K)) * Body::kLanes;
}

/// Goes on from walk K, whose owner values are ready, to the end of the owner, where it is light.
template <class Body, int K>
GNNC_DEVICE void walksFrom(Body &body, const Work &work, Item item, int members, typename Body::Totals &totals) {
  if constexpr (K < Body::kWalks) {
    SumsOf<Body, K> sums;
    body.reset(sums);
    walk<Body, K>(body, sums, item.begin, item.end);
    if (item.slot >= 0) {
      if (Group<Body>::split() == 0)
        saveWords<typename Body::Real, Body::kLanes>(slotOf<Body, K>(work, item.slot), sums, Group<Body>::groupLane());
      item.begin = item.end, item.slot = -2;
    }
    if (!anyLane(item.slot == -1))
      return;
    body.after(sums, members);
    walksFrom<Body, K + 1>(body, work, item, members, totals);
  } else if (item.slot == -1 && Group<Body>::split() == 0) {
    body.store();
    body.add(totals);
  }
}

/// Replays walks [First, K) of a heavy owner from their merged sums.
template <class Body, int First, int K>
GNNC_DEVICE void replay(Body &body, const Work &work, int64 heavy, int members) {
  if constexpr (First < K) {
    SumsOf<Body, First> sums;
    loadWords<typename Body::Real, Body::kLanes>(sums, stateOf<Body, First>(work, heavy), Group<Body>::groupLane());
    body.after(sums, members);
    replay<Body, First + 1, K>(body, work, heavy, members);
  }
}

/// Walk 0: all items, and all walks of light owners. Later walks: the items of heavy owners. `block` of
/// `part.numBlocks`.
template <class Body, int K>
GNNC_DEVICE void sweepPart(const typename Body::Args &args, const Part &part, unsigned block) {
  using G = Group<Body>;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile<Body::kTiles>(), G::staging());
  typename Body::Totals totals;
  body.reset(totals);
  // Unsigned: the last step may leave what an int holds.
  const unsigned number = unsigned(part.numItems), step = unsigned(part.numBlocks) * G::kTakers * G::kItemsOfWarp;
  for (unsigned first = G::taker(block) * G::kItemsOfWarp; first < number; first += step) {
    unsigned at = first + G::itemOfWarp();
    Item item = at < number ? itemAt(part.items, at) : Item{0, 0, 0, -2};
    body.begin(item.owner);
    int members = item.end - item.begin;
    if constexpr (K > 0) {
      int heavy = at < number ? __ldg(work.heavyOfSlot + item.slot) : 0;
      members = __ldg(&work.heavy[heavy].members);
      replay<Body, 0, K>(body, work, heavy, members);
    }
    walksFrom<Body, K>(body, work, item, members, totals);
    if constexpr (Body::Totals::kNone) // There are blocks for all: no more to remember in a walk.
      break;
  }
  if constexpr (K == 0)
    leaveTotals<Body::kThreads>(body, totals, static_cast<typename Body::Real *>(work.partials),
                                work.partialsAt + blockIdx.x);
}

/// Each part of the blocks its own items, in its own way: by falling size of the items, so that the last to begin are
/// short.
template <int I, class Body, class... Rest>
GNNC_DEVICE void sweepInWays(const typename Body::Args &args, unsigned block) {
  const Part part = args.parts[I];
  if (sizeof...(Rest) == 0 || block < unsigned(part.numBlocks))
    return sweepPart<Body, 0>(args, part, block);
  if constexpr (sizeof...(Rest) > 0)
    sweepInWays<I + 1, Rest...>(args, block - unsigned(part.numBlocks));
}
template <SweepBody Body, SweepBody... Rest> GNNC_DEVICE void sweep(const typename Body::Args &args) {
  if (isTile<Body::kTiles>())
    sweepInWays<0, Body, Rest...>(args, blockIdx.x);
}

/// The items of part I alone.
template <int I, SweepBody Body> GNNC_DEVICE void sweepOnly(const typename Body::Args &args) {
  if (isTile<Body::kTiles>())
    sweepPart<Body, 0>(args, args.parts[I], blockIdx.x);
}

/// A later walk of heavy owners.
template <SweepBody Body, int K> GNNC_DEVICE void sweepHeavy(const typename Body::Args &args) {
  if (isTile<Body::kTiles>())
    sweepPart<Body, K>(args, Part{args.work.items, args.work.numHeavyItems, gridDim.x}, blockIdx.x);
}

/// Merges the slots of heavy owners after walk K, a block or a warp each; after the last one, finishes them.
template <SweepBody Body, int K> GNNC_DEVICE void mergeSlots(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  using Real = typename Body::Real;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile<Body::kTiles>(), G::staging());
  typename Body::Totals totals;
  body.reset(totals);
  constexpr int kFlight = wordsOf<Real, SumsOf<Body, K>> <= 8 ? 8 : 4, kGroups = Body::kWarps * Body::kSplits;
  for (unsigned at = G::taker(blockIdx.x); at < work.numHeavy; at += gridDim.x * G::kTakers) {
    int4 heavy = __ldg(reinterpret_cast<const int4 *>(work.heavy) + at);
    // Each group takes slots that lie side by side.
    int each = (heavy.z - heavy.y + kGroups - 1) / kGroups, slot = heavy.y + G::split() * each;
    int end = slot + each < heavy.z ? slot + each : heavy.z;
    SumsOf<Body, K> sums;
    body.reset(sums);
    for (; slot < end; slot += kFlight) {
      SumsOf<Body, K> next[kFlight];
      GNNC_FOR(u, kFlight)
      loadWords<Real, Body::kLanes>(next[u], slotOf<Body, K>(work, slot + u < end ? slot + u : slot), G::groupLane());
      GNNC_FOR(u, kFlight) if (slot + u < end) body.merge(sums, next[u]);
    }
    syncWarp();
    mergeLanes<Real, Body::kLanes, 32>(body, sums);
    mergeWarps<Body::kWarps>(body, sums);
    if constexpr (K + 1 < Body::kWalks) {
      if (G::split() == 0)
        saveWords<Real, Body::kLanes>(stateOf<Body, K>(work, at), sums, G::groupLane());
    } else {
      body.begin(heavy.x);
      replay<Body, 0, K>(body, work, at, heavy.w);
      body.after(sums, heavy.w);
      if (G::split() == 0) {
        body.store();
        body.add(totals);
      }
    }
  }
  if constexpr (K + 1 == Body::kWalks)
    leaveTotals<Body::kThreads>(body, totals, static_cast<Real *>(work.partials), work.partialsAt + blockIdx.x);
}

/// Rows without members: elementwise work.
template <SweepBody Body> GNNC_DEVICE void rows(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  const auto &work = args.work;
  Body body(args, G::groupLane(), tile<Body::kTiles>(), G::staging());
  typename Body::Totals totals;
  body.reset(totals);
  constexpr int kGroups = 32 / Body::kLanes;
  for (int64 first = int64(G::warp()) * kGroups; first < work.numItems; first += int64(G::warps()) * kGroups) {
    int64 row = first + lane() / Body::kLanes;
    bool live = row < work.numItems;
    body.begin(live ? int(row) : 0);
    if (live) {
      body.store();
      body.add(totals);
    }
  }
  if constexpr (!Body::Totals::kNone)
    leaveTotals<Body::kThreads>(body, totals, static_cast<typename Body::Real *>(work.partials),
                                work.partialsAt + blockIdx.x);
}

/// Partial sums of a thread that are on their way at once: there are hundreds, and one after the other they would take
/// longer than what made them.
constexpr int kPartialsAtOnce = 16;

/// Merges partial totals first, first + step, ... before `end` into place `to`, which no other block reads. Groups take
/// every n-th, then merge in order.
template <class Body>
GNNC_DEVICE void mergePartials(const Body &body, const Work &work, int64 first, int64 step, int64 end, int64 to) {
  using G = Group<Body>;
  using Real = typename Body::Real;
  constexpr int kWords = wordsOf<Real, typename Body::Totals> * Body::kLanes;
  constexpr int kGroups = Body::kCombineThreads / Body::kLanes;
  Real *partials = static_cast<Real *>(work.partials);
  typename Body::Totals totals;
  body.reset(totals);
  constexpr int kOwnWords = wordsOf<Real, typename Body::Totals>;
  constexpr int kAtOnce = kOwnWords <= 2 ? kPartialsAtOnce / 2 : kOwnWords <= 4 ? kPartialsAtOnce / 4 : 1;
  for (int64 at = first + threadIdx.x / Body::kLanes * step; at < end; at += kAtOnce * kGroups * step) {
    typename Body::Totals next[kAtOnce];
    GNNC_FOR(u, kAtOnce) {
      const int64 from = at + u * kGroups * step;
      loadWords<Real, Body::kLanes>(
          next[u], partials + ((from < end ? from : at) * Body::kTiles + tile<Body::kTiles>()) * kWords,
          G::groupLane());
    }
    GNNC_FOR(u, kAtOnce) if (at + u * kGroups * step < end) body.merge(totals, next[u]);
  }
  __syncthreads(); // Now `to` may be overwritten.
  leaveTotals<Body::kCombineThreads>(body, totals, partials, to);
}

/// Block i of Parts merges the i-th part of all partial totals into the part's first place.
template <SweepBody Body, int Parts> GNNC_DEVICE void combineParts(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile<Body::kTiles>(), G::staging());
  int64 each = (work.numPartials + Parts - 1) / Parts, first = blockIdx.x * each;
  if (first >= work.numPartials)
    return;
  int64 end = first + each < work.numPartials ? first + each : work.numPartials;
  mergePartials(body, work, first, 1, end, first);
}

/// One block for each tile: partial totals, or those of Parts parts, become the results.
template <SweepBody Body, int Parts> GNNC_DEVICE void combine(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  using Real = typename Body::Real;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile<Body::kTiles>(), G::staging());
  constexpr int kWords = wordsOf<Real, typename Body::Totals> * Body::kLanes;
  int64 each = 1;
  if constexpr (Parts > 0)
    each = work.numPartials > Parts ? (work.numPartials + Parts - 1) / Parts : 1;
  mergePartials(body, work, 0, each, work.numPartials, 0);
  __syncthreads();
  if (threadIdx.x < Body::kLanes) {
    typename Body::Totals totals;
    loadWords<Real, Body::kLanes>(
        totals, static_cast<const Real *>(work.partials) + int64(tile<Body::kTiles>()) * kWords, G::groupLane());
    body.store(totals);
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_SWEEP_CUH
