// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/small_collectives.cpp: collectives so small that latency is all they
// cost, one right after the other.
//
// Only a run of like collectives that the host issued back to back can be put into one:
// the next could not depend on what comes between, as nothing does. (The all-reduces of
// tensor parallelism are small too, and each is needed before the next.) One of a run
// has to stay; of each other, what exceeds the time its bytes take is lost. How long a
// collective takes includes waiting for the slowest rank, which merging would not
// change: a latency above the run's lower quartile is not counted. Nor is what
// computation hides.
//
// Older versions record no sizes. A collective that ends within `small_time` was small
// or nearly so, and a long run of them goes from parameter to parameter; longer ones
// may stand within. Its shortest one moved next to nothing: that is the latency, and
// what each other but one could save at most.
//
// To issue each costs the host as much as to issue one for all. Where the device runs
// dry between two of a run, it waits for that: the rule stands before those on
// launches, which would see only that they come late.
#include <algorithm>
#include <array>

#include "patterns/communication.h"
#include "patterns/launched.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/rules/small_collectives/collective_runs.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace small_collectives {
namespace {

enum : std::size_t {
  kMinShare,
  kSmallBytes,
  kSmallShare,
  kMaxBetween,
  kBytesPerUs,
  kSmallTime,
  kMinRun
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"small_bytes", 1 << 20, "bytes", "msprof-analyze: under 1 MB over RDMA"},
    Threshold{"small_share", 0.2, "share",
              "msprof-analyze: a fifth of the communication in small messages"},
    Threshold{"max_between", 1, "count",
              "a loop over gradients scales each (one kernel); a layer between two "
              "collectives of tensor parallelism is three kernels and more"},
    Threshold{"bytes_per_us", 5000, "bytes",
              "5 GB/s, half of PCIe 3 x16: what merged messages take at most, unless "
              "the trace's own large collectives are slower"},
    Threshold{"small_time", 50, "us",
              "of unknown size: NCCL takes 10-30 µs for next to nothing inside a "
              "machine, and 1 MB takes 50 µs at 20 GB/s"},
    Threshold{"min_run", 10, "count",
              "of unknown size: small ones in one run; fewer are no loop over "
              "parameters"},
};

// What each of a run but its longest took beyond its bytes' own time.
void add_excess(const Context& context, const CollectiveRun& run, double bytes_per_us,
                std::vector<Mark>& out) {
  const auto& c = context.timeline.columns();
  std::vector<std::int64_t> lengths;
  for (const auto& w : run) lengths.push_back(c.dur[w.row]);
  const auto kept = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
  const bool sized = run.front().bytes >= 0;
  const auto usual = timeline::value_at(lengths, sized ? (lengths.size() - 1) / 4 : 0);
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (static_cast<std::ptrdiff_t>(i) == kept) continue;
    const auto bytes = static_cast<double>(std::max<std::int64_t>(0, run[i].bytes));
    const auto transfer = static_cast<std::int64_t>(
        std::min(1e15, bytes / std::max(1e-6, bytes_per_us) * 1e3));
    const auto excess = std::min(lengths[i], usual) - transfer;
    const auto begin = c.ts[run[i].row];
    if (excess > 0) out.push_back({{begin, begin + excess}, run[i].row});
  }
}

enum : std::uint8_t { kLatency, kIssuing };

// What a kernel takes with nothing to do, as empty_kernel of unfused_optimizer.
constexpr double kEmptyKernel = 1500;

// From one collective's call to the next of its run: what the host would not have to do
// again. Both calls on one thread, as runs are.
void add_issuing(const timeline::Timeline& t, const CollectiveRun& run,
                 std::vector<Mark>& out) {
  const auto& c = t.columns();
  for (std::size_t i = 1; i < run.size(); ++i) {
    const auto before = t.launch_of(run[i - 1].row), at = t.launch_of(run[i].row);
    if (before == kNoRow || at == kNoRow) continue;
    out.push_back({{c.end(before), c.end(at)}, at, kIssuing});
  }
}

// One collective of all begins when all tensors are ready: those behind the first go
// with it but for their bytes' own time, and what was launched between two of them
// waits for none, and starts once.
void note_run(const Context& context, const CollectiveRun& run, double bytes_per_us,
              std::vector<Mark>& sites) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& launched = launched_work(context);
  auto shortest = c.dur[run.front().row];
  for (const auto& w : run) shortest = std::min(shortest, c.dur[w.row]);
  const auto share_of = [&](std::uint32_t row, double ns) {
    return std::clamp(ns / static_cast<double>(std::max<std::int64_t>(1, c.dur[row])),
                      0.0, 0.999);
  };
  for (std::size_t i = 1; i < run.size(); ++i) {
    const auto row = run[i].row;
    // Of unknown size: the shortest moved next to nothing.
    const auto gone = run[i].bytes < 0 ? static_cast<double>(shortest)
                                       : static_cast<double>(c.dur[row]) -
                                             1e3 * static_cast<double>(run[i].bytes) /
                                                 std::max(1e-6, bytes_per_us);
    sites.push_back({{}, row, kLatency, row, share_of(row, gone)});
    const auto before = t.launch_of(run[i - 1].row), at = t.launch_of(row);
    if (before == kNoRow || at == kNoRow) continue;
    for (const auto& work : launched.in(t.lanes.lane[at], {c.end(before), c.ts[at]})) {
      sites.push_back({{}, row, kLatency, work.row, share_of(work.row, kEmptyKernel)});
    }
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const SmallCollectives small{context.limits[kSmallBytes],
                               context.limits.ns(kSmallTime),
                               context.limits[kSmallShare], context.limits[kMaxBetween],
                               context.limits[kMinRun]};
  std::vector<Claim> claims;
  std::vector<Mark> issuing, sites;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto found = collective_runs(context, i, small);
    if (found.runs.empty()) continue;
    auto per_us = context.limits[kBytesPerUs];
    if (found.fastest > 0) per_us = std::min(per_us, found.fastest);
    std::vector<Mark> excess;
    for (const auto& run : found.runs) {
      add_excess(context, run, per_us, excess);
      add_issuing(t, run, issuing);
      note_run(context, run, per_us, sites);
    }
    const auto more = claim_exposed(context, PatternId::kSmallCollectives, i,
                                    std::move(excess), computation(t, t.devices[i]));
    claims.insert(claims.end(), more.begin(), more.end());
  }
  sites.insert(sites.end(), issuing.begin(), issuing.end());
  const auto idle =
      claim_marks(context, PatternId::kSmallCollectives, std::move(issuing));
  note_sites(context, PatternId::kSmallCollectives, std::move(sites));
  claims.insert(claims.end(), idle.begin(), idle.end());
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  if (f.subtype == kIssuing) {
    return devices_text(f) + " idled " + duration_text(f.wasted_ns) +
           " while the host issued " +
           count_text(f.count, "collective", "collectives") +
           " one by one, each right after another of its kind.";
  }
  std::vector<std::int64_t> bytes;
  std::uint32_t last = kNoRow;
  for (const auto& claim : f.claims) {
    if (claim.evidence == last) continue;
    last = claim.evidence;
    const auto* of = collective_of(context, last);
    if (of != nullptr && of->bytes() >= 0) bytes.push_back(of->bytes());
  }
  const auto collectives = count_text(f.count, "collective", "collectives");
  if (bytes.empty()) {
    return collectives + " of unknown size took under " +
           duration_text(context.limits.ns(kSmallTime)) +
           " each and followed others of their kind: up to " +
           duration_text(f.wasted_ns) +
           " of latency that one large one would not have.";
  }
  return collectives + " of " +
         std::to_string(timeline::lower_median(std::move(bytes))) +
         " bytes (median) followed others of their kind: " +
         duration_text(f.wasted_ns) + " of latency that one large one would not have.";
}

}  // namespace
}  // namespace small_collectives

const Rule kSmallCollectivesRule{
    PatternId::kSmallCollectives, small_collectives::kThresholds,
    small_collectives::propose, small_collectives::describe};

}  // namespace tta::patterns
