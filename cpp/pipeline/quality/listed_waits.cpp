// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/listed_waits.cpp: reads the list, and makes findings of what is in
// it.
#include "pipeline/quality/listed_waits.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "patterns/rule.h"
#include "trace/args.h"
#include "trace/printable.h"

namespace tta::pipeline {
namespace {

using patterns::PatternId;

constexpr std::size_t kMostWaits = 2'000, kMostRuns = 10'000;
constexpr std::int64_t kMostCount = 1'000'000'000'000;  // A step's number; waits in it.
constexpr std::uint64_t kMostTimes = 1'000'000'000'000'000'000;
constexpr std::size_t kPathWidth = 4'096, kNameWidth = 256, kTextWidth = 400;

// Steps in a row in each of which the host waits as often.
struct Run {
  std::int64_t first, last, each;
};

// A line at which the host waits, by one API.
struct Wait {
  std::optional<timeline::Frame> location;
  std::string api;
  std::uint8_t subtype = 0;
  std::vector<Run> steps;
  bool guessed = false;
  std::string why, advice;

  // In no step after the first, which setting up is part of.
  bool first_only() const {
    return std::ranges::all_of(steps, [](const Run& run) { return run.last == 0; });
  }
};

// No number in a string, which args may have.
std::optional<std::int64_t> number(std::string_view raw) {
  return raw.starts_with('"') ? std::nullopt : trace::as_int(raw);
}

std::string text(std::string_view form, std::string_view key, std::size_t width) {
  return trace::printable(trace::string_arg(form, key).value_or(""), width);
}

std::optional<timeline::Frame> location_of(std::string_view form) {
  const auto file = trace::string_arg(form, "file");
  const auto line = number(trace::raw_arg(form, "line"));
  if (!file || file->empty() || file->size() > kPathWidth) return std::nullopt;
  if (!line || *line <= 0 || *line >= std::int64_t{1} << 31) return std::nullopt;
  auto function = trace::string_arg(form, "function").value_or("");
  if (auto end = kNameWidth; function.size() > end) {
    while (end > 0 && (function[end] & '\xc0') == '\x80') --end;  // No half character.
    function.resize(end);
  }
  return timeline::Frame{*file, *line, function, true, timeline::LineOf::kCall};
}

std::optional<Run> read_run(std::string_view form) {
  std::vector<std::int64_t> parts;
  bool fits = form.starts_with('[');
  trace::for_each_element(form, [&](std::string_view raw) {
    const auto value = number(raw);
    fits &= value && *value >= 0 && *value <= kMostCount;
    parts.push_back(value.value_or(0));
  });
  if (!fits || parts.size() != 3) return std::nullopt;
  if (parts[0] > parts[1] || parts[2] == 0) return std::nullopt;
  return Run{parts[0], parts[1], parts[2]};
}

std::optional<Wait> read_wait(std::string_view form) {
  const auto& pattern = patterns::info(PatternId::kSyncStall);
  const auto subtype = trace::string_arg(form, "subtype");
  const auto kind = std::ranges::find(pattern.subtypes, subtype.value_or(""));
  Wait wait;
  wait.api = text(form, "api", kNameWidth);
  bool fits = kind != pattern.subtypes.end() && !wait.api.empty();
  trace::for_each_element(trace::raw_arg(form, "steps"), [&](std::string_view raw) {
    const auto run = read_run(raw);
    fits &= run && wait.steps.size() < kMostRuns;
    if (fits) wait.steps.push_back(*run);
  });
  if (!fits || wait.steps.empty()) return std::nullopt;
  wait.subtype = static_cast<std::uint8_t>(kind - pattern.subtypes.begin());
  wait.location = location_of(form);
  wait.guessed = trace::string_arg(form, "value") == "guessed";
  wait.why = text(form, "why", kTextWidth);
  wait.advice = text(form, "advice", kTextWidth);
  if (wait.advice.empty()) wait.advice = pattern.advice;
  return wait;
}

// Those of setting up last; none if there is no list.
std::optional<std::vector<Wait>> read_list(const trace::Trace& trace) {
  const auto mark = trace.metadata_json("torchtraceap");
  if (!trace::raw_arg(mark, "what_if").empty()) return std::nullopt;
  const auto listed = trace::raw_arg(trace::raw_arg(mark, "dry_run"), "waits");
  if (!listed.starts_with('[')) return std::nullopt;
  std::vector<Wait> waits;
  std::size_t seen = 0;
  trace::for_each_element(listed, [&](std::string_view form) {
    if (++seen > kMostWaits) return;
    if (auto wait = read_wait(form)) waits.push_back(std::move(*wait));
  });
  std::ranges::stable_partition(waits, [](const Wait& w) { return !w.first_only(); });
  return waits;
}

// How often the host waits, and in how many steps.
struct Often {
  std::uint64_t times = 0, steps = 0;
};

// `numbers`: of which steps, in order; null: of all.
Often often(const Wait& wait, const std::vector<std::int64_t>* numbers) {
  Often out;
  for (const auto& run : wait.steps) {
    auto many = static_cast<std::uint64_t>(run.last - run.first + 1);
    if (numbers != nullptr) {
      const auto begin = std::ranges::lower_bound(*numbers, run.first);
      many = static_cast<std::uint64_t>(std::ranges::upper_bound(*numbers, run.last) -
                                        begin);
    }
    const auto each = static_cast<std::uint64_t>(run.each);
    const auto times = many > kMostTimes / each ? kMostTimes : many * each;
    out.times = std::min(kMostTimes, out.times + times);
    out.steps += many;
  }
  return out;
}

std::string often_text(const Wait& wait, const Often& often, bool several) {
  const auto count = patterns::count_text(often.times, "time", "times");
  if (wait.first_only() && several) return count + ", in the first step only";
  if (!several && often.times == 1) return count;
  char each[40];
  std::snprintf(each, sizeof each, ", %.3g a step",
                static_cast<double>(often.times) / static_cast<double>(often.steps));
  return count + each;
}

std::string message_of(const Wait& wait, const std::string& often,
                       const Simulated& simulated) {
  std::string host = "the host time that is assumed";
  if (simulated.host_us_per_op) {
    const auto ns = static_cast<std::int64_t>(*simulated.host_us_per_op * 1e3);
    host = patterns::duration_text(ns) + " of host time assumed for an operator";
  }
  return "the host waits for the GPU here " + often +
         (wait.why.empty() ? "" : ": " + wait.why) +
         (wait.guessed ? " (a guessed value)" : "") + "; on this simulated timeline, " +
         "with " + host + ", that costs no idle time";
}

using Place = std::optional<std::pair<std::string, std::int64_t>>;

Place place_of(const std::optional<timeline::Frame>& location) {
  if (!location) return std::nullopt;
  return std::pair(location->file, location->line);
}

}  // namespace

void add_listed_waits(Report& report, const std::optional<StepNumbers>& asked) {
  if (!report.trace.simulated) return;
  const auto waits = read_list(*report.timeline->trace);
  if (!waits) return;
  report.lists_waits = true;
  std::vector<std::int64_t> steps;
  for (const auto& step : report.steps) {
    // The last one's device work reaches into the next, which then is there too.
    if (asked && (step.number < asked->first || step.number > asked->second)) continue;
    steps.push_back(step.number);
  }
  const bool several = steps.size() > 1;
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const bool is_part =
      std::ranges::any_of(report.quality.warnings,
                          [](const auto& note) { return note.kind == "filtered"; });
  const auto* numbers = is_part && !steps.empty() ? &steps : nullptr;
  // Places in the list of findings, which grows.
  std::map<Place, std::size_t> stalls;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    auto& finding = report.findings[i];
    if (finding.pattern != PatternId::kSyncStall) continue;
    finding.waits = 0;
    stalls.emplace(place_of(finding.location), i);
  }
  for (const auto& wait : *waits) {
    const auto counted = often(wait, numbers);
    if (counted.times == 0) continue;
    const auto known = stalls.find(place_of(wait.location));
    if (known != stalls.end()) {
      *report.findings[known->second].waits += counted.times;
      continue;
    }
    auto said = often_text(wait, counted, several);
    if (is_part && numbers == nullptr) said += " (of the whole run)";
    patterns::Finding finding;
    finding.pattern = PatternId::kSyncStall;
    finding.subtype = wait.subtype;
    finding.count = counted.times;
    finding.waits = counted.times;
    finding.location = wait.location;
    finding.operator_name = wait.api;
    finding.message = message_of(wait, said, *report.trace.simulated);
    finding.advice = wait.advice;
    report.findings.push_back(std::move(finding));
  }
}

}  // namespace tta::pipeline
