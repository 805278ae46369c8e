// SPDX-License-Identifier: BSD-3-Clause
// replay/anomalies.cpp: late starts that no rule explains: work that waited for room on
// the device, and coincidences between streams. What rests on times alone is held
// against the same search at other moments of the delays.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/constants.h"
#include "replay/draft.h"
#include "replay/ends.h"
#include "replay/room.h"
#include "timeline/names.h"

namespace tta::replay {
namespace {

// Device work that leaves no room beside it, as its row says.

/// Kernels whose blocks fill every multiprocessor at least once, and copies within a
/// device, which are kernels of the driver that do. A kernel of another stream that is
/// ready beside one begins when some of its blocks have ended: of the kernels ready
/// beside such work 44 to 51 % were late in three traces (A100, B300, V100), of all
/// others none in a thousand.
class Fillers {
 public:
  explicit Fillers(const Draft& draft);
  bool empty() const { return by_begin_.empty(); }

  /// Whether work takes room on multiprocessors: not what only an engine copies.
  bool needs_room(const Task& task) const;
  /// Returns the one of another stream that ran when `task` was ready, and still at
  /// `until`: of several, the one that ended first. Null if there is none.
  /// Looks at 128.
  const Task* beside(const Task& task, std::int64_t ready, std::int64_t until) const;

 private:
  const Draft& d_;
  std::vector<const Task*> by_begin_;
  std::vector<std::int64_t> latest_;  // of each: the last end of those up to it
};

// Blocks per multiprocessor that none holds at once, whatever a block takes.
constexpr double kFullDevice = 64;
// Tasks looked at for one that is late, so that a file of equal times takes no square.
constexpr int kFillersLookedAt = 128;

// What begins so soon after may have been first: a launch takes as long.
constexpr std::int64_t kFirst = 10'000;

Fillers::Fillers(const Draft& d) : d_(d) {
  const auto& trace = *d.timeline().trace;
  const Room room(trace);
  const auto fills = [&](const Task& task) {
    // What ends so soon holds nothing up that would be called late.
    if (task.end - task.begin <= kUnexplained || !needs_room(task)) return false;
    if (task.kind == TaskKind::kCopy) return true;
    const auto& args = d.args.work(task.row);
    return args.blocks_per_sm >= kFullDevice ||
           room.waves(
               args,
               d.timeline().lanes.lanes[d.model.tasks.streams[task.stream]].number) >=
               1;
  };
  for (const auto& task : d.model.tasks.all) {
    if (fills(task)) by_begin_.push_back(&task);
  }
  std::stable_sort(by_begin_.begin(), by_begin_.end(),
                   [](auto* a, auto* b) { return a->begin < b->begin; });
  for (const auto* task : by_begin_) {
    latest_.push_back(latest_.empty() ? task->end
                                      : std::max(latest_.back(), task->end));
  }
}

bool Fillers::needs_room(const Task& task) const {
  return task.kind == TaskKind::kKernel ||
         (task.kind == TaskKind::kCopy &&
          d_.timeline().named(task.row, timeline::Name::kInDevice));
}

const Task* Fillers::beside(const Task& task, std::int64_t ready,
                            std::int64_t until) const {
  auto i = std::upper_bound(
               by_begin_.begin(), by_begin_.end(), ready + kFirst,
               [](std::int64_t when, const Task* t) { return when < t->begin; }) -
           by_begin_.begin();
  const Task* out = nullptr;
  for (int looked = 0; i-- > 0 && latest_[static_cast<std::size_t>(i)] >= until &&
                       looked < kFillersLookedAt;
       ++looked) {
    const auto* big = by_begin_[static_cast<std::size_t>(i)];
    if (big->end < until || big->stream == task.stream ||
        !d_.issued.together(big->stream, task.stream)) {
      continue;
    }
    if (out == nullptr || big->end < out->end) out = big;
  }
  return out;
}

// Late starts that other moments are tried of: more would say the same.
constexpr std::size_t kDelaysTried = 1024;

// A start that nothing explains, `by` nanoseconds after its edges allow it.
struct Late {
  const Task* task;
  std::int64_t by;
};

// Adds what fills the device for those late starts that it holds up, and leaves the
// others in `late`. The control is not other moments of the delays, as a kernel that
// fills the device does so in all of them, but other kernels: how many were late that
// were ready beside such work, and how many of the rest.
Control explain_by_room(Draft& d, std::span<const std::int64_t> by,
                        std::vector<Late>& late) {
  Control control;
  const Fillers fillers(d);
  if (late.empty() || fillers.empty()) return control;
  for (const auto& task : d.model.tasks.all) {
    if (!fillers.needs_room(task) || task.call == kNone) continue;
    const auto later = by[task.start_point];
    const auto ready = task.begin - std::max<std::int64_t>(0, later);
    const bool beside = fillers.beside(task, ready, ready + kUnexplained) != nullptr;
    ++(beside ? control.delays : control.tries);
    if (later > kUnexplained) ++(beside ? control.found : control.by_chance);
  }
  if (!control.plausible()) return control;
  std::erase_if(late, [&](const Late& l) {
    if (!fillers.needs_room(*l.task)) return false;
    const auto* cause = fillers.beside(*l.task, l.task->begin - l.by,
                                       l.task->begin - d.constants().coincidence);
    if (cause != nullptr) d.add_contention(*cause, *l.task);
    return cause != nullptr;
  });
  return control;
}

// Adds what `search` finds for the late starts, if it finds more than by chance, and
// leaves those in `late` that it found nothing for.
template <class Search>
Control explain(Draft& d, std::vector<Late>& late, Search search) {
  Control control;
  control.delays = late.size();
  const auto each = late.size() / kDelaysTried + 1;
  std::vector<const Task*> causes;
  for (std::size_t i = 0; i < late.size(); ++i) {
    const auto [task, by] = late[i];
    const auto ready = task->begin - by;
    causes.push_back(search(*task, ready, task->begin));
    control.found += causes.back() != nullptr;
    // Not so near to the start that its own cause would be found.
    const auto room = by - d.constants().coincidence;
    if (i % each != 0 || room <= 0) continue;
    const auto seed = static_cast<std::uint64_t>(task->begin - d.model.begin);
    for (std::uint64_t n = 0; n < kTriesOfDelay; ++n) {
      ++control.tries;
      control.by_chance +=
          search(*task, ready, ready + moment_of(seed, n, room)) != nullptr;
    }
  }
  if (!control.believed()) return control;
  std::vector<Late> rest;
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (causes[i] == nullptr) {
      rest.push_back(late[i]);
    } else {
      d.add_contention(*causes[i], *late[i].task);
    }
  }
  late = std::move(rest);
  return control;
}

}  // namespace

void add_anomalies(Draft& d) {
  auto& m = d.model;
  if (m.tasks.streams.size() < 2) return;
  const auto by = residuals(m.points, d.edges);
  std::vector<Late> late;
  for (const auto& task : m.tasks.all) {
    if (by[task.start_point] > kUnexplained) {
      late.push_back({&task, by[task.start_point]});
    }
  }
  m.crowding = explain_by_room(d, by, late);
  // Kineto of 2021 has no blocks: what is left then is that a kernel began before and
  // ended about when the other started.
  const Ends ends(d);
  m.tails = explain(d, late, [&](const Task& task, auto ready, auto when) {
    return ends.tail(task, ready, when);
  });
  m.coincidences = explain(d, late, [&](const Task& task, auto, auto when) {
    return ends.just_before(task, when);
  });
}

// A card that another process uses too, a driver that hands launches over in batches, a
// thread that the system woke late: the trace does not say which, but shows the delay.
// It is kept behind the dependency that was the last to be met, so that a change of
// something else leaves it where it is.
void keep_delays(Draft& d) {
  auto& m = d.model;
  const auto by = residuals(m.points, d.edges);
  for (auto& e : d.edges) {
    const auto kind = m.points[e.to].kind;
    if (by[e.to] <= kUnexplained || m.late[e.to] > 0 ||
        (kind != PointKind::kTaskStart && kind != PointKind::kCallEnd) ||
        d.apart(e.from, e.to) - e.weight != by[e.to]) {
      continue;
    }
    m.late[e.to] = by[e.to];
    e.weight += by[e.to];
    e.delayed = true;
  }
}

}  // namespace tta::replay
