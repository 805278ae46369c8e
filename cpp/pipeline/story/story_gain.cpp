// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story_gain.cpp: what would matter most.
#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include "patterns/rule.h"
#include "pipeline/pricing/price.h"
#include "pipeline/story/story_parts.h"

namespace tta::pipeline {
namespace {

using patterns::duration_text;

constexpr double kNotable = 0.10;  // unexplained time, beside the work itself
// "Most of it" is half and more; a place with less than a tenth is one of many.
constexpr double kMost = 0.50;
constexpr double kPlace = 0.10;

// What a pattern costs, in all of its findings: what was measured, and an upper
// estimate of what else, never in one sum; and what its best fix saves, which may be
// far more than its part where it shares time with others.
struct Cost {
  patterns::PatternId pattern{};
  std::int64_t measured_ns = 0, estimated_ns = 0;
  std::int64_t gain_ns = 0;                         // of the span, not of each device
  std::map<std::string, std::int64_t> places = {};  // by their text

  // Which of them is spoken of: the first that matters.
  enum class Told { kMeasured, kEstimate, kSaving, kNothing } told = Told::kNothing;
  std::int64_t ns = 0;  // That one,
  double of_span = 0;   // and its share: of the devices' time, or of the span.

  void choose(const Report& r, const Totals& sum) {
    const auto tell = [&](Told what, std::int64_t time, std::int64_t whole) {
      if (told != Told::kNothing || share(time, whole) < kMatters) return;
      told = what;
      ns = time;
      of_span = share(time, whole);
    };
    tell(Told::kMeasured, measured_ns, sum.span_ns);
    tell(Told::kEstimate, estimated_ns, sum.span_ns);
    tell(Told::kSaving, gain_ns, r.timeline->span.length());
  }
};

// What the figure is, as a word of its name and in a sentence.
const char* word(Cost::Told told) {
  return told == Cost::Told::kMeasured   ? "at_most_"
         : told == Cost::Told::kEstimate ? "estimate_"
                                         : "saving_";
}
const char* before(Cost::Told told) {
  return told == Cost::Told::kMeasured   ? ""
         : told == Cost::Told::kEstimate ? "by estimate up to "
                                         : "a fix of which saves about ";
}

std::string place(const patterns::Finding& f) {
  if (f.location) {
    const auto file = end_of(f.location->file);
    if (f.location->line_of == timeline::LineOf::kCall) {
      return "at " + file + ":" + std::to_string(f.location->line);
    }
    const auto function = beginning(f.location->function);
    return "in " + function + (function.starts_with('<') ? " of " : "() of ") + file;
  }
  return f.operator_name.empty() ? "" : "in " + beginning(f.operator_name);
}

// The patterns that matter, in the order in which the list of findings first names
// them.
std::vector<Cost> costs(const Report& r, const Totals& sum) {
  std::vector<Cost> out;
  for (const auto& f : r.findings) {
    auto cost = std::find_if(out.begin(), out.end(), [&](const Cost& known) {
      return known.pattern == f.pattern;
    });
    if (cost == out.end()) cost = out.insert(out.end(), Cost{f.pattern});
    const auto excess = f.wasted_ns - f.idle_ns;
    cost->measured_ns += f.idle_ns;
    (r.patterns[f.pattern].estimate ? cost->estimated_ns : cost->measured_ns) += excess;
    cost->places[place(f)] += f.wasted_ns;
    if (f.gain) cost->gain_ns = std::max(cost->gain_ns, f.gain->middle);
  }
  for (auto& cost : out) cost.choose(r, sum);
  std::erase_if(out,
                [](const Cost& cost) { return cost.told == Cost::Told::kNothing; });
  // Patterns that by themselves cost next to nothing come after the others.
  std::ranges::stable_partition(
      out, [](const Cost& cost) { return cost.told != Cost::Told::kSaving; });
  return out;
}

// Where most of it is, or the largest part, if that is any place to begin with.
std::string place_text(const Cost& cost) {
  const auto worst = std::max_element(
      cost.places.begin(), cost.places.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto all = cost.measured_ns + cost.estimated_ns;
  if (worst->first.empty() || share(worst->second, all) < kPlace) return "";
  if (share(worst->second, all) >= kMost) return ", most of it " + worst->first;
  return ", the largest part (" + share_text(worst->second, all) + ") " + worst->first;
}

// The kernel that keeps the devices busy longest: its name and for how long.
std::pair<std::uint32_t, std::int64_t> longest_kernel(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::unordered_map<std::uint32_t, std::int64_t> sums;
  for (const auto& d : t.devices) {
    std::unordered_map<std::uint32_t, std::int64_t> reached;
    for (const auto row : d.rows) {
      const auto time = timeline::intersect({c.ts[row], c.end(row)}, t.span);
      auto& until =
          reached.try_emplace(c.name[row], std::numeric_limits<std::int64_t>::min())
              .first->second;
      sums[c.name[row]] +=
          timeline::Interval{std::max(until, time.begin), time.end}.length();
      until = std::max(until, time.end);
    }
  }
  std::pair<std::uint32_t, std::int64_t> best{0, -1};
  for (const auto& [name, ns] : sums) {
    if (ns > best.second || (ns == best.second && name < best.first)) best = {name, ns};
  }
  return best;
}

// Which operators that is: the three longest, by their own time.
std::string costliest_operators(const timeline::Timeline& t,
                                const OperatorTimes& sums) {
  if (sums.all_ns == 0) return ".";
  std::string out;
  bool fallback = false;
  for (const auto& [name, ns] : sums.longest) {
    out += (out.empty() ? ": " : ", ") + beginning(t.trace->strings.view(name)) + " " +
           share_text(ns, sums.all_ns) + (out.empty() ? " of operator time" : "");
    fallback = fallback || (t.names.is(name, timeline::Name::kSlowConvolution) &&
                            share(ns, sums.all_ns) >= kNotable);
  }
  out += ".";
  if (fallback) {
    out +=
        " A slow_conv is torch's fallback where oneDNN is missing or does not take a "
        "convolution's type, size or layout: try another build of torch, float32 or "
        "bfloat16, larger batches.";
  }
  return out;
}

// If no pattern matters: the work itself, or the unknown rest.
Stage without_pattern(const Report& r, const Totals& sum, Stage s) {
  const auto busy = share(sum.busy_ns, sum.span_ns);
  const auto pauses = sum.idle_of(patterns::PatternId::kNoRequests);
  if (pauses > sum.span_ns / 2) {
    s.answer = "No pattern costs 3 % or more; the server had no requests for " +
               share_text(pauses, sum.span_ns) + " of the time. Record it under load.";
    s.verdict = "no_requests";
    s.figures = {{"no_requests", pauses}};
    return s;
  }
  if (sum.devices > 0 && share(sum.unattributed_ns, sum.span_ns) < busy) {
    const auto [kernel, ns] = longest_kernel(*r.timeline);
    s.answer = "No pattern costs 3 % or more; the work itself takes the time.";
    s.verdict = "kernels";
    s.figures = {{"longest_kernel", ns}};
    if (share(sum.unattributed_ns, sum.span_ns) >= kNotable) {
      s.answer = "No pattern costs 3 % or more, but " +
                 share_text(sum.unattributed_ns, sum.span_ns) +
                 " of the time has no cause that a rule knows; most of the rest "
                 "is the work itself.";
      s.figures.push_back({"unattributed", sum.unattributed_ns});
    }
    s.answer +=
        " Its longest kernel takes " + share_text(ns, sum.busy_ns) +
        " of the busy time: " + beginning(r.timeline->trace->strings.view(kernel)) +
        ".";
  } else {
    const bool operators = sum.devices == 0 && sum.busy_ns >= sum.unattributed_ns;
    const auto times = operators ? operator_times(*r.timeline) : OperatorTimes{};
    s.answer = "No pattern costs 3 % or more. ";
    s.answer += operators ? "The operators themselves take " +
                                share_text(sum.busy_ns, sum.span_ns) + " of the time" +
                                costliest_operators(*r.timeline, times)
                          : share_text(sum.unattributed_ns, sum.span_ns) +
                                " of the time has no cause that a rule knows.";
    s.verdict = operators ? "operators" : "unattributed";
    s.figures = {{"unattributed", sum.unattributed_ns}};
    if (times.all_ns > 0) {
      s.figures.push_back({"longest_operator", times.longest.front().second});
    }
  }
  return s;
}

}  // namespace

Stage gain_stage(const Report& r, const Totals& sum) {
  Stage s{"gain", "What would matter most?", "", "", true, {}, {}};
  if (r.quality.verdict != Verdict::kOk) {
    return unknown(s, "Not answered: the quality of the recording is degraded.");
  }
  if (auto little = too_little(r); !little.empty()) return unknown(s, little);
  if (mostly_profiler(r, sum)) {
    return unknown(s,
                   "Undetermined: the devices waited for the profiler nearly all "
                   "of the time.");
  }
  const auto name = [&](const Cost& cost) {
    return std::string(r.patterns[cost.pattern].name);
  };
  const auto span = sum.span_ns;
  const auto add_figure = [&](const Cost& cost) {
    s.figures.push_back({word(cost.told) + name(cost), cost.ns});
  };
  const auto order = costs(r, sum);
  if (!order.empty()) {
    const auto& first = order[0];
    s.figures = {{"at_most", first.ns}};
    add_figure(first);
    s.answer = name(first) + ", " + before(first.told) + duration_text(first.ns) +
               " (" + patterns::share_text(first.of_span) + ")" + place_text(first);
    if (first.pattern == patterns::PatternId::kLaunchBound ||
        first.pattern == patterns::PatternId::kHostBoundPython) {
      s.answer += stacks_text(r);
    }
    if (first.told == Cost::Told::kMeasured &&
        share(first.estimated_ns, span) >= kMatters) {
      s.answer +=
          ", and by estimate up to " + duration_text(first.estimated_ns) + " more";
      s.figures.push_back({"estimate_" + name(first), first.estimated_ns});
    }
    if (order.size() > 1) {
      const auto& next = order[1];
      s.answer += "; then " + name(next) + " (" + before(next.told) +
                  patterns::share_text(next.of_span) + ")";
      add_figure(next);
    }
    s.answer += ".";
    if (share(sum.unattributed_ns, span) > first.of_span) {
      s.answer += " More time has no cause that a rule knows (" +
                  share_text(sum.unattributed_ns, span) + ").";
      s.figures.push_back({"unattributed", sum.unattributed_ns});
    }
    s.verdict = name(first);
    s.severity = severity(first.of_span);
    return s;
  }
  return without_pattern(r, sum, std::move(s));
}

}  // namespace tta::pipeline
