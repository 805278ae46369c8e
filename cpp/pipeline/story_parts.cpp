// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story_parts.cpp: what all stages count with, and which side is the limit.
#include "pipeline/story_parts.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "pipeline/sides.h"

namespace tta::pipeline {
namespace {

// A device idle for less than this is the limit, whatever the host does meanwhile.
constexpr double kHardlyIdle = 0.05;
// Two sides that would each need less than this share of the span wait in turns.
constexpr double kInTurns = 0.85;

}  // namespace

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Stage unknown(Stage stage, std::string why) {
  stage.known = false;
  stage.answer = std::move(why);
  return stage;
}

Totals add_up(const Report& r) {
  Totals sum;
  sum.devices = r.timeline->devices.size();
  sum.idle.assign(r.patterns.size(), 0);
  for (const auto& row : r.balance) {
    sum.span_ns += row.span_ns;
    sum.busy_ns += row.busy_ns;
    sum.unattributed_ns += row.unattributed_ns;
    for (std::size_t i = 0; i < sum.idle.size(); ++i) sum.idle[i] += row.idle_ns[i];
  }
  sum.idle_ns = sum.span_ns - sum.busy_ns;
  return sum;
}

std::optional<patterns::Severity> severity(std::int64_t part, const Totals& of) {
  if (part <= 0) return std::nullopt;
  const auto lost = share(part, of.span_ns);
  return lost >= 0.10   ? patterns::Severity::kHigh
         : lost >= 0.03 ? patterns::Severity::kMedium
                        : patterns::Severity::kLow;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const auto percent = 100 * share(part, whole);
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (part < whole && percent >= 99.95) return ">99.9 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", percent);
  return text;
}

Stage limit_stage(const Report& r, const Totals& sum) {
  Stage s{"limit", "Which side is the limit, host or device?", "", "", true, {}, {}};
  if (r.quality.verdict != Verdict::kOk) {
    return unknown(s, "That is not said of a recording whose quality is degraded.");
  }
  const auto sides = measure_sides(*r.timeline);
  if (!sides) {
    return unknown(s,
                   "That cannot be said: the calls that launched most of the work "
                   "are not in the trace.");
  }
  const auto [span, device, host] = *sides;
  s.figures = {{"host", host},
               {"device", device},
               {"behind", std::max(host, device) - std::min(host, device)}};
  const auto needs = "Alone, the host needs " + share_text(host, span) +
                     " of the time and the device " + share_text(device, span) + ": ";
  const auto apart = share_text(std::abs(host - device), span);
  if (share(sum.idle_ns, span) < kHardlyIdle) {
    s.verdict = "device";
    s.answer = "The device, idle for only " + share_text(sum.idle_ns, span) +
               ". A faster host would gain next to nothing.";
  } else if (share(std::max(host, device), span) < kInTurns) {
    s.verdict = "turns";
    s.answer = "Neither. " + needs + "they wait for each other in turns.";
    s.severity = severity(sum.idle_ns, sum);
  } else if (host >= device) {
    s.verdict = "host";
    s.answer = "The host. " + needs +
               "faster kernels would gain little, the device has " + apart +
               " to spare.";
    s.severity = severity(host - device, sum);
  } else {
    s.verdict = "device";
    s.answer = "The device. " + needs + "the host has " + apart + " to spare.";
    s.severity = severity(sum.idle_ns, sum);
  }
  return s;
}

}  // namespace tta::pipeline
