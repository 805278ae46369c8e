// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.cpp: scopes by their names, work by its launches.
#include "timeline/engine_steps.h"

#include <algorithm>
#include <charconv>
#include <map>
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
  return read.ec == std::errc() && out >= 0 ? out : -1;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  constexpr auto kMost = std::int64_t{1} << 60;
  return a < 0 || b < 0 || a > kMost || b > kMost ? std::max(a, b) : a + b;
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
  const auto word = name.substr(0, name.find_first_of(" ]"));
  const auto has = [&](auto part) { return word.find(part) != word.npos; };
  EngineScope out;
  out.kind = has("DRAFT")                      ? EngineStepKind::kDraft
             : has("VERIFY")                   ? EngineStepKind::kVerify
             : has("EXTEND") || has("PREFILL") ? EngineStepKind::kExtend
             : has("DECODE")                   ? EngineStepKind::kDecode
             : has("MIXED")                    ? EngineStepKind::kMixed
                                               : EngineStepKind::kOther;
  out.engine = "SGLang";
  out.batch = number_after(name, "bs=");
  out.tokens = number_after(name, "toks=");
  return out;
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

// The step of a process that began last by a moment; null if that is over.
EngineStep* step_at(std::map<std::int64_t, Steps>& steps, std::int64_t pid,
                    std::int64_t when) {
  const auto own = steps.find(pid);
  if (own == steps.end()) return nullptr;
  auto* step =
      last_begun(own->second, when, [](const EngineStep& s) { return s.period.begin; });
  return step == nullptr || when >= step->period.end ? nullptr : step;
}

void close_periods(Steps& steps) {
  std::ranges::sort(steps, {}, [](const EngineStep& s) { return s.host.begin; });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto& step = steps[i];
    step.is_last = i + 1 == steps.size();
    step.period = {step.host.begin,
                   step.is_last ? step.host.end : steps[i + 1].host.begin};
  }
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
  std::map<std::uint32_t, std::optional<EngineScope>> scopes;  // by name
  const auto scope_of = [&](std::uint32_t row) -> const EngineScope* {
    if (c.cat(row) != Category::kUserAnnotation) return nullptr;
    const auto [it, fresh] = scopes.try_emplace(c.name[row]);
    if (fresh) it->second = engine_scope_of(t.trace->name(row));
    return it->second ? &*it->second : nullptr;
  };
  std::map<std::int64_t, Steps> steps;
  for (const auto& lane : t.lanes.threads()) {
    auto& of_process = steps[lane.pid];
    std::map<std::uint32_t, std::size_t> places;  // of outer scopes
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto* scope = scope_of(row);
      if (scope == nullptr) continue;
      const auto outer = t.tree.outermost(
          t.tree.parent[row], [&](auto above) { return places.contains(above); });
      if (outer != kNoRow) {
        take_over(of_process[places[outer]].scope, *scope);
        continue;
      }
      places[row] = of_process.size();
      EngineStep step;
      step.row = row;
      step.scope = *scope;
      step.pid = lane.pid;
      step.host = {c.ts[row], t.tree.end(c, row)};
      of_process.push_back(std::move(step));
    }
  }
  std::erase_if(steps, [](const auto& of) { return of.second.empty(); });
  if (steps.empty()) return {};
  for (auto& [pid, of_process] : steps) close_periods(of_process);
  for (const auto& call : t.launch_calls) {
    auto* step = step_at(steps, c.pid[call.row], c.ts[call.row]);
    if (step == nullptr) continue;
    ++step->launches;
    step->graph_launches += t.named(call.row, Name::kGraphLaunch);
  }
  t.each_launched([&](auto row, auto launch) {
    auto* step = step_at(steps, c.pid[launch], c.ts[launch]);
    const auto time = intersect({c.ts[row], c.end(row)}, t.span);
    if (step == nullptr || time.begin > time.end) return;  // Before the span.
    step->device.begin =
        step->work.empty() ? time.begin : std::min(step->device.begin, time.begin);
    step->device.end = std::max(step->device.end, time.end);
    step->work.push_back(row);
  });
  Steps out;
  for (auto& [pid, of_process] : steps) {
    for (auto& step : of_process) {
      if (step.work.empty()) continue;
      std::ranges::sort(step.work, {}, [&](auto row) { return c.ts[row]; });
      out.push_back(std::move(step));
    }
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
