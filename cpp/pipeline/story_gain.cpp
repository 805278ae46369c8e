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
constexpr std::size_t kNameWidth = 48;  // names of real kernels run to thousands

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// As much of a text as fits, cut between characters of UTF-8.
std::string beginning(std::string_view text) {
  if (text.size() <= kNameWidth) return std::string(text);
  auto width = kNameWidth;
  while (width > 0 && continues(text[width])) --width;
  return std::string(text.substr(0, width)) + "...";
}

std::string end_of(std::string_view path) {
  if (path.size() <= kNameWidth) return std::string(path);
  auto at = path.size() - kNameWidth;
  while (at < path.size() && continues(path[at])) ++at;
  return "..." + std::string(path.substr(at));
}

struct Cost {
  std::int64_t idle_ns = 0, wasted_ns = 0;
  const patterns::Finding* worst = nullptr;  // the findings come worst first
};

std::map<patterns::PatternId, Cost> costs(const Report& r) {
  std::map<patterns::PatternId, Cost> out;
  for (const auto& f : r.findings) {
    auto& cost = out[f.pattern];
    cost.idle_ns += f.idle_ns;
    cost.wasted_ns += f.wasted_ns;
    if (cost.worst == nullptr) cost.worst = &f;
  }
  return out;
}

std::string place(const patterns::Finding& f) {
  if (f.location) {
    return ", most of it at " + end_of(f.location->file) + ":" +
           std::to_string(f.location->line);
  }
  return f.operator_name.empty() ? "" : ", most of it in " + beginning(f.operator_name);
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

}  // namespace

Stage gain_stage(const Report& r, const Totals& sum, const std::vector<Stage>& before) {
  Stage s{"gain", "What would matter most?", "", "", true, {}, {}};
  if (r.quality.verdict != Verdict::kOk) {
    return unknown(s, "That is not said of a recording whose quality is degraded.");
  }
  const bool host_limits =
      std::any_of(before.begin(), before.end(), [](const Stage& stage) {
        return stage.id == "limit" && stage.verdict == "host";
      });
  // Where the host is the limit, a device that wastes less only waits longer.
  const bool only_idle = host_limits && sum.devices > 0;
  std::vector<std::pair<std::int64_t, patterns::PatternId>> order;
  const auto cost = costs(r);
  for (const auto& [pattern, of] : cost) {
    order.emplace_back(only_idle ? of.idle_ns : of.wasted_ns, pattern);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto name = [&](patterns::PatternId id) {
    return std::string(r.patterns[id].name);
  };
  if (!order.empty() && share(order[0].first, sum.span_ns) >= kMatters) {
    const auto [ns, pattern] = order[0];
    s.figures = {{"at_most", ns}, {"at_most_" + name(pattern), ns}};
    s.answer = name(pattern) + ", up to " + duration_text(ns) + " (" +
               share_text(ns, sum.span_ns) + ")" + place(*cost.at(pattern).worst);
    if (order.size() > 1 && share(order[1].first, sum.span_ns) >= kMatters) {
      s.answer += "; then " + name(order[1].second) + " (" +
                  share_text(order[1].first, sum.span_ns) + ")";
      s.figures.push_back({"at_most_" + name(order[1].second), order[1].first});
    }
    s.answer += ".";
    if (sum.unattributed_ns > ns) {
      s.answer += " More passes for reasons that no rule knows (" +
                  share_text(sum.unattributed_ns, sum.span_ns) + ").";
      s.figures.push_back({"unattributed", sum.unattributed_ns});
    }
    s.verdict = name(pattern);
    s.severity = severity(ns, sum);
    return s;
  }
  const auto busy = share(sum.busy_ns, sum.span_ns);
  if (sum.devices > 0 && share(sum.unattributed_ns, sum.span_ns) < busy) {
    const auto [kernel, ns] = longest_kernel(*r.timeline);
    s.answer =
        "No pattern costs as much as 3 %; the work itself does. Its longest kernel "
        "takes " +
        share_text(ns, sum.busy_ns) +
        " of the busy time: " + beginning(r.timeline->trace->strings.view(kernel)) +
        ".";
    s.verdict = "kernels";
    s.figures = {{"longest_kernel", ns}};
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

}  // namespace tta::pipeline
