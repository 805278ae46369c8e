// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story_gain.cpp: what would matter most.
#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include "patterns/rule.h"
#include "pipeline/story_parts.h"

namespace tta::pipeline {
namespace {

using patterns::duration_text;

// What costs less is not what matters most: the bound of a finding of medium severity.
constexpr double kMatters = 0.03;
constexpr double kNotable = 0.10;  // unexplained time, beside the work itself
// "Most of it" is half and more; a place with less than a tenth is one of many.
constexpr double kMost = 0.50;
constexpr double kPlace = 0.10;

// What a pattern costs, of one kind: measured, or as an upper estimate.
struct Cost {
  patterns::PatternId pattern{};
  std::int64_t ns = 0;
  std::map<std::string, std::int64_t> places;  // by their text
};

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

// The patterns by what they cost, costliest first. A finding of both kinds of time
// counts with each for itself.
std::vector<Cost> costs(const Report& r, bool estimates, bool only_idle) {
  std::map<patterns::PatternId, Cost> sums;
  for (const auto& f : r.findings) {
    const auto excess = f.wasted_ns - f.idle_ns;
    const bool estimate = r.patterns[f.pattern].estimate;
    std::int64_t ns = estimates ? 0 : f.idle_ns;
    if (!only_idle && estimate == estimates) ns += excess;
    if (ns == 0) continue;
    auto& cost = sums[f.pattern];
    cost.pattern = f.pattern;
    cost.ns += ns;
    cost.places[place(f)] += ns;
  }
  std::vector<Cost> out;
  for (auto& [pattern, cost] : sums) out.push_back(std::move(cost));
  std::stable_sort(out.begin(), out.end(),
                   [](const Cost& a, const Cost& b) { return a.ns > b.ns; });
  return out;
}

// Where most of it is, or the largest part, if that is any place to begin with.
std::string place_text(const Cost& cost) {
  const auto worst = std::max_element(
      cost.places.begin(), cost.places.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (worst->first.empty() || share(worst->second, cost.ns) < kPlace) return "";
  if (share(worst->second, cost.ns) >= kMost) return ", most of it " + worst->first;
  return ", the largest part (" + share_text(worst->second, cost.ns) + ") " +
         worst->first;
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

// Where no pattern matters: the work itself, or what nobody knows.
Stage without_pattern(const Report& r, const Totals& sum, Stage s) {
  const auto busy = share(sum.busy_ns, sum.span_ns);
  if (sum.devices > 0 && share(sum.unattributed_ns, sum.span_ns) < busy) {
    const auto [kernel, ns] = longest_kernel(*r.timeline);
    s.answer = "No pattern costs as much as 3 %; the work itself does.";
    s.verdict = "kernels";
    s.figures = {{"longest_kernel", ns}};
    if (share(sum.unattributed_ns, sum.span_ns) >= kNotable) {
      s.answer = "No pattern costs as much as 3 %, but " +
                 share_text(sum.unattributed_ns, sum.span_ns) +
                 " of the time passes for reasons that no rule knows; most of the rest "
                 "is the work itself.";
      s.figures.push_back({"unattributed", sum.unattributed_ns});
    }
    s.answer +=
        " Its longest kernel takes " + share_text(ns, sum.busy_ns) +
        " of the busy time: " + beginning(r.timeline->trace->strings.view(kernel)) +
        ".";
  } else {
    const bool operators = sum.devices == 0 && sum.busy_ns >= sum.unattributed_ns;
    s.answer = "No pattern costs as much as 3 %. ";
    s.answer += operators ? "The operators themselves take " +
                                share_text(sum.busy_ns, sum.span_ns) + " of the time."
                          : share_text(sum.unattributed_ns, sum.span_ns) +
                                " of the time passes for reasons that no rule knows.";
    s.verdict = operators ? "operators" : "unattributed";
    s.figures = {{"unattributed", sum.unattributed_ns}};
  }
  return s;
}

}  // namespace

Stage gain_stage(const Report& r, const Totals& sum, const std::vector<Stage>& before) {
  Stage s{"gain", "What would matter most?", "", "", true, {}, {}};
  if (r.quality.verdict != Verdict::kOk) {
    return unknown(s, "That is not said of a recording whose quality is degraded.");
  }
  if (auto little = too_little(r); !little.empty()) return unknown(s, little);
  if (mostly_profiler(r, sum)) {
    return unknown(
        s,
        "That cannot be said: the devices waited for the profiler nearly all "
        "of the time.");
  }
  const bool host_limits =
      std::any_of(before.begin(), before.end(), [](const Stage& stage) {
        return stage.id == "limit" && stage.verdict == "host";
      });
  // Where the host is the limit, a device that wastes less only waits longer.
  const bool only_idle = host_limits && sum.devices > 0;
  const auto name = [&](const Cost& cost) {
    return std::string(r.patterns[cost.pattern].name);
  };
  const auto matters = [&](const std::vector<Cost>& of, std::size_t i) {
    return i < of.size() && share(of[i].ns, sum.span_ns) >= kMatters;
  };
  // What was measured goes before what is estimated, and neither into one sum.
  const auto measured = costs(r, false, only_idle);
  const auto estimated = costs(r, true, only_idle);
  const bool sure = matters(measured, 0);
  if (sure || matters(estimated, 0)) {
    const auto& order = sure ? measured : estimated;
    const auto& first = order[0];
    const std::string kind = sure ? "at_most_" : "estimate_";
    s.figures = {{"at_most", first.ns}, {kind + name(first), first.ns}};
    s.answer = name(first) + (sure ? ", " : ", by estimate up to ") +
               duration_text(first.ns) + " (" + share_text(first.ns, sum.span_ns) +
               ")" + place_text(first);
    if (first.pattern == patterns::PatternId::kLaunchBound ||
        first.pattern == patterns::PatternId::kHostBoundPython) {
      s.answer += stacks_text(r);
    }
    if (matters(order, 1)) {
      s.answer += "; then " + name(order[1]) + " (" + (sure ? "" : "up to ") +
                  share_text(order[1].ns, sum.span_ns) + ")";
      s.figures.push_back({kind + name(order[1]), order[1].ns});
    }
    s.answer += ".";
    if (sure && matters(estimated, 0)) {
      s.answer += " By estimate, " + name(estimated[0]) + " costs up to " +
                  share_text(estimated[0].ns, sum.span_ns) + ".";
      s.figures.push_back({"estimate_" + name(estimated[0]), estimated[0].ns});
    }
    if (sum.unattributed_ns > first.ns) {
      s.answer += " More passes for reasons that no rule knows (" +
                  share_text(sum.unattributed_ns, sum.span_ns) + ").";
      s.figures.push_back({"unattributed", sum.unattributed_ns});
    }
    s.verdict = name(first);
    s.severity = severity(first.ns, sum);
    return s;
  }
  return without_pattern(r, sum, std::move(s));
}

}  // namespace tta::pipeline
