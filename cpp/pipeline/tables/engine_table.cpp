// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/engine_table.cpp: figures of the forward passes of serving engines.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/tables/tables.h"
#include "timeline/engine_time.h"
#include "timeline/intervals.h"
#include "timeline/median.h"

namespace tta::pipeline {
namespace {

using timeline::EnginePart;
using timeline::WorkCategory;
constexpr std::size_t kCategories = words_of(WorkCategory()).size();
using ByCategory = std::array<std::int64_t, kCategories>;

std::optional<std::int64_t> if_known(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

// In which any of a step's work ran, since its pass began; `counts` chooses by launch.
template <typename Counts>
std::int64_t busy_of(const timeline::Timeline& t, const timeline::EngineStep& step,
                     Counts&& counts) {
  std::vector<timeline::Interval> all;
  for (const auto row : step.work) {
    const auto time =
        intersect({t.columns().ts[row], t.columns().end(row)}, step.device);
    if (time.length() > 0 && counts(t.launch_of(row))) all.push_back(time);
  }
  return timeline::total(timeline::unite(std::move(all)));
}

std::vector<EngineStep> rows_of(const timeline::Timeline& t,
                                const std::vector<timeline::EngineStep>& steps) {
  std::vector<EngineStep> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    auto& row = out.emplace_back();
    row.kind = record::word_of(step.scope.kind);
    row.engine = step.scope.engine;
    row.name = t.trace->name(step.row);
    row.pid = process_of(*t.trace, step.pid);
    row.begin_ns = step.host.begin;
    row.host_ns = step.host.length();
    row.batch = if_known(step.scope.batch);
    row.padded_batch = if_known(step.scope.padded_batch);
    row.tokens = if_known(step.scope.tokens);
    row.context_tokens = if_known(step.scope.context_tokens);
    row.device_ns = step.device.length();
    row.busy_ns = busy_of(t, step, [](auto) { return true; });
    if (!step.drafts.empty()) {
      row.draft_ns = busy_of(t, step, [&](auto launch) {
        const auto at = t.columns().ts[launch];
        return std::ranges::any_of(step.drafts, [&](const timeline::Interval& draft) {
          return draft.begin <= at && at < draft.end;
        });
      });
    }
    if (!step.is_last) row.period_ns = step.period.length();
    if (timeline::has_next(steps, i)) {
      row.gap_ns = timeline::total(timeline::idle_between(t, step, steps[i + 1]));
    }
    row.launches = step.launches;
    row.graph_launches = step.graph_launches;
    row.work = step.work.size();
  }
  return out;
}

// Adds to both how long each category ran, and ran alone on its device. O(n log n) in
// the work.
void sweep(const timeline::Timeline& t, const timeline::EngineStep& step,
           ByCategory& sum, ByCategory& exposed) {
  const auto& c = t.columns();
  struct Change {
    std::int64_t at;
    std::size_t category;
    int by;
  };
  std::map<std::int32_t, std::vector<Change>> devices;
  for (const auto row : step.work) {
    const auto category = static_cast<std::size_t>(timeline::work_category(t, row));
    sum[category] += c.dur[row];
    auto& changes = devices[t.lanes.lanes[t.lanes.lane[row]].device];
    changes.push_back({c.ts[row], category, 1});
    changes.push_back({c.end(row), category, -1});
  }
  for (auto& [device, changes] : devices) {
    std::ranges::sort(changes, {}, &Change::at);
    std::array<std::int64_t, kCategories> running{};
    std::int64_t last = 0;
    for (const auto& change : changes) {
      const auto active =
          std::ranges::count_if(running, [](auto count) { return count > 0; });
      if (active == 1) {
        const auto only =
            std::ranges::find_if(running, [](auto count) { return count > 0; });
        exposed[static_cast<std::size_t>(only - running.begin())] += change.at - last;
      }
      running[change.category] += change.by;
      last = change.at;
    }
  }
}

// Means of what is not zero, by the words of `Kind`.
template <typename Kind, std::size_t kSize>
TimesByName a_step(const std::array<std::int64_t, kSize>& sums, std::size_t steps) {
  TimesByName out;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (sums[i] == 0) continue;
    out.emplace_back(words_of(Kind())[i], sums[i] / static_cast<std::int64_t>(steps));
  }
  return out;
}

// The median of what `value` is of each row; none if none has it.
template <typename Value>
auto median_of(const std::vector<const EngineStep*>& rows, Value&& value) {
  using Known = std::remove_cvref_t<decltype(*value(*rows.front()))>;
  std::vector<Known> known;
  for (const auto* row : rows) {
    if (const auto one = value(*row)) known.push_back(*one);
  }
  return known.empty() ? std::nullopt : std::optional(timeline::upper_median(known));
}

}  // namespace

std::vector<EngineStep> make_engine_steps(const Report& report) {
  const auto& t = *report.timeline;
  return rows_of(t, timeline::list_engine_steps(t, report.args.get()));
}

std::vector<EngineKind> make_engine_kinds(const Report& report) {
  const auto& t = *report.timeline;
  const auto steps = timeline::list_engine_steps(t, report.args.get());
  const auto rows = rows_of(t, steps);
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    kinds[{rows[i].engine, rows[i].kind}].push_back(i);
  }
  std::vector<EngineKind> out;
  for (const auto& [key, places] : kinds) {
    auto& kind = out.emplace_back();
    std::tie(kind.engine, kind.kind) = key;
    kind.count = places.size();
    kind.skipped = places.size() >= timeline::kEnoughSteps ? timeline::kWarmUpSteps : 0;
    std::vector<const EngineStep*> kept;
    ByCategory sum{}, exposed{};
    std::array<std::int64_t, words_of(EnginePart()).size()> parts{};
    std::int64_t real = 0, padded = 0;
    for (auto i = static_cast<std::size_t>(kind.skipped); i < places.size(); ++i) {
      const auto& row = rows[places[i]];
      kept.push_back(&row);
      sweep(t, steps[places[i]], sum, exposed);
      const auto [some, all] = steps[places[i]].scope.rows();
      real += some;
      padded += all;
    }
    const auto always = [&](auto field) {
      return *median_of(kept,
                        [&](const EngineStep& s) { return std::optional(s.*field); });
    };
    const auto if_any = [&](auto field) {
      return median_of(kept, [&](const EngineStep& s) { return s.*field; });
    };
    kind.batch = if_any(&EngineStep::batch);
    kind.tokens = if_any(&EngineStep::tokens);
    kind.period_ns = if_any(&EngineStep::period_ns);
    kind.draft_ns = if_any(&EngineStep::draft_ns);
    kind.gap_ns = if_any(&EngineStep::gap_ns);
    std::size_t gaps = 0;
    for (auto i = static_cast<std::size_t>(kind.skipped); i < places.size(); ++i) {
      if (!timeline::has_next(steps, places[i])) continue;
      const auto &step = steps[places[i]], &next = steps[places[i] + 1];
      if (is_pause(t, host_gap(t, step, next), next.lane, *kind.gap_ns)) continue;
      ++gaps;
      std::ranges::transform(parts, divide_gap(t, step, next), parts.begin(),
                             std::plus());
    }
    kind.gap_parts_ns = a_step<EnginePart>(parts, std::max<std::size_t>(gaps, 1));
    kind.host_ns = always(&EngineStep::host_ns);
    kind.device_ns = always(&EngineStep::device_ns);
    kind.busy_ns = always(&EngineStep::busy_ns);
    kind.launches = always(&EngineStep::launches);
    kind.graph_launches = always(&EngineStep::graph_launches);
    kind.work = always(&EngineStep::work);
    if (padded > 0) {
      kind.padding = 1 - static_cast<double>(real) / static_cast<double>(padded);
    }
    kind.sum_ns = a_step<WorkCategory>(sum, kept.size());
    kind.exposed_ns = a_step<WorkCategory>(exposed, kept.size());
  }
  for (const auto& wait : timeline::list_prompt_waits(steps)) {
    const auto& before = rows[wait.before];
    const auto kind = std::ranges::find_if(out, [&](const EngineKind& one) {
      return one.kind == before.kind && one.engine == before.engine;
    });
    ++kind->prompt_waits;
    kind->prompt_wait_ns += wait.extra_ns;
    kind->longest_prompt_wait_ns =
        std::max(kind->longest_prompt_wait_ns, wait.extra_ns);
  }
  std::ranges::stable_sort(out, std::greater<>(), &EngineKind::count);
  return out;
}

}  // namespace tta::pipeline
