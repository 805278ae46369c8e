// SPDX-License-Identifier: BSD-3-Clause
// timeline/spans.cpp: classifies each distinct name once, then takes its rows.
#include "timeline/spans.h"

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

}  // namespace tta::timeline
