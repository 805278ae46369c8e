// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.cpp: scopes by their names, work by its launches.
#include "timeline/engine_steps.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace tta::timeline {
namespace {

using trace::Category;

// The number after the first `key` in a text; -1 if there is none.
std::int64_t number_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos) return -1;
  text.remove_prefix(at + key.size());
  std::int64_t out = -1;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  // Larger numbers are errors, and their sums could overflow.
  constexpr auto kMost = std::int64_t{1} << 40;
  return read.ec == std::errc() && out >= 0 && out <= kMost ? out : -1;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? std::max(a, b) : a + b;
}

EngineStepKind kind_of(std::int64_t prompts, std::int64_t decoding) {
  if (prompts > 0)
    return decoding > 0 ? EngineStepKind::kMixed : EngineStepKind::kExtend;
  return decoding > 0 ? EngineStepKind::kDecode : EngineStepKind::kOther;
}

// "execute_context_1(888)_generation_4(4)", or "execute_36_context_1(sq32sk40..)_..".
std::optional<EngineScope> of_vllm(std::string_view name) {
  const auto context = name.find("context_"), generation = name.find("_generation_");
  if (context == name.npos || generation == name.npos || generation < context)
    return {};
  const auto first = name.substr(context, generation - context);
  const auto second = name.substr(generation);
  const auto prompts = number_after(first, "context_");
  const auto decoding = number_after(second, "_generation_");
  if (prompts < 0 || decoding < 0) return {};
  EngineScope out;
  out.kind = kind_of(prompts, decoding);
  out.engine = "vLLM";
  out.batch = sum(prompts, decoding);
  const bool in_detail = first.find("(sq") != first.npos;
  const auto* tokens = in_detail ? "(sq" : "(";
  out.tokens = sum(number_after(first, tokens), number_after(second, tokens));
  // Several tokens of each request: those that a draft proposed are verified.
  if (out.kind == EngineStepKind::kDecode && out.tokens > decoding) {
    out.kind = EngineStepKind::kVerify;
  }
  if (in_detail) {
    out.context_tokens = sum(number_after(first, "sk"), number_after(second, "sk"));
  }
  return out;
}

std::optional<EngineScope> of_older_vllm(std::string_view name) {
  const auto fresh = number_after(name, "new_");
  const auto cached = number_after(name, "_cached_");
  if (fresh < 0 || cached < 0) return {};
  EngineScope out;
  out.kind = kind_of(fresh, cached);
  out.engine = "vLLM";
  out.batch = sum(fresh, cached);
  return out;
}

std::optional<EngineScope> of_sglang(std::string_view name) {
  struct Word {
    std::string_view part;
    EngineStepKind kind;
  };
  // "DRAFT_EXTEND" is of the draft, "TARGET_VERIFY" verifies.
  constexpr std::array<Word, 8> kWords = {{{"DRAFT", EngineStepKind::kDraft},
                                           {"VERIFY", EngineStepKind::kVerify},
                                           {"EXTEND", EngineStepKind::kExtend},
                                           {"PREFILL", EngineStepKind::kExtend},
                                           {"DECODE", EngineStepKind::kDecode},
                                           {"MIXED", EngineStepKind::kMixed},
                                           {"IDLE", EngineStepKind::kOther},
                                           {"PREBUILT", EngineStepKind::kOther}}};
  const auto word = name.substr(0, name.find_first_of(" ]"));
  EngineScope out;
  out.engine = "SGLang";
  out.batch = number_after(name, "bs=");
  out.tokens = number_after(name, "toks=");
  for (const auto& [part, kind] : kWords) {
    if (word.find(part) == word.npos) continue;
    out.kind = kind;
    return out.batch < 0 ? std::nullopt : std::optional(out);
  }
  return {};  // Another program's "step[3]".
}

std::optional<EngineScope> of_atom(std::string_view name, EngineStepKind kind) {
  EngineScope out;
  out.kind = kind;
  out.engine = "ATOM";
  out.batch = number_after(name, "bs=");
  if (out.batch < 0) return {};
  const auto padded = "bs=" + std::to_string(out.batch) + "/";
  out.padded_batch = number_after(name, padded);
  out.tokens = number_after(name, "tok=");
  out.context_tokens = number_after(name, "ctx=");
  return out;
}

// What the inner of two scopes knows better.
void take_over(EngineScope& outer, const EngineScope& inner) {
  // A pass that verifies is a decode to the engine around it.
  if (outer.kind == EngineStepKind::kOther || inner.kind == EngineStepKind::kVerify) {
    outer.kind = inner.kind;
  }
  outer.engine = inner.engine;
  for (const auto field : {&EngineScope::batch, &EngineScope::padded_batch,
                           &EngineScope::tokens, &EngineScope::context_tokens}) {
    if (outer.*field < 0) outer.*field = inner.*field;
  }
}

using Steps = std::vector<EngineStep>;

// The steps of each thread, in order of time.
class StepIndex {
 public:
  explicit StepIndex(const Timeline& t) : t_(t) {}

  std::map<std::uint32_t, Steps>& by_lane() { return by_lane_; }

  void close_periods() {
    for (auto& [lane, steps] : by_lane_) {
      std::ranges::sort(steps, {}, [](const EngineStep& s) { return s.host.begin; });
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

}  // namespace

std::optional<EngineScope> engine_scope_of(std::string_view name) {
  const auto after = [&](std::string_view prefix) {
    return name.substr(prefix.size());
  };
  if (name.starts_with("execute_new_")) return of_older_vllm(name);
  if (name.starts_with("execute_")) return of_vllm(name);
  if (name.starts_with("step[")) return of_sglang(after("step["));
  if (name.starts_with("prefill[")) return of_atom(name, EngineStepKind::kExtend);
  if (name.starts_with("decode[")) return of_atom(name, EngineStepKind::kDecode);
  return {};
}

std::vector<EngineStep> list_engine_steps(const Timeline& t) {
  const auto& c = t.columns();
  // By name: a trace of another program is done here, without a pass over its rows.
  std::unordered_map<std::uint32_t, EngineScope> scopes;
  const auto& strings = t.trace->strings;
  for (std::uint32_t name = 0; name < strings.size(); ++name) {
    if (const auto scope = engine_scope_of(strings.view(name))) scopes[name] = *scope;
  }
  if (scopes.empty()) return {};
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
      step.device.begin = std::max(t.span.begin, c.ts[step.work.front()]);
      for (const auto row : step.work) {
        step.device.end = std::max(step.device.end, std::min(t.span.end, c.end(row)));
      }
      out.push_back(std::move(step));
    }
  }
  std::ranges::stable_sort(out, {}, [](const EngineStep& s) { return s.pid; });
  return out;
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
