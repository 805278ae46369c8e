// SPDX-License-Identifier: BSD-3-Clause
// timeline/intervals.cpp: sweeps over sorted intervals.
#include "timeline/intervals.h"

#include <algorithm>
#include <charconv>

namespace tta::timeline {

namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

std::optional<SpanKind> kind_of(std::string_view name) {
  if (step_number(name)) return SpanKind::kStep;
  if (name.starts_with("enumerate(DataLoader)#") ||
      name.starts_with("enumerate(DataPipe)#")) {
    return SpanKind::kLoader;
  }
  if (name.starts_with("Optimizer.")) return SpanKind::kOptimizer;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> step_number(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const auto digits = name.substr(kStepPrefix.size());
  std::int64_t number = 0;
  const auto* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error != std::errc{} || end != last || number < 0) return std::nullopt;
  return number;
}

Spans make_spans(const trace::Trace& t, const Lanes& lanes) {
  const auto& c = t.columns;
  std::vector<std::optional<SpanKind>> kinds(t.strings.size());
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    kinds[id] = kind_of(t.strings.view(id));
  }
  Spans out;
  for (const auto& lane : lanes.threads()) {
    for (const auto row : lanes.rows_of(lane)) {
      const auto cat = c.cat(row);
      const bool annotation = cat == trace::Category::kUserAnnotation;
      const auto kind = kinds[c.name[row]];
      if (!annotation && !(kind && cat == trace::Category::kCpuOp)) continue;
      Span span{kind.value_or(SpanKind::kAnnotation), row, c.ts[row], c.end(row)};
      switch (span.kind) {
        case SpanKind::kStep:
          span.number = *step_number(t.name(row));
          out.steps.push_back(span);
          break;
        case SpanKind::kLoader:
          out.loader.push_back(span);
          break;
        case SpanKind::kOptimizer:
          out.optimizer.push_back(span);
          break;
        case SpanKind::kAnnotation:
          out.annotations.push_back(span);
          break;
      }
    }
  }
  for (auto* spans : {&out.steps, &out.loader, &out.optimizer, &out.annotations}) {
    std::stable_sort(spans->begin(), spans->end(),
                     [](const Span& a, const Span& b) { return a.begin < b.begin; });
  }
  return out;
}

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
