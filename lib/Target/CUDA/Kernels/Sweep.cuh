//===- Sweep.cuh - A sweep over a worklist of chunks ------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners are cut into *items* of a bounded number of members, made when the graph is prepared. An item belongs to
// kLanes * kSplits lanes: kLanes share the features of a row, and kSplits such groups take every kSplits-th member.
// kFlight members are loaded before the first is used. What is accumulated is a struct of numbers in registers (Sums),
// which knows how two become one; so the groups of an item, and the items of an owner with more than one, are merged by
// the same code, always in the same order. There are no atomics.
//
// A Body (printed by the compiler) has
//   Real, kLanes, kSplits, kFlight, kThreads, kStaging (numbers of shared memory for one group), kTiles, kWalks,
//   kCombineThreads (threads of the block that adds up totals), kStateWords and stateAt(K) (where the sums of walk K are
//   among the merged sums that a heavy owner keeps)
//   Args: operands, and `Work work`
//   Body(args, lane of the group, tile, staging)   reads what is shared by all owners
//   begin(owner)                                   what an owner's walk needs
//   Walk K: types Sums<K> (reset, merge) and Member<K> (live), and
//     find(Member &, position)                     the numbers of the rows a member reads
//     load(Member &)                               the rows
//     score(Member &)                              its scores for online softmaxes
//     raise(Sums &, const Member (&)[kFlight])     raises running maxima to them
//     add(Sums &, Member &)                        all the rest
//     after(Sums &, members)                       what the owner knows when the walk is over
//   store()                                        the owner's results
//   Totals (reset, merge), add(Totals &), store(Totals &): sums over all owners
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_SWEEP_CUH
#define GNNC_KERNELS_SWEEP_CUH

#include "Lanes.cuh"

namespace gnnc {

/// Members [begin, end) of an owner. `slot`: where partial sums go if the owner has more items; -1: it has not.
struct alignas(16) Item {
  int owner, begin, end, slot;
};
/// An owner with several items, whose partial sums are in slots [first, last).
struct alignas(16) Heavy {
  int owner, first, last, members;
};

/// Items with a slot come first.
struct Work {
  const Item *items;
  int64 numItems, numHeavyItems;
  const Heavy *heavy;
  int64 numHeavy;
  const int *heavyOfSlot;
  void *slots;   ///< partial sums of each slot, for the walk in progress
  void *states;  ///< merged sums of each heavy owner, for each walk but the last
  void *partials; ///< totals of each block
  int64 partialsAt, numPartials; ///< where this launch's begin; how many there are of all launches
};

/// Which indices of the axes that are cut into tiles are this block's. Where there are too many for one dimension of the
/// grid, the last may be one that is not there: isTile.
GNNC_DEVICE int tile() { return blockIdx.y + blockIdx.z * gridDim.y; }
constexpr int kMostAlongY = 1 << 15;
template <int Tiles> GNNC_DEVICE bool isTile() { return Tiles <= kMostAlongY || tile() < Tiles; }

/// Types by number.
template <typename... Ts> struct Types;
template <int K, typename List> struct At;
template <typename T, typename... Ts> struct At<0, Types<T, Ts...>> { using Type = T; };
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
// Structs of numbers as arrays of words
//===----------------------------------------------------------------------===//

template <typename Real, typename S> constexpr int wordsOf = sizeof(S) / sizeof(Real);

/// Word w of lane l of a group of Lanes is at w * Lanes + l.
template <typename Real, int Lanes, typename S> GNNC_DEVICE void saveWords(Real *to, const S &sums, int groupLane) {
  GNNC_FOR(w, (wordsOf<Real, S>)) to[w * Lanes + groupLane] = reinterpret_cast<const Real *>(&sums)[w];
}
template <typename Real, int Lanes, typename S>
GNNC_DEVICE void loadWords(S &sums, const Real *from, int groupLane) {
  GNNC_FOR(w, (wordsOf<Real, S>)) reinterpret_cast<Real *>(&sums)[w] = from[w * Lanes + groupLane];
}
/// Merges the sums of lanes that differ in bits [First, End) of their number.
template <typename Real, int First, int End, typename Body, typename S>
GNNC_DEVICE void mergeLanes(const Body &body, S &sums) {
  if constexpr (First < End) {
    S other;
    GNNC_FOR(w, (wordsOf<Real, S>)) {
      reinterpret_cast<Real *>(&other)[w] =
          __shfl_xor_sync(kAllLanes, reinterpret_cast<const Real *>(&sums)[w], First);
    }
    body.merge(sums, other);
    mergeLanes<Real, First * 2, End>(body, sums);
  }
}

//===----------------------------------------------------------------------===//
// Totals: sums over all owners. Each block leaves one partial total.
//===----------------------------------------------------------------------===//

template <int Threads, class Body, typename Totals>
GNNC_DEVICE void leaveTotals(const Body &body, Totals &totals, typename Body::Real *partials, int64 block) {
  if constexpr (!Totals::kNone) {
    using Real = typename Body::Real;
    constexpr int kWords = wordsOf<Real, Totals> * Body::kLanes, kWarps = Threads / 32;
    mergeLanes<Real, Body::kLanes, 32>(body, totals);
    __shared__ Real shared[kWarps > 1 ? kWords * kWarps : 1];
    if constexpr (kWarps > 1) {
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
      saveWords<Real, Body::kLanes>(partials + (block * Body::kTiles + tile()) * kWords, totals, threadIdx.x);
  }
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

/// The same body with another number of groups that share an owner's members.
template <class Base, int Splits> struct WithSplits : Base {
  static constexpr int kSplits = Splits;
  GNNC_DEVICE WithSplits(const typename Base::Args &args, int lane, int tile, typename Base::Real *staging)
      : Base(args, lane, tile, staging) {}
};

template <class Body> struct Group {
  static constexpr int kItemLanes = Body::kLanes * Body::kSplits;
  static constexpr int kItemsOfWarp = 32 / kItemLanes;
  static_assert(kItemLanes <= 32 && Body::kThreads % 32 == 0);
  GNNC_DEVICE static int groupLane() { return lane() % Body::kLanes; }
  GNNC_DEVICE static int split() { return lane() / Body::kLanes % Body::kSplits; }
  GNNC_DEVICE static int itemOfWarp() { return lane() / kItemLanes; }
  GNNC_DEVICE static int warp() { return blockIdx.x * (Body::kThreads / 32) + threadIdx.x / 32; }
  GNNC_DEVICE static int warps() { return gridDim.x * (Body::kThreads / 32); }
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

/// All groups of a warp go round equally often, so that all lanes meet at every exchange between lanes.
template <class Body, int K> GNNC_DEVICE void walk(Body &body, SumsOf<Body, K> &sums, int begin, int end) {
  constexpr int kFlight = Body::kFlight, kStep = kFlight * Body::kSplits;
  int rounds = (end - begin + kStep - 1) / kStep;
  if constexpr (Group<Body>::kItemsOfWarp > 1)
    rounds = maxLanes<1, 32>(rounds);
  int last = end > begin ? end - 1 : 0;
  int first = begin + Group<Body>::split();
  for (int round = 0; round < rounds; ++round, first += kStep) {
    MemberOf<Body, K> members[kFlight];
    GNNC_FOR(u, kFlight) {
      int position = first + u * Body::kSplits;
      members[u].live = position < end;
      body.find(members[u], members[u].live ? position : last);
    }
    GNNC_FOR(u, kFlight) body.load(members[u]);
    GNNC_FOR(u, kFlight) body.score(members[u]);
    body.raise(sums, members);
    GNNC_FOR(u, kFlight) body.add(sums, members[u]);
  }
  mergeLanes<typename Body::Real, Body::kLanes, Group<Body>::kItemLanes>(body, sums);
}

template <class Body, int K> GNNC_DEVICE typename Body::Real *slotOf(const Work &work, int slot) {
  using Real = typename Body::Real;
  constexpr int kWords = wordsOf<Real, SumsOf<Body, K>> * Body::kLanes;
  return static_cast<Real *>(work.slots) + (int64(slot) * Body::kTiles + tile()) * kWords;
}
/// Merged sums of walk K of a heavy owner.
template <class Body, int K> GNNC_DEVICE typename Body::Real *stateOf(const Work &work, int64 heavy) {
  using Real = typename Body::Real;
  int64 at = (heavy * Body::kTiles + tile()) * Body::kStateWords;
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
        saveWords<typename Body::Real, Body::kLanes>(slotOf<Body, K>(work, item.slot), sums,
                                                     Group<Body>::groupLane());
      item.begin = item.end, item.slot = -2;
    }
    if (!__any_sync(kAllLanes, item.slot == -1))
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

/// Walk 0: all items, and all walks of light owners. Later walks: the items of heavy owners.
template <class Body, int K> GNNC_DEVICE void sweep(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile(), G::staging());
  typename Body::Totals totals;
  body.reset(totals);
  // Unsigned: the last step may leave what an int holds.
  unsigned number = unsigned(K == 0 ? work.numItems : work.numHeavyItems);
  for (unsigned first = G::warp() * G::kItemsOfWarp; first < number; first += G::warps() * G::kItemsOfWarp) {
    unsigned at = first + G::itemOfWarp();
    Item item{0, 0, 0, -2};
    if (at < number) {
      int4 words = __ldg(reinterpret_cast<const int4 *>(work.items) + at);
      item = {words.x, words.y, words.z, words.w};
    }
    body.begin(item.owner);
    int members = item.end - item.begin;
    if constexpr (K > 0) {
      int heavy = at < number ? __ldg(work.heavyOfSlot + item.slot) : 0;
      members = __ldg(&work.heavy[heavy].members);
      replay<Body, 0, K>(body, work, heavy, members);
    }
    walksFrom<Body, K>(body, work, item, members, totals);
  }
  if constexpr (K == 0)
    leaveTotals<Body::kThreads>(body, totals, static_cast<typename Body::Real *>(work.partials), work.partialsAt + blockIdx.x);
}

/// Merges the slots of heavy owners after walk K; after the last one, finishes them.
template <class Body, int K> GNNC_DEVICE void mergeSlots(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  using Real = typename Body::Real;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile(), G::staging());
  typename Body::Totals totals;
  body.reset(totals);
  // One group an owner: kSplits does not matter here.
  constexpr int kGroups = 32 / Body::kLanes;
  for (unsigned first = G::warp() * kGroups; first < work.numHeavy; first += G::warps() * kGroups) {
    unsigned at = first + lane() / Body::kLanes;
    bool live = at < work.numHeavy;
    int4 heavy = __ldg(reinterpret_cast<const int4 *>(work.heavy) + (live ? at : 0));
    SumsOf<Body, K> sums;
    body.reset(sums);
    for (int slot = heavy.y; slot < heavy.z; ++slot) {
      SumsOf<Body, K> next;
      loadWords<Real, Body::kLanes>(next, slotOf<Body, K>(work, slot), G::groupLane());
      body.merge(sums, next);
    }
    __syncwarp();
    if constexpr (K + 1 < Body::kWalks) {
      if (live)
        saveWords<Real, Body::kLanes>(stateOf<Body, K>(work, at), sums, G::groupLane());
    } else {
      body.begin(heavy.x);
      replay<Body, 0, K>(body, work, live ? at : 0, heavy.w);
      body.after(sums, heavy.w);
      if (live) {
        body.store();
        body.add(totals);
      }
    }
  }
  if constexpr (K + 1 == Body::kWalks)
    leaveTotals<Body::kThreads>(body, totals, static_cast<Real *>(work.partials), work.partialsAt + blockIdx.x);
}

/// Rows without members: elementwise work.
template <class Body> GNNC_DEVICE void rows(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile(), G::staging());
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
  leaveTotals<Body::kThreads>(body, totals, static_cast<typename Body::Real *>(work.partials), work.partialsAt + blockIdx.x);
}

/// Merges partial totals first, first + step, ... before `end` into place `to`, which no other block reads. Groups take every
/// n-th, then merge in order.
template <class Body>
GNNC_DEVICE void mergePartials(const Body &body, const Work &work, int64 first, int64 step, int64 end, int64 to) {
  using G = Group<Body>;
  using Real = typename Body::Real;
  constexpr int kWords = wordsOf<Real, typename Body::Totals> * Body::kLanes;
  constexpr int kGroups = Body::kCombineThreads / Body::kLanes;
  Real *partials = static_cast<Real *>(work.partials);
  typename Body::Totals totals;
  body.reset(totals);
  for (int64 at = first + threadIdx.x / Body::kLanes * step; at < end; at += kGroups * step) {
    typename Body::Totals next;
    loadWords<Real, Body::kLanes>(next, partials + (at * Body::kTiles + tile()) * kWords, G::groupLane());
    body.merge(totals, next);
  }
  __syncthreads(); // Now `to` may be overwritten.
  leaveTotals<Body::kCombineThreads>(body, totals, partials, to);
}

/// Block i of Parts merges the i-th part of all partial totals into the part's first place.
template <class Body, int Parts> GNNC_DEVICE void combineParts(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile(), G::staging());
  int64 each = (work.numPartials + Parts - 1) / Parts, first = blockIdx.x * each;
  if (first >= work.numPartials)
    return;
  int64 end = first + each < work.numPartials ? first + each : work.numPartials;
  mergePartials(body, work, first, 1, end, first);
}

/// One block for each tile: partial totals, or those of Parts parts, become the results.
template <class Body, int Parts> GNNC_DEVICE void combine(const typename Body::Args &args) {
  if (!isTile<Body::kTiles>())
    return;
  using G = Group<Body>;
  using Real = typename Body::Real;
  const Work &work = args.work;
  Body body(args, G::groupLane(), tile(), G::staging());
  constexpr int kWords = wordsOf<Real, typename Body::Totals> * Body::kLanes;
  int64 each = 1;
  if constexpr (Parts > 0)
    each = work.numPartials > Parts ? (work.numPartials + Parts - 1) / Parts : 1;
  mergePartials(body, work, 0, each, work.numPartials, 0);
  __syncthreads();
  if (threadIdx.x < Body::kLanes) {
    typename Body::Totals totals;
    loadWords<Real, Body::kLanes>(totals, static_cast<const Real *>(work.partials) + int64(tile()) * kWords,
                                  G::groupLane());
    body.store(totals);
  }
}

} // namespace gnnc

#endif // GNNC_KERNELS_SWEEP_CUH
