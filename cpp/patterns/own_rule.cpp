// SPDX-License-Identifier: BSD-3-Clause
// patterns/own_rule.cpp: cuts what own rules ask for to what there is.
#include "patterns/own_rule.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "patterns/marks.h"
#include "trace/printable.h"

namespace tta::patterns {
namespace {

struct OnDevice {
  std::vector<const Request*> idle, busy;
};

// By position of the device in Timeline::devices.
std::map<std::size_t, OnDevice> by_device(const timeline::Timeline& t,
                                          const std::vector<Request>& requests) {
  std::map<std::size_t, OnDevice> out;
  for (const auto& request : requests) {
    if (!request.device) continue;
    const auto it = std::lower_bound(
        t.devices.begin(), t.devices.end(), *request.device,
        [](const timeline::DeviceTime& d, std::int32_t n) { return d.device < n; });
    if (it == t.devices.end() || it->device != *request.device) {
      throw std::invalid_argument("time of device " + std::to_string(*request.device) +
                                  ", which did no work, is claimed");
    }
    auto& of_device = out[static_cast<std::size_t>(it - t.devices.begin())];
    (request.busy ? of_device.busy : of_device.idle).push_back(&request);
  }
  return out;
}

// Gives each request what of `left` is in it, earlier ones first.
void give(PatternId pattern, std::int32_t device, const IntervalSet& left,
          std::vector<const Request*> requests, std::vector<Claim>& claims) {
  std::stable_sort(
      requests.begin(), requests.end(),
      [](const Request* a, const Request* b) { return a->begin < b->begin; });
  auto reached = trace::kNoTime;
  for (const auto* request : requests) {
    const Interval wanted{std::max(request->begin, reached), request->end};
    if (wanted.begin >= wanted.end) continue;
    for (const auto& part : timeline::clip(left, wanted)) {
      claims.push_back({pattern, 0, !request->busy, device, part.begin, part.end,
                        request->evidence});
    }
    reached = wanted.end;
  }
}

}  // namespace

std::int64_t cost_of(const std::vector<Claim>& claims) {
  std::int64_t sum = 0;
  for (const auto& claim : claims) sum += claim.end - claim.begin;
  return sum;
}

std::vector<Claim> grant(const Context& context, PatternId pattern,
                         const std::vector<Request>& requests) {
  const auto& t = context.timeline;
  std::vector<Mark> marks;
  for (const auto& request : requests) {
    if (request.evidence >= t.columns().size()) {
      throw std::invalid_argument("row " + std::to_string(request.evidence) +
                                  ", which is not in the trace, is claimed with");
    }
    if (request.device) continue;
    // Cut first: a user's numbers may be of any size.
    const auto time = timeline::intersect({request.begin, request.end}, t.span);
    if (time.length() > 0) marks.push_back({time, request.evidence});
  }
  auto claims = claim_marks(context, pattern, std::move(marks));
  std::map<std::int32_t, std::vector<Interval>> marked;
  for (const auto& claim : claims)
    marked[claim.device].push_back({claim.begin, claim.end});
  for (auto& [index, asked] : by_device(t, requests)) {
    const auto device = t.devices[index].device;
    const auto idle = timeline::subtract(context.ledger.idle(index, t.span),
                                         timeline::unite(std::move(marked[device])));
    give(pattern, device, idle, std::move(asked.idle), claims);
    give(pattern, device, context.ledger.busy(index, t.span), std::move(asked.busy),
         claims);
  }
  return claims;
}

std::vector<Claim> run(const OwnRule& rule, const Context& context,
                       OwnOutcome& outcome) {
  const auto& t = context.timeline;
  const auto requests = rule.propose(context);
  const auto claims = grant(context, outcome.pattern, requests);
  // The same of a ledger from which nothing was taken.
  const Ledger whole(t);
  const auto all = grant({t, context.args, whole, context.limits, context.facts},
                         outcome.pattern, requests);
  outcome.requests = requests.size();
  for (const auto& request : requests)
    outcome.asked_ns +=
        timeline::intersect({request.begin, request.end}, t.span).length();
  outcome.claimed_ns = cost_of(claims);
  outcome.taken_ns = std::max<std::int64_t>(0, cost_of(all) - outcome.claimed_ns);
  return claims;
}

std::string describe_own(const Context& context, const Finding& f) {
  const auto name = trace::printable(context.timeline.trace->name(f.events.front()));
  const auto who =
      context.timeline.host ? std::string("the program") : devices_text(f, false);
  const auto lost = f.wasted_ns - f.idle_ns;
  std::string how = " lost " + duration_text(f.wasted_ns);
  if (!context.timeline.host && lost == 0) {
    how = " idled " + duration_text(f.idle_ns);
  } else if (!context.timeline.host && f.idle_ns > 0) {
    how += ", " + duration_text(f.idle_ns) + " of it idle";
  }
  return count_text(f.count, "event, ", "events such as ") + name + ": " + who + how +
         " to it.";
}

}  // namespace tta::patterns
