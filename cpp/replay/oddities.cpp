// SPDX-License-Identifier: BSD-3-Clause
// replay/oddities.cpp: late starts that no rule explains: work that waited for room on
// the device, and coincidences between streams. What rests on times alone is held
// against the same search at other moments of the delays.
#include <algorithm>

#include "replay/constants.h"
#include "replay/draft.h"
#include "replay/room.h"

namespace tta::replay {
namespace {

// A kernel that leaves no room until its last wave: 53 of 68 kernels ready beside one
// of 64 and more blocks per multiprocessor started at its tail (A100, V100).
constexpr double kFullDevice = 64;
constexpr std::int64_t kTail = 50'000, kLongestTail = 300'000;
constexpr std::int64_t kTailShare = 50;  // of a long one: a fiftieth of its length
// Of one with fewer blocks, but more than fit at once: room comes with the last wave,
// or with the one before, if that does not fill the device.
constexpr double kWaves = 2, kLastWaves = 2;
// Tasks looked at for one that is late, so that a file of equal times takes no square.
constexpr std::ptrdiff_t kLookedAt = 128;
// Late starts that other moments are tried of: more would say the same.
constexpr std::size_t kDelaysTried = 1024;

class Causes {
 public:
  explicit Causes(const Draft& d) : d_(d), room_(*d.timeline().trace) {
    const auto& all = d.model.tasks.all;
    by_end_.resize(all.size());
    for (std::uint32_t i = 0; i < by_end_.size(); ++i) by_end_[i] = i;
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](auto a, auto b) { return all[a].end < all[b].end; });
  }

  // The kernel of another stream that left no room for `task`, ready at `ready`, if it
  // began at `when`; null if there is none. `sized`: of kernels that the trace has the
  // blocks of, else of the others.
  const Task* crowding(const Task& task, std::int64_t ready, std::int64_t when,
                       bool sized) const {
    if (task.kind != TaskKind::kKernel) return nullptr;
    const auto from = ended_by(when - kTail);
    const auto to = std::min(ended_by(when + kLongestTail), far(from, kLookedAt));
    const Task* out = nullptr;
    for (auto it = from; it < to; ++it) {
      const auto& big = d_.model.tasks.all[*it];
      if (big.kind != TaskKind::kKernel || !beside(big, task)) continue;
      if (big.begin <= ready + kSlack && tail_of(big, when, sized)) out = &big;
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
  // Whether `big` made room at `when`.
  bool tail_of(const Task& big, std::int64_t when, bool sized) const {
    const auto left = big.end - when, length = big.end - big.begin;
    const auto& args = d_.args.work(big.row);
    if (sized != (args.blocks_per_sm >= 0)) return false;
    if (!sized || args.blocks_per_sm >= kFullDevice) {
      return left <= std::max(kTail, length / kTailShare);
    }
    const auto lane = d_.model.tasks.streams[big.stream];
    const auto waves = room_.waves(args, d_.timeline().lanes.lanes[lane].number);
    if (waves < kWaves) return false;
    const auto last = static_cast<double>(length) * std::min(1.0, kLastWaves / waves);
    return left >= -d_.constants().coincidence &&
           static_cast<double>(left) <= last + static_cast<double>(kSlack);
  }

  const Draft& d_;
  Room room_;
  std::vector<std::uint32_t> by_end_;
};

// A start that nothing explains, `by` nanoseconds after its edges allow it.
struct Late {
  const Task* task;
  std::int64_t by;
};

// Adds what `search` finds for the late starts, and leaves those in `late` that it
// found nothing for. `by_times`: only if it finds more than by chance.
template <class Search>
Control explain(Draft& d, std::vector<Late>& late, bool by_times, Search search) {
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
  if (by_times && !control.believed()) return control;
  std::vector<Late> rest;
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (causes[i] == nullptr) {
      rest.push_back(late[i]);
      continue;
    }
    const auto* task = late[i].task;
    d.add(causes[i]->end_point, task->start_point, task->begin - causes[i]->end,
          EdgeKind::kContention, Provenance::kInferred);
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
  const Causes causes(d);
  // That a kernel fills the device is in the trace, and that others wait for its tail
  // was found without looking at when they began. Kineto of 2021 has no blocks: what is
  // left then is that the one began before and ended about when the other started.
  for (const bool sized : {true, false}) {
    auto& control = sized ? m.crowding : m.tails;
    control = explain(d, late, !sized, [&](const Task& task, auto ready, auto when) {
      return causes.crowding(task, ready, when, sized);
    });
  }
  m.coincidences = explain(d, late, true, [&](const Task& task, auto, auto when) {
    return causes.coinciding(task, when);
  });
}

}  // namespace tta::replay
