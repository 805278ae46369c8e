// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story_parts.cpp: what all stages count with, and which side is the
// limit.
#include "pipeline/story/story_parts.h"

#include <algorithm>
#include <cstdlib>

#include "patterns/rule.h"
#include "pipeline/story/sides.h"

namespace tta::pipeline {
namespace {

// A device idle for less than this is the limit, whatever the host does meanwhile.
constexpr double kHardlyIdle = 0.05;
// Two sides that would each need less than this share of the span wait in turns.
constexpr double kInTurns = 0.85;
// Two sides whose needs differ by less of the span are the limit together: the critical
// path of two public traces (Qwen on an H100 and an MI300X) was the device's for 87 %
// where the host needed 0 and 6 % more than the device.
constexpr double kEven = 0.10;
// Fewer than this tell nothing of a program, only of its first moments.
constexpr std::size_t kFewOperations = 10;
constexpr std::int64_t kShortSpan = 100'000;
// Shares from which the profiler's time is reported, and from which too little is left.
constexpr double kProfilerSaid = 0.20;
constexpr double kProfilerRules = 0.90;
constexpr double kSilenceRules = 0.50;
// Recording stacks costs about a microsecond per Python call; this many per launch take
// longer than the launch itself.
constexpr double kManyFrames = 10;
constexpr std::size_t kNameWidth = 48;  // names of real kernels run to thousands

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

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
  return severity(share(part, of.span_ns));
}

std::optional<patterns::Severity> severity(double lost) {
  if (lost <= 0) return std::nullopt;
  return lost >= 0.10   ? patterns::Severity::kHigh
         : lost >= 0.03 ? patterns::Severity::kMedium
                        : patterns::Severity::kLow;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? patterns::share_text(share(part, whole)) : "-";
}

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

std::string too_little(const Report& r) {
  const auto& t = *r.timeline;
  if (t.devices.empty()) return "";
  std::size_t rows = 0;
  for (const auto& d : t.devices) rows += d.rows.size();
  if (rows >= kFewOperations && t.span.length() >= kShortSpan) return "";
  return "Too little is recorded to judge: " + std::to_string(rows) +
         (rows == 1 ? " device operation in " : " device operations in ") +
         patterns::duration_text(t.span.length()) + ".";
}

bool mostly_profiler(const Report& r, const Totals& sum) {
  std::int64_t idle = 0;
  for (const auto& part : r.profiler_idle) idle += timeline::total(part);
  return share(idle, sum.span_ns) > kProfilerRules;
}

std::string stacks_text(const Report& r) {
  const auto& t = *r.timeline;
  const auto& c = t.columns();
  std::size_t frames = 0;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    frames += c.cat(row) == trace::Category::kPythonFunction;
  }
  const auto launches = t.launch_calls.size();
  if (launches == 0 ||
      static_cast<double>(frames) <= kManyFrames * static_cast<double>(launches)) {
    return "";
  }
  return " (recorded with Python stacks, which slow the host: check without)";
}

Stage limit_stage(const Report& r, const Totals& sum) {
  Stage s{"limit", "Which side is the limit, host or device?", "", "", true, {}, {}};
  if (r.quality.verdict != Verdict::kOk) {
    return unknown(s, "Not answered: the quality of the recording is degraded.");
  }
  if (auto little = too_little(r); !little.empty()) return unknown(s, little);
  const auto sides = measure_sides(*r.timeline, r.profiler_idle);
  if (!sides) {
    return unknown(s,
                   "Undetermined: the calls that launched most of the work "
                   "are not in the trace.");
  }
  if (share(sides->profiler_ns, sides->all_ns) > kProfilerRules) {
    return unknown(s, "Undetermined: for " +
                          share_text(sides->profiler_ns, sides->all_ns) +
                          " of the time the profiler kept the device waiting.");
  }
  if (share(sides->unrecorded_ns, sides->all_ns) > kSilenceRules) {
    return unknown(s, "Undetermined: nothing is recorded of the host for " +
                          share_text(sides->unrecorded_ns, sides->all_ns) +
                          " of the time.");
  }
  if (share(sides->span_ns, sides->all_ns) < 1 - kProfilerRules) {
    return unknown(s,
                   "Undetermined: nearly all of the time is the profiler's, "
                   "without an event of the host, or of work queued before.");
  }
  const auto span = sides->span_ns, device = sides->device_ns, host = sides->host_ns;
  const auto idle = span - device;
  s.figures = {{"host", host},
               {"device", device},
               {"behind", std::max(host, device) - std::min(host, device)},
               {"counted", span}};
  const auto needs = "Alone, the host needs " + share_text(host, span) +
                     " of the time" +
                     (share(sides->profiler_ns, sides->all_ns) > kProfilerSaid
                          ? " outside the profiler"
                          : "") +
                     " and the device " + share_text(device, span) + ": ";
  const auto apart = share_text(std::abs(host - device), span);
  if (share(idle, span) < kHardlyIdle) {
    s.verdict = "device";
    s.answer = "The device, idle for only " + share_text(idle, span) +
               ". A faster host would gain almost nothing.";
  } else if (share(std::max(host, device), span) < kInTurns) {
    s.verdict = "turns";
    s.answer = "Neither. " + needs + "they wait for each other in turns.";
    s.severity = severity(idle, sum);
  } else if (share(std::abs(host - device), span) < kEven) {
    s.verdict = "both";
    s.answer = "Both. " + needs + "made faster, either soon waits for the other.";
    s.severity = severity(idle, sum);
  } else if (host >= device) {
    s.verdict = "host";
    s.answer = "The host. " + needs +
               "faster kernels would gain little, the device has " + apart +
               " to spare" + stacks_text(r) + ".";
    s.severity = severity(host - device, sum);
  } else {
    s.verdict = "device";
    s.answer = "The device. " + needs + "the host has " + apart + " to spare.";
    s.severity = severity(idle, sum);
  }
  return s;
}

}  // namespace tta::pipeline
