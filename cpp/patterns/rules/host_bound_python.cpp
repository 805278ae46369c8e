// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/host_bound_python.cpp: Python code of the program's own held it up.
//
// Between two operators a launching thread runs Python. A little of it before each is
// dispatch (launch_bound); a pause without anything else is work of the program itself:
// preprocessing, bookkeeping, libraries other than torch. Where Python frames were
// recorded they tell; of a thread without any, a pause between two operators is most
// likely that too (unrecorded_pauses), whether or not the trace can be replayed. A
// loader's time is the loader's, even where it is too little for a finding.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/frame_costs.h"
#include "patterns/marks.h"
#include "patterns/thread_time.h"

namespace tta::patterns {
namespace host_bound_python {
namespace {

enum : std::size_t { kMinShare, kMinPause, kDenseFrames };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.05, "share",
              "as launch_bound; and recording the frames itself slows Python down"},
    Threshold{"min_pause", 200, "us",
              "the max_pause of launch_bound: shorter pauses are dispatch"},
    Threshold{"dense_frames", 10, "count",
              "Python frames a launch (without a device: an operator): recording each "
              "takes about a microsecond, and this many double a launch's time"},
};

IntervalSet all_steps(const timeline::Timeline& t) {
  std::vector<Interval> steps;
  for (const auto& s : t.spans.steps) steps.push_back({s.begin, s.end});
  return timeline::unite(std::move(steps));
}

// When each thread was in its loader.
std::map<std::uint32_t, IntervalSet> loading_time(const timeline::Timeline& t) {
  std::map<std::uint32_t, std::vector<Interval>> times;
  for (const auto& mark : t.spans.loader) {
    times[t.lanes.lane[mark.row]].push_back({mark.begin, mark.end});
  }
  std::map<std::uint32_t, IntervalSet> out;
  for (auto& [lane, set] : times) out[lane] = timeline::unite(std::move(set));
  return out;
}

IntervalSet waiting_time(const timeline::Timeline& t, std::uint32_t lane) {
  std::vector<Interval> out;
  for (const auto& thread : t.waits) {
    if (thread.lane != lane) continue;
    for (const auto& w : thread.waits) out.push_back({w.begin, w.end});
  }
  return timeline::unite(std::move(out));
}

std::vector<Mark> with_frames(const timeline::Timeline& t, std::uint32_t lane,
                              std::int64_t min_pause) {
  std::vector<Mark> out;
  for (const auto& stretch : python_self_time(t, lane, min_pause)) {
    out.push_back({stretch.time, stretch.frame, kRecorded});
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto steps = all_steps(t);
  auto last_launch = t.span.begin;
  t.each_launched([&](auto, auto launch) {
    last_launch = std::max(last_launch, t.columns().ts[launch]);
  });
  const auto lanes = working_lanes(t);
  const auto loading = loading_time(t);
  std::vector<Mark> marks;
  for (const auto lane : lanes) {
    const auto loader = loading.find(lane);
    const auto& apart = loader == loading.end() ? IntervalSet{} : loader->second;
    auto found = with_frames(t, lane, context.limits.ns(kMinPause));
    if (!t.host) {
      for (const auto& mark : unrecorded_pauses(t, lane, waiting_time(t, lane), lanes))
        found.push_back(mark);
    }
    for (const auto& mark : found) {
      auto parts = timeline::subtract({mark.time}, timeline::clip(apart, mark.time));
      if (const auto* process = t.host.of(t.lanes.lanes[lane].pid)) {
        parts = timeline::subtract(parts, timeline::clip(process->busy, mark.time));
      } else if (mark.time.end > last_launch) {
        // After the last launch nothing waits, unless the step goes on.
        auto open = timeline::clip(steps, mark.time);
        if (mark.time.begin < last_launch) {
          open.push_back({mark.time.begin, last_launch});
        }
        const auto waited_for = timeline::unite(std::move(open));
        parts = timeline::subtract(parts, timeline::subtract(parts, waited_for));
      }
      for (const auto& part : parts) marks.push_back({part, mark.row, mark.subtype});
    }
  }
  // Of shorter pauses those before launches that launch_bound left.
  const auto usual_ns = [](const Threshold& of) {
    return static_cast<std::int64_t>(of.value * 1e3);
  };
  const auto late = late_dispatch(
      context, {context.limits.ns(kMinPause), usual_ns(kSlowCallThreshold),
                usual_ns(kSlowLaunchThreshold), usual_ns(kMaxLatencyThreshold)});
  const auto before_launches = python_in_gaps(t, late);
  marks.insert(marks.end(), before_launches.begin(), before_launches.end());
  return claim_marks(context, PatternId::kHostBoundPython, std::move(marks), true);
}

std::vector<PythonStretch> stretches_of(const Finding& f) {
  std::vector<PythonStretch> out;
  for (const auto& claim : f.claims)
    out.push_back({{claim.begin, claim.end}, claim.evidence});
  return out;
}

bool has_operators(const timeline::Timeline& t, std::uint32_t lane) {
  return std::ranges::any_of(t.lanes.rows_of(lane), [&](auto row) {
    return t.columns().cat(row) == trace::Category::kCpuOp;
  });
}

// Whether recording the frames itself took significant time.
bool records_densely(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::size_t frames = 0, work = 0;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    frames += c.cat(row) == trace::Category::kPythonFunction;
    work += t.host ? c.cat(row) == trace::Category::kCpuOp
                   : t.lanes.on_stream(row) && t.launch_of(row) != kNoRow;
  }
  return static_cast<double>(frames) >
         context.limits[kDenseFrames] * static_cast<double>(work);
}

// Names the call that cost most, and, if different, the deepest function that most of
// the cost went through: the line of a whole program's frame is not a useful place.
std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  if (f.subtype == kUnrecorded) {
    return devices_text(f) + " idled " + duration_text(f.wasted_ns) +
           " because the launching thread ran nothing recorded, " +
           count_text(f.count, "time", "times") +
           (has_operators(t, t.lanes.lane[f.events.front()])
                ? " between two operators: most likely the program's Python code."
                : " between two calls: Python code, or operators, of which none is "
                  "recorded.");
  }
  const auto stretches = stretches_of(f);
  const auto call = costliest_call(context, stretches);
  const auto deepest = deepest_of_most(t, stretches, f.wasted_ns, false);
  const auto text = [&](const FrameCost& cost, const char* where) {
    return ", " + duration_text(cost.ns) + " of it " + where + " " +
           std::string(t.trace->name(cost.row));
  };
  auto out = t.host ? "No operator ran for " : devices_text(f) + " idled ";
  out += duration_text(f.wasted_ns) + " while only Python ran";
  if (call) out += text(*call, "in");
  if (deepest && (!call || t.trace->name(deepest->row) != t.trace->name(call->row))) {
    out += text(*deepest, call && deepest->ns > call->ns ? "below" : "in");
  }
  out += ".";
  if (records_densely(context)) {
    out += " Part of it is the recording of Python frames (with_stack) itself.";
  }
  return out;
}

// Tells whether a frame is the code around the kernels that torch.compile made, or
// runs below it.
bool is_compiled(const timeline::Timeline& t, std::uint32_t row) {
  const auto compiled = t.tree.innermost(row, [&](auto at) {
    return t.named(at, Name::kInductorCode) || t.named(at, Name::kRegion) ||
           t.named(at, Name::kGraphCall);
  });
  return compiled != kNoRow;
}

std::string advise(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  if (f.subtype == kUnrecorded) {
    return std::string(info(f.pattern).advice) +
           " To find the code, record with with_stack=True.";
  }
  const auto call = costliest_call(context, stretches_of(f));
  if (call && is_compiled(t, call->row)) {
    return "Let a CUDA graph replay the kernels "
           "(torch.compile(mode=\"reduce-overhead\"))"
           ", or leave out the checks of sizes (torch._inductor.config.size_asserts = "
           "False): torch.compile generated this Python code.";
  }
  return std::string(info(f.pattern).advice);
}

}  // namespace
}  // namespace host_bound_python

const Rule kHostBoundPythonRule{
    PatternId::kHostBoundPython, host_bound_python::kThresholds,
    host_bound_python::propose, host_bound_python::describe, host_bound_python::advise};

}  // namespace tta::patterns
