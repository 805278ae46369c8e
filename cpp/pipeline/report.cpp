// SPDX-License-Identifier: BSD-3-Clause
// pipeline/report.cpp: records of what a report holds by number.
#include "pipeline/report.h"

#include <algorithm>
#include <map>

namespace tta::pipeline {
Basis basis_of(const Report& r, const patterns::Finding& f) {
  return f.estimate                    ? Basis::kEstimate
         : r.origin == Origin::kDryRun ? Basis::kSimulated
                                       : Basis::kMeasured;
}

std::string first_clause(std::string_view advice) {
  auto end = advice.size();
  for (const std::string_view stop : {": ", "; ", ", ", ". ", " ("}) {
    end = std::min(end, advice.find(stop));
  }
  if (end == advice.size() && advice.ends_with('.')) --end;
  return std::string(advice.substr(0, end));
}

namespace {

TimesByName by_pattern(const Report& r, const std::vector<std::int64_t>& ns) {
  TimesByName out;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    out.emplace_back(r.patterns.rows()[i].name, ns[i]);
  }
  return out;
}

TimesByName by_pattern(const Report& r, const std::vector<PatternTime>& times) {
  TimesByName out;
  for (const auto& time : times) {
    out.emplace_back(r.patterns[time.pattern].name, time.ns);
  }
  return out;
}

std::optional<std::int32_t> known_device(std::int32_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

void add_gain(const Report& r, const replay::Gain& gain, Finding& out) {
  const auto span = r.trace.end_ns - r.trace.start_ns;
  out.recoverable_ns = gain.middle;
  out.recoverable_low_ns = gain.low;
  out.recoverable_high_ns = gain.high;
  out.recoverable_fraction =
      span <= 0
          ? 0.0
          : std::min(1.0, static_cast<double>(gain.middle) / static_cast<double>(span));
}

Finding finding_of(const Report& r, const patterns::Finding& f,
                   const LineOfCall& line_of) {
  const auto& trace = *r.timeline->trace;
  const auto& info = r.patterns[f.pattern];
  Finding out;
  out.id = f.id;
  out.pattern = info.name;
  if (!info.subtypes.empty()) out.subtype = info.subtypes[f.subtype];
  out.side = info.side;
  out.severity = f.severity;
  out.count = f.count;
  out.waits = f.waits;
  out.wasted_ns = f.wasted_ns;
  out.basis = basis_of(r, f);
  out.idle_ns = f.idle_ns;
  if (f.gain) add_gain(r, *f.gain, out);
  // Of what claims no time, nothing is taken away.
  if (!f.claims.empty()) out.edit = patterns::info(info.fix).name;
  for (const auto id : f.shares) out.shares_gain_with.emplace_back(r.patterns[id].name);
  if (f.location) {
    out.location = location_of(*f.location);
    if (!out.location->line && line_of) {
      out.location->line = line_of(*out.location, f.calls, f.wasted_ns);
    }
  }
  out.operator_ = f.operator_name;
  out.message = f.message;
  out.advice = f.advice;
  out.windows = f.windows;
  for (const auto row : f.events) out.events.push_back(event_of(trace, row));
  for (const auto pid : f.pids) out.processes.push_back(*process_of(trace, pid));
  out.origin = r.origin;
  if (f.deepest) out.deepest = location_of(*f.deepest);
  out.docs = "docs/patterns/" + out.pattern + ".md";
  return out;
}

Balance balance_of(const Report& r, const StepBalance& row, const Process& pid) {
  Balance out;
  out.device = known_device(row.device);
  out.span_ns = row.span_ns;
  out.busy_ns = row.busy_ns;
  out.idle_ns = by_pattern(r, row.idle);
  out.unattributed_ns = row.unattributed_ns;
  out.excess_ns = by_pattern(r, row.excess);
  out.devices = row.devices;
  out.pid = pid;
  return out;
}

// The finding to which most idle time of a stretch is attributed.
std::optional<std::uint32_t> cause_of(const Report& r, std::int32_t device,
                                      timeline::Interval stretch) {
  std::optional<std::uint32_t> cause;
  std::int64_t most = 0;
  for (std::uint32_t i = 0; i < r.findings.size(); ++i) {
    std::int64_t part = 0;
    for (const auto& claim : r.findings[i].claims) {
      if (!claim.idle || claim.device != device) continue;
      part += timeline::intersect({claim.begin, claim.end}, stretch).length();
    }
    if (part > most) most = part, cause = i;
  }
  return cause;
}

}  // namespace

Process process_of(const trace::Trace& trace, std::int64_t id) {
  if (id == trace::kNoId) return std::nullopt;
  if (id < trace::kTextIdentity) return id;
  return trace.identity(id);
}

Location location_of(const timeline::Frame& frame) {
  Location out;
  out.file = frame.file;
  if (frame.line_of == LineOf::kCall) out.line = frame.line;
  out.function = frame.function;
  out.user = frame.user;
  out.recorded_line = frame.line;
  out.recorded_at = frame.line_of;
  return out;
}

std::vector<std::optional<Location>> locations_of(
    const std::vector<std::optional<timeline::Frame>>& frames) {
  std::vector<std::optional<Location>> out(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i]) out[i] = location_of(*frames[i]);
  }
  return out;
}

Event event_of(const trace::Trace& trace, std::uint32_t row) {
  return {row, std::string(trace.name(row)), trace.columns.ts[row],
          trace.columns.dur[row]};
}

std::vector<Finding> list_findings(const Report& r, const LineOfCall& line_of) {
  std::vector<Finding> out;
  for (const auto& f : r.findings) out.push_back(finding_of(r, f, line_of));
  return out;
}

std::vector<std::int64_t> occurrences(const Report& r, std::size_t finding) {
  std::vector<std::int64_t> out;
  std::map<std::uint32_t, std::size_t> place;
  for (const auto& claim : r.findings.at(finding).claims) {
    const auto [at, is_new] = place.emplace(claim.evidence, out.size());
    if (is_new) out.push_back(0);
    out[at->second] += claim.end - claim.begin;
  }
  return out;
}

std::vector<Balance> list_balance(const Report& r) {
  std::vector<Balance> out;
  for (std::size_t i = 0; i < r.balance.size(); ++i) {
    const auto& row = r.balance[i];
    Balance to;
    to.device = known_device(row.device);
    to.span_ns = row.span_ns;
    to.busy_ns = row.busy_ns;
    to.idle_ns = by_pattern(r, row.idle_ns);
    to.unattributed_ns = row.unattributed_ns;
    to.excess_ns = by_pattern(r, row.excess_ns);
    to.devices = to.device ? 1 : 0;
    to.delay_ns = row.delay_ns;
    to.pid = process_of(*r.timeline->trace, row.pid);
    if (to.device) {
      const auto pause = timeline::longest_pause(r.timeline->devices[i]);
      to.pause_start_ns = pause.begin;
      to.pause_end_ns = pause.end;
      to.pause_finding = cause_of(r, row.key, pause);
    }
    out.push_back(std::move(to));
  }
  return out;
}

std::vector<Step> list_steps(const Report& r, std::size_t most) {
  std::vector<Step> out;
  for (std::size_t i = 0; i < std::min(most, r.steps.size()); ++i) {
    const auto& row = r.steps[i];
    const auto pid = process_of(*r.timeline->trace, row.pid);
    out.push_back({row.number, row.begin_ns, row.end_ns, row.busy_ns, {}, pid});
    if (row.balance) out.back().balance = balance_of(r, *row.balance, pid);
  }
  return out;
}

std::vector<RuleOutcome> list_rules(const Report& r) {
  std::vector<RuleOutcome> out;
  for (const auto& row : r.own_rules) {
    out.push_back({std::string(r.patterns[row.pattern].name), row.requests,
                   row.asked_ns, row.claimed_ns, row.taken_ns, row.counted});
  }
  return out;
}

}  // namespace tta::pipeline
