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
#include <tuple>
#include <vector>

#include "patterns/communication.h"
#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
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
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"small_bytes", 1 << 20, "bytes", "msprof-analyze: under 1 MB over RDMA"},
    Threshold{"small_share", 0.2, "share",
              "msprof-analyze: a fifth of the communication in small messages"},
    Threshold{"max_between", 1, "count",
              "a loop over gradients scales each (one kernel); a layer between two "
              "collectives of tensor parallelism is three kernels and more"},
    Threshold{"bytes_per_us", 5000, "bytes",
              "5 GB/s, half of PCIe 3 x16: the most that merged messages take, unless "
              "the trace's own large collectives are slower"},
    Threshold{"small_time", 50, "us",
              "of unknown size: NCCL takes 10-30 µs for next to nothing inside a "
              "machine, and 1 MB takes 50 µs at 20 GB/s"},
    Threshold{"min_run", 10, "count",
              "of unknown size: small ones in one run; fewer are no loop over "
              "parameters"},
};

// Which collectives are small, and which follow each other.
struct SmallCollectives {
  double bytes = 0;           // Small is below, where the size is known.
  std::int64_t time_ns = 0;   // Where it is not: whose kernel takes less.
  double share = 0;           // Of the communication's time, small; see below.
  double between = 0;         // Other work launched between two, at most.
  double unsized_length = 0;  // Least length of a run of unknown sizes.
};

struct SmallCollective {
  std::uint32_t row = 0;
  std::int64_t bytes = -1;  // Of the larger side; -1 if unknown.
};

// Small collectives of one kind, type and group; all or none of known size. Larger
// ones may have been issued in between where sizes are unknown.
using CollectiveRun = std::vector<SmallCollective>;

struct CollectiveRuns {
  std::vector<CollectiveRun> runs;  // Of two and more.
  // Rate of the fastest large collective in bytes a microsecond; 0 if unknown.
  double fastest = 0;
};

// Collectives of which several can be made one.
bool can_merge(CollectiveKind kind) {
  return kind != CollectiveKind::kOther && kind != CollectiveKind::kAllToAll;
}

struct Listed {
  std::uint32_t row, lane;
  std::int64_t launched;
  const timeline::CollectiveArgs* collective;  // null: no communication, or unknown
  bool comm;
  CollectiveKind kind = CollectiveKind::kOther;
  std::int64_t bytes = -1;
};

class Device {
 public:
  Device(const Context& context, std::size_t index, const SmallCollectives& small)
      : context_(context),
        t_(context.timeline),
        c_(t_.columns()),
        index_(index),
        small_(small) {}

  CollectiveRuns runs() {
    if (!list()) return {};
    std::vector<const Listed*> run;
    std::size_t between = 0;
    for (const auto& w : work_) {
      if (!run.empty() && run.back()->lane != w.lane) flush(run);
      if (!w.comm) {
        ++between;
        continue;
      }
      const bool goes_on = !run.empty() &&
                           static_cast<double>(between) <= small_.between &&
                           step_of(*run.back()) == step_of(w) && alike(*run.back(), w);
      if (is_small(w) && can_merge(w.kind)) {
        if (!goes_on) flush(run);
        run.push_back(&w);
      } else if (!goes_on || w.bytes >= 0) {
        flush(run);
      }
      between = 0;
    }
    flush(run);
    return std::move(out_);
  }

 private:
  // How many steps had begun: what one step sends, no other can wait for.
  std::ptrdiff_t step_of(const Listed& w) const {
    const auto& steps = t_.spans.steps;
    return std::upper_bound(steps.begin(), steps.end(), w.launched,
                            [](std::int64_t when, const timeline::Span& step) {
                              return when < step.begin;
                            }) -
           steps.begin();
  }

  bool is_small(const Listed& w) const {
    return w.bytes < 0 ? can_merge(w.kind) && c_.dur[w.row] < small_.time_ns
                       : static_cast<double>(w.bytes) < small_.bytes;
  }

  bool alike(const Listed& a, const Listed& b) const {
    if (a.kind != b.kind || (a.bytes < 0) != (b.bytes < 0)) return false;
    if (a.collective == nullptr || b.collective == nullptr) {
      return a.collective == b.collective && c_.name[a.row] == c_.name[b.row] &&
             t_.lanes.lane[a.row] == t_.lanes.lane[b.row];
    }
    return a.collective->name == b.collective->name &&
           a.collective->group == b.collective->group &&
           a.collective->dtype == b.collective->dtype;
  }

  // Lists the device's work as its threads launched it; false if too little of the
  // communication is small.
  bool list() {
    std::int64_t all = 0, small = 0;
    double number = 0, unsized = 0, unsized_small = 0;
    for (const auto row : t_.devices[index_].rows) {
      const auto launch = t_.launch_of(row);
      Listed w{row, timeline::kNoLane, c_.ts[row], nullptr, t_.is_communication(row)};
      if (launch != kNoRow) {
        w.lane = t_.lanes.lane[launch];
        w.launched = c_.ts[launch];
      }
      if (w.comm) {
        w.collective = collective_of(context_, row);
        w.kind = kind_of(context_, row);
        if (w.collective != nullptr) w.bytes = w.collective->bytes();
        all += c_.dur[row];
        ++number;
        unsized += w.bytes < 0 ? 1 : 0;
        unsized_small += w.bytes < 0 && is_small(w) ? 1 : 0;
        if (is_small(w)) {
          small += c_.dur[row];
        } else if (w.bytes >= 0 && c_.dur[row] > 0) {
          out_.fastest = std::max(out_.fastest, 1e3 * static_cast<double>(w.bytes) /
                                                    static_cast<double>(c_.dur[row]));
        }
      }
      if (launch != kNoRow) work_.push_back(w);
    }
    std::stable_sort(work_.begin(), work_.end(), [](const Listed& a, const Listed& b) {
      return std::tie(a.lane, a.launched) < std::tie(b.lane, b.launched);
    });
    if (small == 0) return false;
    // Told apart by their time, short ones take little of it by definition.
    if (unsized == number) return unsized_small >= small_.share * number;
    return static_cast<double>(small) >= small_.share * static_cast<double>(all);
  }

  void flush(std::vector<const Listed*>& run) {
    const bool sized = !run.empty() && run.front()->bytes >= 0;
    if (run.size() > 1 &&
        (sized || static_cast<double>(run.size()) >= small_.unsized_length)) {
      auto& out = out_.runs.emplace_back();
      for (const auto* w : run) out.push_back({w->row, w->bytes});
    }
    run.clear();
  }

  const Context& context_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::size_t index_;
  const SmallCollectives& small_;
  std::vector<Listed> work_;
  CollectiveRuns out_;
};

// Returns the runs of device `index` (position in Timeline::devices); none if too
// little of its communication is small: by time, or where no size is known by number.
// O(n log n) in the device's rows.
CollectiveRuns collective_runs(const Context& context, std::size_t index,
                               const SmallCollectives& small) {
  return Device(context, index, small).runs();
}

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

// One collective of all begins when all tensors are ready: the later ones are merged
// into it except for the time of their bytes, and work launched between two of them
// waits for none and starts once.
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
