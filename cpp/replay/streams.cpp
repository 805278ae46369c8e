// SPDX-License-Identifier: BSD-3-Clause
// replay/streams.cpp: work of one stream that waits for another: by an event, or for
// room on the device.
#include <algorithm>

#include "replay/draft.h"

namespace tta::replay {
namespace {

// How far back the work that an event stands for is looked for.
constexpr std::size_t kBack = 512;
constexpr std::int64_t kSlack = 5'000;
// A start so late has a cause that is missing.
constexpr std::int64_t kUnexplained = 30'000;
// A kernel with so many blocks per multiprocessor leaves no room until its last wave:
// 53 of 68 kernels ready beside one started at its tail (A100, V100).
constexpr double kFullDevice = 64;
constexpr std::int64_t kTail = 50'000, kLongestTail = 300'000;
constexpr std::int64_t kTailShare = 50;  // of a long one: a fiftieth of its length

}  // namespace

void add_stream_waits(Draft& d) {
  auto& m = d.model;
  const auto& tasks = m.tasks.all;
  const auto& order = m.tasks.by_launch;
  std::vector<std::int64_t> launched;
  for (const auto i : order) launched.push_back(m.calls.all[tasks[i].call].begin);
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    const auto& call = m.calls.all[i];
    if (call.kind != CallKind::kStreamWait) continue;
    const auto to = d.issued.next_by_thread(i);
    if (to == kNone) continue;
    const auto before = std::lower_bound(launched.begin(), launched.end(), call.begin);
    auto k = static_cast<std::size_t>(before - launched.begin());
    for (std::size_t looked = 0; k-- > 0 && looked < kBack; ++looked) {
      const auto& from = tasks[order[k]];
      if (from.stream == tasks[to].stream) continue;
      const auto apart = tasks[to].begin - from.end;
      if (apart < -kSlack) continue;
      d.add(from.end_point, tasks[to].start_point,
            std::min(d.constants().stream_wait, apart), EdgeKind::kStreamWait,
            Provenance::kSemantic);
      break;
    }
  }
}

void add_oddities(Draft& d) {
  auto& m = d.model;
  const auto& tasks = m.tasks.all;
  if (m.tasks.streams.size() < 2) return;
  const auto late = residuals(m.points, d.edges);
  std::vector<std::uint32_t> by_end(tasks.size());
  for (std::uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  std::sort(by_end.begin(), by_end.end(),
            [&](auto a, auto b) { return tasks[a].end < tasks[b].end; });
  const auto ended_by = [&](std::int64_t when) {
    return std::upper_bound(by_end.begin(), by_end.end(), when,
                            [&](std::int64_t t, auto i) { return t < tasks[i].end; });
  };
  const auto device = [&](const Task& t) { return d.issued.device(t.stream); };
  for (const auto& task : tasks) {
    if (late[task.start_point] <= kUnexplained) continue;
    const auto ready = task.begin - late[task.start_point];
    const Task* cause = nullptr;
    if (task.kind == TaskKind::kKernel) {
      const auto last = ended_by(task.begin + kLongestTail);
      for (auto it = ended_by(task.begin - kTail); it != last; ++it) {
        const auto& big = tasks[*it];
        if (big.stream == task.stream || device(big) != device(task)) continue;
        if (big.begin > ready + kSlack || big.kind != TaskKind::kKernel) continue;
        const auto tail = std::max(kTail, (big.end - big.begin) / kTailShare);
        if (big.end - task.begin > tail) continue;
        // Kineto of 2021 does not say how many blocks.
        const auto blocks = d.args.work(big.row).blocks_per_sm;
        if (blocks >= kFullDevice || blocks < 0) cause = &big;
      }
    }
    if (cause == nullptr) {
      auto it = ended_by(task.begin);
      while (it != by_end.begin()) {
        const auto& other = tasks[*--it];
        if (other.end < task.begin - d.constants().coincidence) break;
        if (other.stream == task.stream || device(other) != device(task)) continue;
        if (other.begin >= task.begin) continue;  // of no length
        cause = &other;
        break;
      }
    }
    if (cause == nullptr) continue;
    d.add(cause->end_point, task.start_point, task.begin - cause->end,
          EdgeKind::kContention, Provenance::kInferred);
  }
}

}  // namespace tta::replay
