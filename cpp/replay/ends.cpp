// SPDX-License-Identifier: BSD-3-Clause
// replay/ends.cpp: binary searches among ends.
#include "replay/ends.h"

#include <algorithm>

namespace tta::replay {
namespace {

// Of a kernel of unknown size: others begin at its tail. 53 of 68 kernels ready beside
// one that fills the device did (A100, V100).
constexpr std::int64_t kTail = 50'000, kLongestTail = 300'000;
constexpr std::int64_t kTailShare = 50;  // of a long one: a fiftieth of its length
constexpr std::ptrdiff_t kEndsLookedAt = 128;

}  // namespace

Ends::Ends(const Draft& d) : d_(d) {
  const auto& all = d.model.tasks.all;
  by_end_.resize(all.size());
  for (std::uint32_t i = 0; i < by_end_.size(); ++i) by_end_[i] = i;
  std::stable_sort(by_end_.begin(), by_end_.end(),
                   [&](auto a, auto b) { return all[a].end < all[b].end; });
}

const Task* Ends::just_before(const Task& task, std::int64_t when) const {
  const auto to = ended_by(when);
  const auto from = to - std::min(to - by_end_.begin(), kEndsLookedAt);
  for (auto it = to; it != from;) {
    const auto& other = d_.model.tasks.all[*--it];
    if (other.end < when - d_.constants().coincidence) break;
    // One of no length does not end before it.
    if (beside(other, task) && other.begin < when) return &other;
  }
  return nullptr;
}

const Task* Ends::tail(const Task& task, std::int64_t ready, std::int64_t when) const {
  if (task.kind != TaskKind::kKernel) return nullptr;
  const auto from = ended_by(when - kTail);
  const auto to = std::min(ended_by(when + kLongestTail),
                           from + std::min(kEndsLookedAt, by_end_.end() - from));
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

Ends::Place Ends::ended_by(std::int64_t when) const {
  return std::upper_bound(
      by_end_.begin(), by_end_.end(), when,
      [&](std::int64_t t, auto i) { return t < d_.model.tasks.all[i].end; });
}

bool Ends::beside(const Task& a, const Task& b) const {
  return a.stream != b.stream && d_.issued.together(a.stream, b.stream);
}

}  // namespace tta::replay
