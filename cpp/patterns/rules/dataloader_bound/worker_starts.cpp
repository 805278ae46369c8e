// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/dataloader_bound/worker_starts.cpp: tells a loader's first batches
// from its later ones.
#include "patterns/rules/dataloader_bound/worker_starts.h"

#include <algorithm>
#include <map>

#include "timeline/by_name.h"

namespace tta::patterns {
namespace {

using timeline::Span;

// Workers deliver in turn, so that of a loader that cannot keep up some waits are long
// and some are none: only what is far above all of them is the start. Where a recording
// may have begun within an epoch, there have to be as many as a loader has workers.
constexpr std::int64_t kFarAbove = 3;
constexpr std::size_t kLeastOthers = 2, kManyWorkers = 8;

bool makes_or_ends(std::string_view frame) {
  return frame.starts_with("torch/utils/data/dataloader.py(") &&
         (frame.ends_with("): _get_iterator") ||
          frame.ends_with("): _shutdown_workers"));
}

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
    timeline::ByName<makes_or_ends> of_iterators(*t_.trace);
    bool told = false;
    for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane])) {
      if (c_.cat(row) != trace::Category::kPythonFunction || !of_iterators(row))
        continue;
      out_.frames.push_back(row);
      if (!t_.trace->name(row).ends_with("_get_iterator")) continue;
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

}  // namespace

bool loads_in_workers(std::string_view mark) {
  return mark.find("MultiProcessing") != std::string_view::npos;
}

WorkerStarts worker_starts(const timeline::Timeline& t) {
  return WorkerStartFinder(t).run();
}

std::vector<LoaderTime> loader_times(const timeline::Timeline& t) {
  using enum LoaderKind;
  const auto starts = worker_starts(t);
  std::vector<LoaderTime> out;
  const auto add = [&](timeline::Interval time, std::uint32_t row, LoaderKind kind) {
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

}  // namespace tta::patterns
