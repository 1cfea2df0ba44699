// The body of a sweep, written by hand: what SweepBody (Sweep.cuh) asks for, at its least. Each owner gets the mean of
// its members' rows of eight numbers. Two lanes share a row, four numbers each; an item belongs to one group of lanes.

#include "Sweep.cuh"

namespace {

using Real = float;

/// A launch's arguments, 64 bits each: operands, then the worklist, then the items of each way to go through them.
struct Args {
  const Real *x;
  Real *y;
  const int *members; ///< the row of each position
  gnnc::Work work;
  gnnc::Part parts[1];
};

struct Body {
  using Real = ::Real;
  using Args = ::Args;
  static constexpr int kLanes = 2, kSplits = 1, kWarps = 1, kFlight = 4, kThreads = 128, kTiles = 1, kWalks = 1;
  static constexpr int kCombineThreads = 1024, kStaging = 0, kStateWords = 0;
  static constexpr bool kIsLight = true;
  GNNC_DEVICE static constexpr int stateAt(int) { return 0; } // One walk leaves nothing for another.

  struct Walk0 {
    struct Sums {
      Real sum[4];
    };
    struct Member {
      bool live;
      int row;
      Real x[4];
    };
  };
  using Walks = gnnc::Types<Walk0>;

  const Args &args;
  const int first; ///< of the lane's four numbers
  int owner;
  Real mean[4];

  GNNC_DEVICE Body(const Args &args, int lane, int, Real *) : args(args), first(lane * 4) {}
  GNNC_DEVICE void begin(int which) { owner = which; }

  GNNC_DEVICE void reset(Walk0::Sums &sums) const { gnnc::fill<4>(sums.sum, Real(0)); }
  GNNC_DEVICE void merge(Walk0::Sums &sums, const Walk0::Sums &others) const {
    GNNC_FOR(i, 4) sums.sum[i] += others.sum[i];
  }
  GNNC_DEVICE void find(Walk0::Member &member, int position) { member.row = __ldg(args.members + position); }
  GNNC_DEVICE void load(Walk0::Member &member) {
    gnnc::load<4>(member.x, gnnc::rowAt<8>(args.x + first, member.row));
  }
  GNNC_DEVICE void score(Walk0::Member &) {}
  template <int N> GNNC_DEVICE void raise(Walk0::Sums &, const Walk0::Member (&)[N]) {}
  GNNC_DEVICE void add(Walk0::Sums &sums, Walk0::Member &member) {
    GNNC_FOR(i, 4) sums.sum[i] += member.live ? member.x[i] : Real(0);
  }
#ifndef NO_AFTER
  GNNC_DEVICE void after(const Walk0::Sums &sums, int members) {
    GNNC_FOR(i, 4) mean[i] = members > 0 ? sums.sum[i] / Real(members) : Real(0);
  }
#endif
  GNNC_DEVICE void store() { gnnc::store<4>(args.y + gnnc::int64(owner) * 8 + first, mean); }

  // Nothing is summed over all owners.
  struct Totals : gnnc::NoTotals {};
  GNNC_DEVICE void reset(Totals &) const {}
  GNNC_DEVICE void merge(Totals &, const Totals &) const {}
  GNNC_DEVICE void add(Totals &) const {}
  GNNC_DEVICE void store(Totals &) {}
};

} // namespace

/// All items, and the owners that one item has; then those that several have.
extern "C" __global__ void __launch_bounds__(128) mean(const __grid_constant__ Args args) { gnnc::sweep<Body>(args); }
extern "C" __global__ void __launch_bounds__(128) mean_merge(const __grid_constant__ Args args) {
  gnnc::mergeSlots<Body, 0>(args);
}
