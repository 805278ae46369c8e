// SPDX-License-Identifier: BSD-3-Clause
// timeline/step_range.cpp: the hull of steps and of what they launched.
#include "timeline/step_range.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/lanes.h"
#include "timeline/links.h"

namespace tta::timeline {
namespace {

// Runs of numbers in a message; a profiler's schedule rarely gives more than a few.
constexpr int kMaxRuns = 8;

// Writes {3, 4, 5, 9} as "3 to 5, 9".
std::string list_runs(const std::set<std::int64_t>& numbers) {
  std::string text;
  int runs = 0;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const std::int64_t begin = *it;
    std::int64_t end = begin;
    while (++it != numbers.end() && *it == end + 1) ++end;
    if (!text.empty()) text += ", ";
    if (++runs > kMaxRuns) {
      return text + "and more up to " + std::to_string(*numbers.rbegin());
    }
    text += std::to_string(begin);
    if (end > begin) text += (end == begin + 1 ? ", " : " to ") + std::to_string(end);
  }
  return text;
}

[[noreturn]] void refuse(const trace::Trace& trace, std::int64_t missing,
                         const std::set<std::int64_t>& numbers) {
  if (numbers.empty()) {
    throw trace::TraceError(
        "no_such_step", trace.path, "there are no profiler steps in the trace",
        "Load it whole or by time; steps are recorded where the training loop calls "
        "prof.step().");
  }
  throw trace::TraceError(
      "no_such_step", trace.path,
      "there is no ProfilerStep#" + std::to_string(missing) + " in the trace",
      "Its steps are " + list_runs(numbers) + ".");
}

// Tells where steps are recorded: annotations, and operators of torch 1.8.
bool may_be_step(trace::Category category) {
  return category == trace::Category::kUserAnnotation ||
         category == trace::Category::kGpuUserAnnotation ||
         category == trace::Category::kCpuOp;
}

void widen(Interval& hull, Interval by) {
  hull = {std::min(hull.begin, by.begin), std::max(hull.end, by.end)};
}

}  // namespace

std::uint64_t step_categories() {
  std::uint64_t mask = 0;
  for (const trace::CategoryInfo& category : trace::kCategories) {
    if (may_be_step(category.id) || category.runtime_api || category.device_work) {
      mask |= std::uint64_t{1} << static_cast<int>(category.id);
    }
  }
  return mask;
}

Interval step_range(const trace::Trace& trace, std::int64_t first, std::int64_t last) {
  const auto& c = trace.columns;
  std::vector<std::optional<std::int64_t>> number_of(trace.strings.size());
  for (std::uint32_t id = 0; id < trace.strings.size(); ++id) {
    number_of[id] = step_number(trace.strings.view(id));
  }
  constexpr Interval kNothing{std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<std::int64_t>::min()};
  Interval host = kNothing;
  Interval range = kNothing;
  std::set<std::int64_t> numbers;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const auto number = number_of[c.name[row]];
    if (!number || !c.timed(row) || !may_be_step(c.cat(row))) continue;
    numbers.insert(*number);
    if (*number < first || *number > last) continue;
    const Interval step{c.ts[row], c.end(row)};
    widen(range, step);
    if (c.cat_info(row).side == trace::Side::kHost) widen(host, step);
  }
  for (const std::int64_t wanted : {first, last}) {
    if (!numbers.contains(wanted)) refuse(trace, wanted, numbers);
  }
  const Links links = make_links(trace, Names(trace.strings), make_lanes(trace));
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const std::uint32_t launch = links.launch[row];
    if (launch == kNoRow || c.ts[launch] < host.begin || c.ts[launch] >= host.end) {
      continue;
    }
    range.end = std::max(range.end, c.end(row));
  }
  return range;
}

}  // namespace tta::timeline
