// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story.cpp: the stages that look at the balance and at what ran.
#include "pipeline/story/story.h"

#include <algorithm>
#include <array>

#include "patterns/rule.h"
#include "pipeline/story/sides.h"
#include "pipeline/story/story_parts.h"
#include "timeline/device_facts.h"

namespace tta::pipeline {
namespace {

using patterns::duration_text;

// "at least" and "at most" where device work is missing from the trace.
std::string least(const Report& r) { return r.quality.incomplete ? "at least " : ""; }

Stage busy_stage(const Report& r, const Totals& sum) {
  Stage s{"busy", "Is the device busy?", "", "", true, severity(sum.idle_ns, sum), {}};
  s.figures = {{"span", sum.span_ns},
               {"busy", sum.busy_ns},
               {"device_count", static_cast<std::int64_t>(sum.devices), false}};
  const auto busy = least(r) + share_text(sum.busy_ns, sum.span_ns);
  if (sum.devices == 0) {
    s.question = "Is the CPU busy?";
    s.answer = "The trace has no device work. Operators ran " + busy + " of the time";
    if (r.balance.size() > 1) {
      s.answer += " of " + std::to_string(r.balance.size()) + " processes, on average";
      s.figures.push_back(
          {"process_count", static_cast<std::int64_t>(r.balance.size()), false});
    }
  } else if (sum.devices == 1) {
    s.answer = "Busy " + busy + " of the time";
  } else {
    auto low = r.balance.front(), high = low;
    for (const auto& row : r.balance) {
      if (row.busy_ns < low.busy_ns) low = row;
      if (row.busy_ns > high.busy_ns) high = row;
    }
    s.answer = std::to_string(sum.devices) + " devices, busy " + busy +
               " of the time on average (" + share_text(low.busy_ns, low.span_ns) +
               " to " + share_text(high.busy_ns, high.span_ns) + ")";
  }
  s.answer += ", " + duration_text(sum.busy_ns) + " of " + duration_text(sum.span_ns) +
              (r.balance.size() > 1 ? " together." : ".");
  return s;
}

Stage idle_stage(const Report& r, const Totals& sum) {
  Stage s{"idle", "Why not all of the time?", "", "", true,
          {},     {{"idle", sum.idle_ns}}};
  std::vector<std::pair<std::int64_t, std::string>> causes;
  for (std::size_t i = 0; i < sum.idle.size(); ++i) {
    if (sum.idle[i] == 0) continue;
    const std::string name(r.patterns.rows()[i].name);
    causes.emplace_back(sum.idle[i], name);
    s.figures.push_back({"idle_" + name, sum.idle[i]});
  }
  s.figures.push_back({"idle_unattributed", sum.unattributed_ns});
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (sum.unattributed_ns > 0) {
    causes.emplace_back(sum.unattributed_ns, "unattributed");
  }
  if (!causes.empty()) {
    const auto worst = std::max_element(causes.begin(), causes.end());
    s.severity = severity(worst->first, sum);
    s.verdict = sum.unattributed_ns == worst->first ? "unattributed" : worst->second;
  }
  for (const auto& [ns, name] : causes) {
    s.answer += (s.answer.empty() ? "" : ", ") + name + " (" +
                (r.quality.incomplete ? "at most " : "") + share_text(ns, sum.span_ns) +
                ")";
  }
  if (s.answer.empty()) s.answer = "It is never idle";
  s.answer += ".";
  return s;
}

Stage work_stage(const Report& r, const Totals& sum) {
  const auto parts = divide_busy_time(*r.timeline);
  Stage s{"work", "What fills the busy time?", "", "", true, {}, {}};
  s.figures = {
      {"large_kernels", parts.large_ns},
      {"small_kernels", parts.small_ns},
      {"communication_alone", parts.communication_ns},
      {"copies_alone", parts.copies_ns},
      {"kernel_count", static_cast<std::int64_t>(parts.kernels), false},
      {"small_kernel_count", static_cast<std::int64_t>(parts.small_kernels), false}};
  struct Kind {
    std::int64_t ns;
    const char* word;
    const char* text;
  };
  std::array kinds = {
      Kind{parts.large_ns, "large_kernels", "large kernels"},
      Kind{parts.small_ns, "small_kernels", "small kernels (<10 µs)"},
      Kind{parts.communication_ns, "communication", "communication alone"},
      Kind{parts.copies_ns, "copies", "copies alone"}};
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  s.verdict = kinds[0].word;
  for (const auto& kind : kinds) {
    if (kind.ns == 0) continue;
    s.answer += (s.answer.empty() ? "" : ", ") + std::string(kind.text) + " " +
                share_text(kind.ns, sum.busy_ns);
  }
  s.answer += ".";
  s.severity = severity(sum.busy_ns - parts.large_ns - parts.small_ns, sum);
  return s;
}

Stage overlap_stage(const Report& r, const Totals& sum) {
  timeline::OverlapFacts all;
  for (const auto& facts : timeline::overlap_facts(*r.timeline)) {
    all.comm_ns += facts.comm_ns;
    all.comm_hidden_ns += facts.comm_hidden_ns;
    all.copy_ns += facts.copy_ns;
    all.copy_hidden_ns += facts.copy_hidden_ns;
  }
  Stage s{
      "overlap", "Does computation hide communication and copies?", "", "", true, {},
      {}};
  s.figures = {{"communication", all.comm_ns},
               {"communication_hidden", all.comm_hidden_ns},
               {"copies", all.copy_ns},
               {"copies_hidden", all.copy_hidden_ns}};
  const auto add = [&](const char* what, std::int64_t ns, std::int64_t hidden) {
    if (ns == 0) return;
    s.answer += (s.answer.empty() ? "" : " ") + std::string(what) + " took " +
                duration_text(ns) + " (" + share_text(ns, sum.span_ns) + "), " +
                share_text(hidden, ns) + " of it hidden.";
  };
  add("Communication", all.comm_ns, all.comm_hidden_ns);
  add("Copies", all.copy_ns, all.copy_hidden_ns);
  s.severity = severity(
      all.comm_ns - all.comm_hidden_ns + all.copy_ns - all.copy_hidden_ns, sum);
  return s;
}

}  // namespace

std::vector<Stage> tell_story(const Report& r) {
  if (r.quality.verdict == Verdict::kUnusable) {
    return {{"busy",
             "Is the device busy?",
             "Undetermined: the trace is unusable, for the reasons given.",
             "",
             false,
             {},
             {}}};
  }
  const auto sum = add_up(r);
  std::vector<Stage> out{busy_stage(r, sum)};
  if (sum.idle_ns > 0) out.push_back(idle_stage(r, sum));
  if (!r.timeline->devices.empty()) {
    out.push_back(limit_stage(r, sum));
    if (sum.busy_ns > 0) out.push_back(work_stage(r, sum));
    if (auto overlap = overlap_stage(r, sum); !overlap.answer.empty()) {
      out.push_back(std::move(overlap));
    }
  }
  out.push_back(gain_stage(r, sum));
  return out;
}

}  // namespace tta::pipeline
