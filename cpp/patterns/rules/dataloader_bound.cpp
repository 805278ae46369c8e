// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/dataloader_bound.cpp: the device idle while the program waits for its
// data loader.
//
// torch marks each `next(loader)` as enumerate(DataLoader)#<iterator>.__next__; the
// iterator's class tells whether workers load in the background. What counts is the
// device's idle time inside these marks. Without device work (a CPU-only recording)
// it is the marks' own time, as nothing of the step runs meanwhile.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "patterns/frame_costs.h"
#include "patterns/marks.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace dataloader_bound {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "tb_plugin warns from 5 % of a step on, gpu-idle from 20 %; severity "
              "grades it here, so that smaller cases are listed with a low severity"},
};

using timeline::Span;

// By the name of a `next(loader)` mark: whether worker processes load.
bool loads_in_workers(std::string_view mark) {
  return timeline::contains(mark, "MultiProcessing");
}

// What a program paid for once an iterator of a loader with workers: they start, and
// no batch has been made ahead. Later batches may all be there in time.
struct WorkerStarts {
  // Waits for the first batch of an iterator: the marks of `next(loader)` after it was
  // made, as frames tell. Without frames, a thread's first mark (of a program that can
  // have begun there) and those after a mark that brought no batch, if each took three
  // times as long as any other.
  std::unordered_set<std::uint32_t> first_batches;
  // Frames in which iterators were made or ended, with their workers.
  std::vector<std::uint32_t> frames;
};

// Workers deliver in turn, so that of a loader that cannot keep up some waits are long
// and some are none: only what is far above all of them is the start. Where a recording
// may have begun within an epoch, there have to be as many as a loader has workers.
constexpr std::int64_t kFarAbove = 3;
constexpr std::size_t kLeastOthers = 2, kManyWorkers = 8;

class WorkerStartFinder {
 public:
  explicit WorkerStartFinder(const timeline::Timeline& t) : t_(t), c_(t.columns()) {}

  WorkerStarts run() {
    std::map<std::uint32_t, std::vector<Span>> threads;
    for (const auto& mark : t_.spans.loader) {
      if (loads_in_workers(t_.trace->name(mark.row))) {
        threads[t_.lanes.lane[mark.row]].push_back(mark);
      }
    }
    for (const auto& [lane, marks] : threads) {
      if (lane == timeline::kNoLane) continue;
      if (!by_frames(lane, marks)) by_length(lane, marks);
    }
    return std::move(out_);
  }

 private:
  // Takes the mark after each iterator that was made. False if no frames tell.
  bool by_frames(std::uint32_t lane, const std::vector<Span>& marks) {
    bool told = false;
    for (const auto row : t_.lanes.rows_of(lane)) {
      const bool makes = t_.named(row, Name::kMakesIterator);
      if (c_.cat(row) != trace::Category::kPythonFunction ||
          (!makes && !t_.named(row, Name::kEndsIterator))) {
        continue;
      }
      out_.frames.push_back(row);
      if (!makes) continue;
      const auto next =
          std::ranges::lower_bound(marks, t_.tree.end(c_, row), {}, &Span::begin);
      if (next == marks.end()) continue;
      out_.first_batches.insert(next->row);
      told = true;
    }
    return told;
  }

  void by_length(std::uint32_t lane, const std::vector<Span>& marks) {
    std::vector<Span> first;
    std::int64_t most = 0, reached = 0;
    std::size_t others = 0;
    for (const auto& mark : marks) {
      if (others + first.size() > 0 && mark.begin < reached) continue;  // nested
      if (first.empty() || !t_.at_work(lane, {reached, mark.begin})) {
        first.push_back(mark);
      } else {
        most = std::max(most, mark.end - mark.begin);
        ++others;
      }
      reached = mark.end;
    }
    if (others < (begins_a_program() ? kLeastOthers : kManyWorkers)) return;
    for (const auto& mark : first) {
      if (mark.end - mark.begin > kFarAbove * most) {
        out_.first_batches.insert(mark.row);
      }
    }
  }

  // Steps are numbered from 0 on, by each profiler.
  bool begins_a_program() const {
    return t_.spans.steps.empty() ||
           timeline::step_number(t_.trace->name(t_.spans.steps[0].row)) == 0;
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  WorkerStarts out_;
};

// Sub-types of dataloader_bound, in the order of its `subtypes`.
enum class LoaderKind : std::uint8_t { kSingleProcess, kMultiProcess, kWorkerStart };

// A stretch in which a thread had to do with its loader, and the event that shows it.
struct LoaderTime {
  Interval time;
  std::uint32_t row;
  LoaderKind kind;
};

// Lists them within the span, by begin: all marks, and the frames of WorkerStarts.
std::vector<LoaderTime> loader_times(const timeline::Timeline& t) {
  using enum LoaderKind;
  const auto starts = WorkerStartFinder(t).run();
  std::vector<LoaderTime> out;
  const auto add = [&](Interval time, std::uint32_t row, LoaderKind kind) {
    time = timeline::intersect(time, t.span);
    if (time.length() > 0) out.push_back({time, row, kind});
  };
  for (const auto& mark : t.spans.loader) {
    const bool first = starts.first_batches.contains(mark.row);
    const bool workers = loads_in_workers(t.trace->name(mark.row));
    add({mark.begin, mark.end}, mark.row,
        first ? kWorkerStart : (workers ? kMultiProcess : kSingleProcess));
  }
  for (const auto row : starts.frames) {
    add({t.columns().ts[row], t.tree.end(t.columns(), row)}, row, kWorkerStart);
  }
  std::ranges::stable_sort(out, {}, [](const LoaderTime& l) { return l.time.begin; });
  return out;
}

constexpr std::uint8_t of(LoaderKind kind) { return static_cast<std::uint8_t>(kind); }

// Tells whether the thread that launched a gap's end had to wait for the mark. A mark
// on a prefetching thread holds no one up.
bool holds_up_next(const timeline::Timeline& t, const timeline::DeviceTime& d,
                   std::uint32_t mark, Interval idle) {
  const auto gap = d.gap_after(idle.begin);
  if (gap == d.gaps.end() || gap->next == kNoRow) return true;
  const auto launch = t.launch_of(gap->next);
  return launch == kNoRow || holds_up(t, t.lanes.lane[launch], mark, idle);
}

// What a start leaves of the steady waits is a finding of its own only if it would be
// one without the start.
void drop_small_rest(const Context& context, std::vector<Claim>& claims) {
  const auto& t = context.timeline;
  const auto steady = [](const Claim& claim) {
    return claim.subtype != of(LoaderKind::kWorkerStart);
  };
  if (std::ranges::all_of(claims, steady)) return;
  std::int64_t rest = 0;
  for (const auto& claim : claims) rest += steady(claim) ? claim.end - claim.begin : 0;
  const auto parts = static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  if (static_cast<double>(rest) <
      context.limits[0] * static_cast<double>(t.span.length()) * parts) {
    std::erase_if(claims, steady);
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& ledger = context.ledger;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  // Marks nest (a loader over a loader): of one process, each moment counts once.
  const auto fed = fed_devices(t);
  std::map<std::int64_t, IntervalSet> seen;
  for (const auto& [time, row, kind] : loader_times(t)) {
    const auto subtype = of(kind);
    const auto pid = c.pid[row];
    auto& taken = seen[pid];
    for (const auto& part : timeline::subtract({time}, timeline::clip(taken, time))) {
      if (const auto i = t.host.index_of(pid); i != timeline::HostTimes::kNone) {
        for (const auto& left : ledger.idle(i, part)) {
          claims.push_back({PatternId::kDataloaderBound, subtype, false, -1, left.begin,
                            left.end, row});
        }
      }
      bool held = t.devices.empty();
      for (const auto i : fed) {
        const auto& d = t.devices[i];
        if (d.pid != trace::kNoId && d.pid != pid) continue;
        for (const auto& idle : ledger.idle(i, part)) {
          if (!holds_up_next(t, d, row, idle)) continue;
          held = true;
          claims.push_back({PatternId::kDataloaderBound, subtype, true, d.device,
                            idle.begin, idle.end, row});
        }
      }
      if (!held) continue;
      // Spans come by start, so only the end of the last can reach into the next.
      if (!taken.empty() && part.begin <= taken.back().end) {
        taken.back().end = std::max(taken.back().end, part.end);
      } else {
        taken.push_back(part);
      }
    }
  }
  drop_small_rest(context, claims);
  return claims;
}

// The number of batches waited for. The loader's last answer, that there are no more,
// is a mark too: waits below a tenth of the mean are not counted.
std::uint64_t batches_of(const Finding& f) {
  std::map<std::uint32_t, std::int64_t> cost;
  for (const auto& claim : f.claims) cost[claim.evidence] += claim.end - claim.begin;
  const auto count = static_cast<std::int64_t>(cost.size());
  return static_cast<std::uint64_t>(std::count_if(
      cost.begin(), cost.end(),
      [&](const auto& mark) { return 10 * mark.second * count >= f.wasted_ns; }));
}

// What ran inside the marks, as far as Python frames tell: the innermost of each
// moment. `waited` is set to the time of all, of several devices once.
std::vector<PythonStretch> inside(const timeline::Timeline& t, const Finding& f,
                                  std::int64_t& waited) {
  waited = 0;
  std::map<std::uint32_t, std::vector<Interval>> parts;  // by thread
  for (const auto& claim : f.claims) {
    parts[t.lanes.lane[claim.evidence]].push_back({claim.begin, claim.end});
  }
  std::vector<PythonStretch> out;
  for (auto& [lane, times] : parts) {
    const auto idle = timeline::unite(std::move(times));
    waited += timeline::total(idle);
    for (const auto& stretch : python_self_time(t, lane, 0)) {
      const auto part = timeline::clip(idle, stretch.time);
      if (!part.empty()) {
        const auto length = timeline::total(part);
        out.push_back({{part[0].begin, part[0].begin + length}, stretch.frame});
      }
    }
  }
  return out;
}

// How the loader's other batches came, where it has any: not at the cost of a start.
std::string others_text(const timeline::Timeline& t, const Finding& f) {
  const auto starts = WorkerStartFinder(t).run();
  std::vector<std::int64_t> waits;
  for (const auto& mark : t.spans.loader) {
    if (!starts.first_batches.contains(mark.row) &&
        loads_in_workers(t.trace->name(mark.row)) &&
        std::ranges::binary_search(f.pids, t.columns().pid[mark.row])) {
      waits.push_back(mark.end - mark.begin);
    }
  }
  if (waits.empty()) return ".";
  const auto count = waits.size();
  return "; " + count_text(count, "later batch", "later batches") + " took " +
         duration_text(timeline::upper_median(std::move(waits))) + " (median).";
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  if (f.subtype == of(LoaderKind::kWorkerStart)) {
    return (t.host ? "The step waited " : devices_text(f) + " idled ") +
           duration_text(f.wasted_ns) +
           " while worker processes of a data loader started and made their first "
           "batches" +
           others_text(t, f);
  }
  const std::string how = f.subtype == of(LoaderKind::kMultiProcess)
                              ? "worker processes did not keep up"
                              : "loaded in the main process (num_workers=0)";
  auto out = t.host ? "The step waited " + duration_text(f.wasted_ns) + " for "
                    : devices_text(f) + " idled " + duration_text(f.wasted_ns) +
                          " while the program waited for ";
  out += count_text(batches_of(f), "batch", "batches") + ": " + how;
  std::int64_t waited = 0;
  const auto stretches = inside(t, f, waited);
  const auto most = deepest_of_most(t, stretches, waited, true);
  if (!most) return out + ".";
  out += ". " + duration_text(most->ns) + " went into " +
         std::string(t.trace->name(most->row));
  const auto caller =
      deepest_of_most(t, stretches, waited, true, timeline::FileOwner::kPackage);
  if (caller && t.trace->name(caller->row) != t.trace->name(most->row)) {
    out += ", called from " + std::string(t.trace->name(caller->row));
  }
  return out + ".";
}

std::string advise(const Context&, const Finding& f) {
  if (f.subtype != of(LoaderKind::kWorkerStart))
    return std::string(info(f.pattern).advice);
  return "Keep the workers between epochs (DataLoader(persistent_workers=True)): they "
         "start once per iterator, not in each step. Create the iterator during other "
         "setup, and import and open little in the dataset; leave the first batches "
         "out "
         "of a recording (torch.profiler.schedule(wait=1, warmup=1, active=3)).";
}

}  // namespace
}  // namespace dataloader_bound

const Rule kDataloaderBoundRule{
    PatternId::kDataloaderBound, dataloader_bound::kThresholds,
    dataloader_bound::propose, dataloader_bound::describe, dataloader_bound::advise};

}  // namespace tta::patterns
