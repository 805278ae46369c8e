// SPDX-License-Identifier: BSD-3-Clause
// replay/oddities.cpp: late starts that no rule explains: work that waited for room on
// the device, and coincidences between streams. What rests on times alone is held
// against the same search at other moments of the delays.
#include <algorithm>
#include <span>

#include "replay/constants.h"
#include "replay/draft.h"
#include "replay/fillers.h"

namespace tta::replay {
namespace {

// Of a kernel of unknown size: others begin at its tail. 53 of 68 kernels ready beside
// one that fills the device did (A100, V100).
constexpr std::int64_t kTail = 50'000, kLongestTail = 300'000;
constexpr std::int64_t kTailShare = 50;  // of a long one: a fiftieth of its length
// Tasks looked at for one that is late, so that a file of equal times takes no square.
constexpr std::ptrdiff_t kLookedAt = 128;
// Late starts that other moments are tried of: more would say the same.
constexpr std::size_t kDelaysTried = 1024;

class Causes {
 public:
  explicit Causes(const Draft& d) : d_(d) {
    const auto& all = d.model.tasks.all;
    by_end_.resize(all.size());
    for (std::uint32_t i = 0; i < by_end_.size(); ++i) by_end_[i] = i;
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](auto a, auto b) { return all[a].end < all[b].end; });
  }

  // The kernel of another stream that nothing is known of, that ran when `task` was
  // ready and was about to end at `when`; null if there is none.
  const Task* tail(const Task& task, std::int64_t ready, std::int64_t when) const {
    if (task.kind != TaskKind::kKernel) return nullptr;
    const auto from = ended_by(when - kTail);
    const auto to = std::min(ended_by(when + kLongestTail), far(from, kLookedAt));
    const Task* out = nullptr;
    for (auto it = from; it < to; ++it) {
      const auto& big = d_.model.tasks.all[*it];
      if (big.kind != TaskKind::kKernel || !beside(big, task)) continue;
      if (d_.args.work(big.row).blocks_per_sm >= 0) continue;
      const auto most = std::max(kTail, (big.end - big.begin) / kTailShare);
      if (big.begin <= ready + kSlack && big.end - when <= most) out = &big;
    }
    return out;
  }

  // The last task of another stream that ended just before `when`.
  const Task* coinciding(const Task& task, std::int64_t when) const {
    const auto to = ended_by(when);
    const auto from = to - std::min(to - by_end_.begin(), kLookedAt);
    for (auto it = to; it != from;) {
      const auto& other = d_.model.tasks.all[*--it];
      if (other.end < when - d_.constants().coincidence) break;
      // One of no length does not end before it.
      if (beside(other, task) && other.begin < when) return &other;
    }
    return nullptr;
  }

 private:
  using Place = std::vector<std::uint32_t>::const_iterator;
  Place ended_by(std::int64_t when) const {
    return std::upper_bound(
        by_end_.begin(), by_end_.end(), when,
        [&](std::int64_t t, auto i) { return t < d_.model.tasks.all[i].end; });
  }
  Place far(Place from, std::ptrdiff_t n) const {
    return from + std::min(n, by_end_.end() - from);
  }
  bool beside(const Task& a, const Task& b) const {
    return a.stream != b.stream && d_.issued.together(a.stream, b.stream);
  }
  const Draft& d_;
  std::vector<std::uint32_t> by_end_;
};

// A start that nothing explains, `by` nanoseconds after its edges allow it.
struct Late {
  const Task* task;
  std::int64_t by;
};

void add_cause(Draft& d, const Task& cause, const Task& late) {
  d.add(cause.end_point, late.start_point, late.begin - cause.end,
        EdgeKind::kContention, Provenance::kInferred);
}

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
    if (cause != nullptr) add_cause(d, *cause, *l.task);
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
      add_cause(d, *causes[i], *late[i].task);
    }
  }
  late = std::move(rest);
  return control;
}

}  // namespace

void add_oddities(Draft& d) {
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
  const Causes causes(d);
  m.tails = explain(d, late, [&](const Task& task, auto ready, auto when) {
    return causes.tail(task, ready, when);
  });
  m.coincidences = explain(d, late, [&](const Task& task, auto, auto when) {
    return causes.coinciding(task, when);
  });
}

}  // namespace tta::replay
