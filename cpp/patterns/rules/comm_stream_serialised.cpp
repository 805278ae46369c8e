// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_stream_serialised.cpp: the backward pass waits for gradients that
// only the optimizer needs.
//
// A trace does not say which kernel needs which result, with one exception: what is
// launched under AccumulateGrad (a hook on a parameter's gradient, as DDP's and many a
// hand-written one) reduces a finished gradient, and the rest of the backward pass
// needs none of these. If a kernel of that rest was launched already, and started only
// when the collective had ended, then the same stream or a wait for an event held it
// back: waiting for the collective inside the hook does that.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/communication.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace comm_stream_serialised {
namespace {

enum : std::size_t { kMinShare, kMaxLatency };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"max_latency", 50, "us",
              "work held by a stream or an event starts 1-10 µs after; later work "
              "waited for something else"},
};

using trace::Category;

enum class Role : std::uint8_t { kOther, kGradient, kBackward };

// What a launch is to the backward pass, by the outermost autograd range around it.
Role role_of(const timeline::Timeline& t, std::uint32_t launch) {
  const auto node = t.tree.outermost(launch, [&](auto at) {
    return t.columns().cat(at) == Category::kCpuOp && t.named(at, Name::kAutogradNode);
  });
  return node == kNoRow                              ? Role::kOther
         : t.named(node, Name::kAccumulatesGradient) ? Role::kGradient
                                                     : Role::kBackward;
}

struct Launched {
  std::int64_t at;  // begin of the launch
  std::uint32_t launch, row;
};

// What one thread launched, each in order, and its waits of a stream for an event.
struct Thread {
  std::vector<Launched> reductions, backward;
  std::vector<std::int64_t> waits;
};

bool starts_before(const Launched& a, const Launched& b) { return a.at < b.at; }

std::map<std::uint32_t, Thread> threads_of(const timeline::Timeline& t,
                                           const timeline::DeviceTime& d) {
  const auto& c = t.columns();
  std::map<std::uint32_t, Thread> threads;
  for (const auto row : d.rows) {
    const auto launch = t.launch_of(row);
    if (launch == kNoRow) continue;
    const bool comm = t.is_communication(row);
    const auto role = role_of(t, launch);
    if (role != (comm ? Role::kGradient : Role::kBackward)) continue;
    auto& thread = threads[t.lanes.lane[launch]];
    (comm ? thread.reductions : thread.backward).push_back({c.ts[launch], launch, row});
  }
  for (auto& [lane, thread] : threads) {
    std::stable_sort(thread.backward.begin(), thread.backward.end(), starts_before);
    if (thread.reductions.empty()) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat_info(row).runtime_api && t.named(row, Name::kStreamWaitEvent)) {
        thread.waits.push_back(c.ts[row]);
      }
    }
  }
  return threads;
}

// When the held-back kernel of the backward pass was ready; -1 if none was held back.
std::int64_t held_since(const Context& context, const Thread& thread,
                        const Launched& reduction) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto next = std::upper_bound(thread.backward.begin(), thread.backward.end(),
                                     reduction, starts_before);
  if (next == thread.backward.end()) return -1;
  const auto end = c.end(reduction.row);
  const auto ready = c.end(next->launch);
  if (ready >= end || c.ts[next->row] < end ||
      c.ts[next->row] - end > context.limits.ns(kMaxLatency)) {
    return -1;
  }
  if (c.stream[next->row] != c.stream[reduction.row]) {
    const auto wait =
        std::upper_bound(thread.waits.begin(), thread.waits.end(), reduction.at);
    if (wait == thread.waits.end() || *wait > next->at) return -1;
  }
  return ready;
}

std::vector<Claim> on_device(const Context& context, std::size_t i) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& d = t.devices[i];
  std::vector<std::int64_t> collectives;  // their starts
  for (const auto row : d.rows) {
    if (t.is_communication(row)) collectives.push_back(c.ts[row]);
  }
  if (collectives.empty()) return {};
  const auto threads = threads_of(t, d);
  std::vector<Interval> backward;
  for (const auto& [lane, thread] : threads) {
    for (const auto& work : thread.backward) {
      backward.push_back({c.ts[work.row], c.end(work.row)});
    }
  }
  const timeline::SumUntil covered(timeline::unite(std::move(backward)));
  std::vector<Mark> held;
  for (const auto& [lane, thread] : threads) {
    for (const auto& reduction : thread.reductions) {
      const auto since = held_since(context, thread, reduction);
      if (since < 0) continue;
      const auto end = c.end(reduction.row);
      // No more can be hidden than there was to do up to the next collective.
      const auto next = std::lower_bound(collectives.begin(), collectives.end(), end);
      const auto until = next == collectives.end() ? t.span.end : *next;
      const auto beside = covered.in({end, until});
      held.push_back(
          {{std::max({since, c.ts[reduction.row], end - beside}), end}, reduction.row});
    }
  }
  return claim_exposed(context, PatternId::kCommStreamSerialised, i, std::move(held),
                       computation(t, d));
}

std::vector<Claim> propose(const Context& context) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < context.timeline.devices.size(); ++i) {
    const auto more = on_device(context, i);
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return "The backward pass stopped for " + duration_text(f.wasted_ns) + " behind " +
         count_text(f.count, "reduction", "reductions") +
         " of gradients that it does not need.";
}

}  // namespace
}  // namespace comm_stream_serialised

const Rule kCommStreamSerialisedRule{
    PatternId::kCommStreamSerialised, comm_stream_serialised::kThresholds,
    comm_stream_serialised::propose, comm_stream_serialised::describe};

}  // namespace tta::patterns
