// SPDX-License-Identifier: BSD-3-Clause
// timeline/intervals.cpp: sweeps over sorted intervals.
#include "timeline/intervals.h"

namespace tta::timeline {

IntervalSet unite(std::vector<Interval> v) {
  const auto before = [](Interval a, Interval b) { return a.begin < b.begin; };
  if (!std::is_sorted(v.begin(), v.end(), before)) {
    std::sort(v.begin(), v.end(), before);
  }
  std::size_t kept = 0;
  for (const auto i : v) {
    if (i.end <= i.begin) continue;
    if (kept > 0 && i.begin <= v[kept - 1].end) {
      v[kept - 1].end = std::max(v[kept - 1].end, i.end);
    } else {
      v[kept++] = i;
    }
  }
  v.resize(kept);
  return v;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto cut = b.begin();
  for (auto i : a) {
    while (cut != b.end() && cut->end <= i.begin) ++cut;
    for (auto it = cut; it != b.end() && it->begin < i.end && i.begin < i.end; ++it) {
      if (it->begin > i.begin) out.push_back({i.begin, it->begin});
      i.begin = std::max(i.begin, it->end);
    }
    if (i.begin < i.end) out.push_back(i);
  }
  return out;
}

IntervalSet clip(const IntervalSet& set, Interval to) {
  IntervalSet out;
  auto it = std::lower_bound(set.begin(), set.end(), to.begin,
                             [](Interval i, std::int64_t at) { return i.end <= at; });
  for (; it != set.end() && it->begin < to.end; ++it) {
    const auto part = intersect(*it, to);
    if (part.length() > 0) out.push_back(part);
  }
  return out;
}

std::int64_t total(const IntervalSet& set) {
  std::int64_t sum = 0;
  for (const auto& i : set) sum += i.length();
  return sum;
}

}  // namespace tta::timeline
