// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/loop_indexing.cpp: a Python loop over the elements of a tensor.
//
// Each pass calls a few operators on a little data, so the calls are what takes time:
// a device idles meanwhile, and of a trace without device work it is the time spent on
// calling. patterns/rules/loop_indexing/loops.h tells what counts as a loop.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/host_ops.h"
#include "patterns/launched.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/rules/loop_indexing/loops.h"

namespace tta::patterns {
namespace loop_indexing {
namespace {

enum : std::size_t {
  kMinShare,
  kMinRepeats,
  kMaxBody,
  kMinUnproven,
  kRealWork,
  kMaxPause
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_repeats", 10, "count", "TorchTidy: 10 times the same operators"},
    Threshold{"max_body", 16, "count",
              "calls of one pass; layers of a model, the look-alike, have more"},
    Threshold{"min_unproven", 100, "count",
              "without Python frames and indexes in the file, layers look the same; no "
              "model has a hundred alike"},
    Threshold{"real_work", 20, "us",
              "calling an operator takes 1-10 µs; one on the CPU that works for longer "
              "would have to do so in a batch as well"},
    Threshold{"max_pause", 200, "us",
              "Python between two operators takes less; longer is other work"},
};

// Of a kernel's time, what it takes with nothing to do: 1.5-2.5 us on every device seen
// (as empty_kernel of unfused_optimizer). In a batch its work is still to be done.
double starting_share(const timeline::Timeline& t, std::uint32_t kernel) {
  constexpr double kEmptyKernel = 1500;
  const auto length = static_cast<double>(t.columns().dur[kernel]);
  return std::min(0.999, kEmptyKernel / std::max(1.0, length));
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(std::min(context.limits[i], 1e9));
  };
  auto loops =
      find_loops(t, {count(kMinRepeats), count(kMaxBody), count(kMinUnproven)});
  // With a device, an operator's time on the host is spent calling, however long.
  const auto real_work = t.host ? context.limits.ns(kRealWork) : trace::kTimeLimit;
  std::stable_sort(loops.begin(), loops.end(), [&](const Loop& a, const Loop& b) {
    return c.ts[a.passes[0]] < c.ts[b.passes[0]];
  });
  std::map<std::uint32_t, std::int64_t> reached;  // on each thread
  const auto& launched = launched_work(context);
  std::vector<Mark> marks, sites;
  for (const auto& loop : loops) {
    // A loop inside a loop is part of it.
    const auto lane = t.lanes.lane[loop.passes[0]];
    const auto [it, first] = reached.try_emplace(lane, loop.end);
    if (!first && c.ts[loop.passes[0]] < it->second) continue;
    it->second = loop.end;
    for (std::size_t i = 0; i < loop.passes.size(); ++i) {
      const auto row = loop.passes[i];
      const auto end = i + 1 < loop.passes.size() ? c.ts[loop.passes[i + 1]] : loop.end;
      for (const auto& part : calling_time(t, lane, {c.ts[row], end}, real_work,
                                           context.limits.ns(kMaxPause))) {
        marks.push_back({part, row, 0});
        if (i > 0) sites.push_back(marks.back());  // one pass for all is left
      }
      for (const auto& work : launched.in(lane, {c.ts[row], end})) {
        if (i > 0) sites.push_back({{}, row, 0, work.row, starting_share(t, work.row)});
      }
    }
  }
  auto claims = claim_marks(context, PatternId::kLoopIndexing, std::move(marks));
  note_sites(context, PatternId::kLoopIndexing, std::move(sites));
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  return "A Python loop went through the elements of a tensor " +
         count_text(f.count, "time", "times") + " (" +
         std::string(t.trace->name(f.events.front())) + "): " +
         (t.host ? "calling its operators took " + duration_text(f.wasted_ns) + "."
                 : devices_text(f, false) + " idled " + duration_text(f.wasted_ns) +
                       " meanwhile.");
}

}  // namespace
}  // namespace loop_indexing

const Rule kLoopIndexingRule{PatternId::kLoopIndexing, loop_indexing::kThresholds,
                             loop_indexing::propose, loop_indexing::describe};

}  // namespace tta::patterns
