// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.cpp: scopes by their nesting, work by its launches.
#include "timeline/engine_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "timeline/captured.h"

namespace tta::timeline {
namespace {

using trace::Category;

// What the inner of two scopes knows better.
void take_over(EngineScope& outer, const EngineScope& inner) {
  // A pass that verifies is a decode to the engine around it.
  const bool drafts = outer.kind == EngineStepKind::kDraft;
  if (outer.kind == EngineStepKind::kOther ||
      (inner.kind == EngineStepKind::kVerify && !drafts)) {
    outer.kind = inner.kind;
  }
  outer.engine = inner.engine;
  for (const auto field : {&EngineScope::batch, &EngineScope::padded_batch,
                           &EngineScope::tokens, &EngineScope::context_tokens}) {
    if (outer.*field < 0) outer.*field = inner.*field;
  }
}

using Steps = std::vector<EngineStep>;

// Passes of the draft model become part of the pass behind them that verifies, or of
// the one before them that they go on from.
void join_drafts(Steps& steps) {
  const auto drafts = [](const EngineStep& s) {
    return s.scope.kind == EngineStepKind::kDraft;
  };
  if (std::ranges::none_of(steps, drafts)) return;
  Steps out, before;
  const auto keep = [&] {  // Those that nothing verifies.
    std::ranges::move(before, std::back_inserter(out));
    before.clear();
  };
  for (auto& step : steps) {
    if (drafts(step) && step.scope.goes_on && before.empty() && !out.empty()) {
      out.back().drafts.push_back(step.host);
      out.back().host.end = step.host.end;
    } else if (drafts(step)) {
      before.push_back(std::move(step));
    } else {
      if (step.scope.kind != EngineStepKind::kVerify) keep();
      for (const auto& draft : before) step.drafts.push_back(draft.host);
      if (!before.empty()) step.host.begin = before.front().host.begin;
      before.clear();
      out.push_back(std::move(step));
    }
  }
  keep();
  steps = std::move(out);
}

// The steps of each thread, in order of time.
class StepIndex {
 public:
  explicit StepIndex(const Timeline& t) : t_(t) {}

  std::map<std::uint32_t, Steps>& by_lane() { return by_lane_; }

  void close_periods() {
    for (auto& [lane, steps] : by_lane_) {
      std::ranges::sort(steps, {}, [](const EngineStep& s) { return s.host.begin; });
      join_drafts(steps);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        auto& step = steps[i];
        step.is_last = i + 1 == steps.size();
        step.period = {step.host.begin,
                       step.is_last ? step.host.end : steps[i + 1].host.begin};
      }
      auto& main = main_of_[steps.front().pid];
      if (main == nullptr || main->size() < steps.size()) main = &steps;
    }
  }

  // The step of a call: of its own thread, else of the process's thread with most.
  EngineStep* of(std::uint32_t call) {
    const auto& c = t_.columns();
    const auto own = by_lane_.find(t_.lanes.lane[call]);
    Steps* steps = own == by_lane_.end() ? nullptr : &own->second;
    if (steps == nullptr) {
      const auto main = main_of_.find(c.pid[call]);
      if (main == main_of_.end()) return nullptr;
      steps = main->second;
    }
    auto* step = last_begun(*steps, c.ts[call],
                            [](const EngineStep& s) { return s.period.begin; });
    return step == nullptr || c.ts[call] >= step->period.end ? nullptr : step;
  }

 private:
  const Timeline& t_;
  std::map<std::uint32_t, Steps> by_lane_;
  std::map<std::int64_t, Steps*> main_of_;
};

// Sampling is launched after a scope, and what prepares the next step before the next
// scope: between them lies the longest pause of the device. Work after it moves
// to the next step. O(n log n) in the work.
void divide_at_pause(const Timeline& t, EngineStep& step, EngineStep& next) {
  const auto& c = t.columns();
  std::int64_t until = -trace::kTimeLimit, longest = 0, pause = trace::kTimeLimit;
  const auto pass = [&](std::uint32_t row) {
    const bool after_scope = c.ts[t.launch_of(row)] >= step.host.end;
    if (after_scope && until > -trace::kTimeLimit && c.ts[row] - until > longest) {
      longest = c.ts[row] - until;
      pause = c.ts[row];
    }
    until = std::max(until, c.end(row));
  };
  for (const auto row : step.work) pass(row);
  if (!next.work.empty()) pass(next.work.front());
  const auto first =
      std::ranges::find_if(step.work, [&](auto row) { return c.ts[row] >= pause; });
  if (first == step.work.begin()) return;  // A step without work is left out.
  next.work.insert(next.work.begin(), first, step.work.end());
  step.work.erase(first, step.work.end());
}

std::uint32_t forward_of(const Timeline& t, const std::vector<std::uint32_t>& work) {
  const auto first = [&](auto&& test) { return std::ranges::find_if(work, test); };
  const auto main = first([&](auto row) {
    const auto category = work_category(t, row);
    return category == WorkCategory::kProduct || category == WorkCategory::kAttention ||
           category == WorkCategory::kExperts || category == WorkCategory::kCollective;
  });
  if (main == work.end()) {
    const auto kernel = first([&](auto row) { return t.is_kernel(row); });
    return kernel == work.end() ? work.front() : *kernel;
  }
  const auto launch = t.launch_of(*main);
  if (!t.named(launch, Name::kGraphLaunch)) return *main;
  return *first([&](auto row) { return t.launch_of(row) == launch; });
}

// The batch that a graph was captured for is the one that its replays compute. vLLM
// captures by tokens.
void read_padding(const EventArgs& args, EngineStep& step) {
  auto& scope = step.scope;
  if (scope.padded_batch >= 0 || scope.batch < 1 || !step.decodes()) return;
  const bool by_tokens = scope.engine == "vLLM" && scope.tokens > 0;
  for (const auto row : step.work) {
    const auto* node = args.captured(row);
    if (node == nullptr || !node->sized || !node->capture->batch_size) continue;
    const auto size = *node->capture->batch_size;
    if (size < (by_tokens ? scope.tokens : scope.batch)) continue;  // A part's graph.
    (by_tokens ? scope.padded_tokens : scope.padded_batch) = size;
    // A token of each request.
    if (by_tokens && scope.tokens == scope.batch) scope.padded_batch = size;
    return;
  }
}

}  // namespace

std::vector<EngineStep> list_engine_steps(const Timeline& t, const EventArgs* args) {
  const auto& c = t.columns();
  // By name: a trace of another program is done here, without a pass over its rows.
  std::unordered_map<std::uint32_t, EngineScope> scopes;
  const auto& strings = t.trace->strings;
  for (std::uint32_t name = 0; name < strings.size(); ++name) {
    if (const auto scope = engine_scope_of(strings.view(name))) scopes[name] = *scope;
  }
  // Every engine names a size somewhere; "draft" alone is another program's.
  if (std::ranges::none_of(scopes, [](auto& s) { return s.second.batch >= 0; })) {
    return {};
  }
  const auto scope_of = [&](std::uint32_t row) -> const EngineScope* {
    if (c.cat(row) != Category::kUserAnnotation) return nullptr;
    const auto it = scopes.find(c.name[row]);
    return it == scopes.end() ? nullptr : &it->second;
  };
  StepIndex index(t);
  for (const auto& lane : t.lanes.threads()) {
    Steps of_thread;
    std::map<std::uint32_t, std::size_t> places;  // of outer scopes
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto* scope = scope_of(row);
      if (scope == nullptr) continue;
      const auto outer = t.tree.outermost(
          t.tree.parent[row], [&](auto above) { return places.contains(above); });
      if (outer != kNoRow) {
        take_over(of_thread[places[outer]].scope, *scope);
        continue;
      }
      places[row] = of_thread.size();
      EngineStep step;
      step.row = row;
      step.scope = *scope;
      step.pid = lane.pid;
      step.lane = t.lanes.lane[row];
      step.host = {c.ts[row], t.tree.end(c, row)};
      of_thread.push_back(std::move(step));
    }
    if (of_thread.empty()) continue;
    const auto number = t.lanes.lane[of_thread.front().row];
    index.by_lane()[number] = std::move(of_thread);
  }
  if (index.by_lane().empty()) return {};
  index.close_periods();
  for (const auto& call : t.launch_calls) {
    auto* step = index.of(call.row);
    if (step == nullptr) continue;
    ++step->launches;
    step->graph_launches += t.named(call.row, Name::kGraphLaunch);
  }
  t.each_launched([&](auto row, auto launch) {
    const auto time = intersect({c.ts[row], c.end(row)}, t.span);
    auto* step = index.of(launch);
    // Before the span, it is in no balance.
    if (step != nullptr && time.begin <= time.end) step->work.push_back(row);
  });
  Steps out;
  for (auto& [lane, steps] : index.by_lane()) {
    for (auto& step : steps) {
      std::ranges::sort(step.work, {}, [&](auto row) { return c.ts[row]; });
    }
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      divide_at_pause(t, steps[i], steps[i + 1]);
    }
    for (auto& step : steps) {
      if (step.work.empty()) continue;
      step.forward = forward_of(t, step.work);
      step.device.begin = std::max(t.span.begin, c.ts[step.forward]);
      step.device.end = step.device.begin;
      for (const auto row : step.work) {
        step.device.end = std::max(step.device.end, std::min(t.span.end, c.end(row)));
      }
      if (args != nullptr) read_padding(*args, step);
      out.push_back(std::move(step));
    }
  }
  std::ranges::stable_sort(out, {}, [](const EngineStep& s) { return s.pid; });
  return out;
}

std::string_view engine_of(std::span<const EngineStep> steps) {
  std::map<std::string_view, std::size_t> count;
  for (const auto& step : steps) ++count[step.scope.engine];
  if (count.empty()) return {};
  return std::ranges::max_element(count, {}, [](auto& c) { return c.second; })->first;
}

GraphCoverage graph_coverage(const Timeline& t) {
  GraphCoverage out;
  for (const auto& call : t.launch_calls) {
    if (!t.named(call.row, Name::kGraphLaunch)) continue;
    ++out.launches;
    out.with_work += call.work > 0;
  }
  return out;
}

WorkCategory work_category(const Timeline& t, std::uint32_t row) {
  if (!t.is_kernel(row)) return WorkCategory::kCopy;
  if (t.is_communication(row)) return WorkCategory::kCollective;
  constexpr std::array<std::pair<Name, WorkCategory>, 5> kFirst = {
      {{Name::kOfExperts, WorkCategory::kExperts},
       {Name::kAttends, WorkCategory::kAttention},
       {Name::kSamples, WorkCategory::kSampling},
       {Name::kTuned, WorkCategory::kProduct},
       {Name::kMemoryBound, WorkCategory::kNormElementwise}}};
  for (const auto& [name, category] : kFirst) {
    if (t.named(row, name)) return category;
  }
  return WorkCategory::kOther;
}

}  // namespace tta::timeline
