// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/answer.cpp: rows of findings, and the words for them.
#include "pipeline/story/answer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/pricing/price.h"
#include "pipeline/story/story_parts.h"
#include "pipeline/tables/memory_growth.h"
#include "pipeline/tables/tables.h"
#include "timeline/engine_time.h"

namespace tta::pipeline {
namespace {

constexpr std::size_t kMostRows = 5;

// The findings of one pattern and sub-type.
struct Group {
  std::vector<std::uint32_t> findings;
  std::int64_t seen_ns = 0;
  std::optional<replay::Gain> gain;
};

// What a rule saw, whatever else could save the same time: a ruler shows it in the
// trace.
std::int64_t seen_ns(const patterns::Finding& f) {
  std::int64_t out = 0;
  for (const auto& claim : f.observed) out += claim.end - claim.begin;
  return out > 0 ? out : f.wasted_ns;
}

std::vector<Group> groups_of(const Report& r) {
  std::vector<Group> out;
  std::vector<std::pair<patterns::PatternId, std::uint8_t>> keys;
  for (std::uint32_t i = 0; i < r.findings.size(); ++i) {
    const std::pair key{r.findings[i].pattern, r.findings[i].subtype};
    const auto at =
        static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (at == keys.size()) {
      keys.push_back(key);
      out.emplace_back();
    }
    out[at].findings.push_back(i);
    out[at].seen_ns += seen_ns(r.findings[i]);
  }
  return out;
}

// Adds the gain of each group; more than one finding is replayed without all of them.
void price(const Report& r, std::vector<Group>& groups) {
  std::optional<replay::Pricer> pricer;
  for (auto& group : groups) {
    if (group.findings.size() == 1) {
      group.gain = r.findings[group.findings.front()].gain;
      continue;
    }
    const auto known = [&](auto i) { return r.findings[i].gain.has_value(); };
    if (!std::ranges::any_of(group.findings, known)) continue;
    if (!pricer) pricer.emplace(*r.replay->model);
    group.gain = gain_together(r, *pricer, group.findings);
  }
}

AnswerRow row_of(const Report& r, const Totals& sum, Group group) {
  const auto& first = r.findings[group.findings.front()];
  const auto& info = r.patterns[first.pattern];
  AnswerRow row;
  row.pattern = info.name;
  if (!info.subtypes.empty()) row.subtype = info.subtypes[first.subtype];
  row.problem =
      info.summary.substr(0, info.summary.size() - info.summary.ends_with('.'));
  // A cost of the first use is paid once, however long the program then runs.
  if (first.pattern == patterns::PatternId::kRecompileOrLazyLoad &&
      (row.subtype == "first_iteration" || row.subtype == "module_loading" ||
       row.subtype == "context_creation")) {
    row.problem += " for the first time";
  }
  row.fix = first_clause(first.advice);
  row.basis = basis_of(r, first);
  row.observed_fraction = share(group.seen_ns, sum.span_ns);
  for (const auto i : group.findings) row.count += r.findings[i].count;
  if (group.gain) {
    const auto span = r.timeline->span.length();
    row.low_fraction = share(group.gain->low, span);
    row.middle_fraction = share(group.gain->middle, span);
    row.high_fraction = share(group.gain->high, span);
  }
  // Waits for other ranks have no gain that one trace could tell.
  if (first.pattern == patterns::PatternId::kCommExposed && group.gain &&
      group.gain->high == 0 && r.trace.world_size.value_or(1) > 1) {
    row.fix = "Analyze the traces of all ranks together";
  }
  row.findings = std::move(group.findings);
  return row;
}

// Leaves out groups that neither cost enough nor, by what is known so far, save enough.
void keep_what_matters(const Report& r, const Totals& sum, std::vector<Group>& groups) {
  const auto saved = [&](const Group& g) {
    if (g.gain) return g.gain->middle;
    std::int64_t out = 0;  // At most, of several.
    for (const auto i : g.findings) {
      if (const auto& gain = r.findings[i].gain) out += gain->high;
    }
    return out;
  };
  std::erase_if(groups, [&](const Group& g) {
    return share(g.seen_ns, sum.span_ns) < kMatters &&
           share(saved(g), r.timeline->span.length()) < kMatters;
  });
}

std::string caveat(const Report& r, const AnswerRow& first) {
  const auto id = r.findings[first.findings[0]].pattern;
  std::string out;
  if ((id == patterns::PatternId::kLaunchBound ||
       id == patterns::PatternId::kHostBoundPython) &&
      !stacks_text(r).empty()) {
    out = "Python stacks were recorded, which slows the host: check without.";
  }
  if (r.replay->model == nullptr) return out;
  const auto rough = caveat_of(fidelity_of(r.replay->fidelity));
  return out + (out.empty() || rough.empty() ? "" : " ") + rough;
}

// A program that mostly waits may still have slow kernels: traces of
// single operators are of this kind.
constexpr double kKernelsMatter = 0.2;

std::string kernels_text(const Report& r, const Totals& sum,
                         const std::vector<AnswerRow>& rows) {
  if (r.operators == nullptr || r.timeline->host) return {};
  for (const auto& row : rows) {
    if (r.patterns[r.findings[row.findings[0]].pattern].family ==
        patterns::PatternFamily::kKernel) {
      return {};
    }
  }
  double lost = 0, most = 0;
  std::map<std::string_view, double> by_name;
  const work::OperatorCalls* worst = nullptr;  // The first of the name with the most.
  for (const auto& calls : r.operators->all()) {
    if (!calls.slow() || calls.why.reason == work::SlowReason::kShort) continue;
    lost += calls.lost_ns();
    auto& of_name = by_name[calls.name];
    of_name += calls.lost_ns();
    if (of_name > most) {
      most = of_name;
      if (worst == nullptr || worst->name != calls.name) worst = &calls;
    }
  }
  if (worst == nullptr || lost < kKernelsMatter * static_cast<double>(sum.busy_ns)) {
    return {};
  }
  const auto& why = worst->why;
  const auto share = std::min(1.0, lost / static_cast<double>(sum.busy_ns));
  return "Kernels: up to " + patterns::share_text(share) +
         " of the busy time is lost far below the device's peaks, most in " +
         std::string(worst->name) + " (" + std::string(record::word_of(why.reason)) +
         (why.evidence.empty() ? "" : ": ") + why.evidence + "); --tables has all.";
}

// Decode steps if there are any, else what there is most of.
std::string steps_text(const Report& r) {
  const auto kinds = make_engine_kinds(r);
  if (kinds.empty()) return {};
  const auto decode = std::ranges::find_if(kinds, [](const EngineKind& kind) {
    return kind.kind == "decode" || kind.kind == "verify" || kind.kind == "mixed";
  });
  const auto& k = decode == kinds.end() ? kinds.front() : *decode;
  const auto time = [](std::int64_t ns) { return patterns::duration_text(ns); };
  std::string out =
      k.engine + ", " + k.kind + ": " + patterns::count_text(k.count, "step", "steps");
  if (k.batch) {
    out += " of " + patterns::count_text(static_cast<std::uint64_t>(*k.batch),
                                         "request", "requests");
  }
  if (k.period_ns) out += ", one each " + time(*k.period_ns);
  out += k.count > 1 ? " (medians)" : "";
  out +=
      "; on the device " + time(k.device_ns) + ", busy " + time(k.busy_ns) + " of it";
  const auto most =
      std::ranges::max_element(k.sum_ns, {}, [](auto& s) { return s.second; });
  if (most != k.sum_ns.end()) {
    out += ", most in " + most->first + " kernels (" + time(most->second) + ")";
  }
  if (k.gap_ns && *k.gap_ns > 0) {
    out += "; " + time(*k.gap_ns) + " idle between steps";
    const auto part =
        std::ranges::max_element(k.gap_parts_ns, {}, [](auto& p) { return p.second; });
    // The last three name no work of the host.
    constexpr auto kParts = words_of(timeline::EnginePart());
    if (part != k.gap_parts_ns.end() &&
        std::ranges::find(kParts, part->first) < kParts.end() - 3) {
      out += ", mostly " + part->first;
    }
  }
  const auto pauses = add_up(r).idle_of(patterns::PatternId::kNoRequests);
  if (pauses > 0) out += ". It had no requests for " + time(pauses);
  if (k.prompt_waits > 0) {
    out +=
        ". Prompts made tokens late " +
        (k.prompt_waits == 1 ? "once"
                             : patterns::count_text(k.prompt_waits, "time", "times")) +
        ", by up to " + time(k.longest_prompt_wait_ns);
  }
  return out + ".";
}

}  // namespace

Answer answer_of(const Report& r) {
  Answer out;
  out.rest = static_cast<std::uint32_t>(r.findings.size());
  out.memory = memory_text(r);
  out.steps = steps_text(r);
  if (r.quality.verdict == Verdict::kUnusable) {
    out.otherwise = "No verdict: the recording is unusable.";
    return out;
  }
  const auto sum = add_up(r);
  out.busy_fraction = share(sum.busy_ns, sum.span_ns);
  out.otherwise = too_little(r);
  if (out.otherwise.empty() && mostly_profiler(r, sum)) {
    out.otherwise =
        "No verdict: the devices waited for the profiler nearly all the time.";
  }
  if (!out.otherwise.empty()) {
    out.kernels = kernels_text(r, sum, {});
    return out;
  }
  auto groups = groups_of(r);
  keep_what_matters(r, sum, groups);
  price(r, groups);
  keep_what_matters(r, sum, groups);
  std::ranges::stable_sort(groups, std::ranges::greater(), [&](const Group& g) {
    if (r.timeline->host) return static_cast<double>(g.seen_ns);
    return rank_of(r.patterns, r.findings[g.findings.front()].pattern, g.gain);
  });
  groups.resize(std::min(groups.size(), kMostRows));
  for (auto& group : groups) {
    out.rest -= static_cast<std::uint32_t>(group.findings.size());
    out.rows.push_back(row_of(r, sum, std::move(group)));
  }
  out.kernels = kernels_text(r, sum, out.rows);
  if (!out.rows.empty()) {
    out.caveat = caveat(r, out.rows[0]);
  } else if (r.quality.verdict == Verdict::kDegraded) {
    out.otherwise = "No verdict: the recording is degraded.";
  } else {
    out.otherwise = gain_stage(r, sum).answer;
  }
  return out;
}

}  // namespace tta::pipeline
