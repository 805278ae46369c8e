// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/step_outlier.cpp: single steps far longer than the others, for no
// reason that another rule found.
//
// A step counts as far as it has more unexplained idle time than a usual one has, and
// no further than it is longer. The first step is never one: what it does once is
// recompile_or_lazy_load.
//
// Single runs of a kernel may be far longer too, where nearly all others on the same
// inputs take the same time: what the device lost to something outside the program
// (clocks taken back, another process). Only long kernels tell: of short ones, what the
// caches hold makes as much of a difference.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "patterns/device_work.h"
#include "patterns/warm_up.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace step_outlier {
namespace {

enum : std::size_t {
  kMinShare,
  kMinSteps,
  kDeviations,
  kMinExcess,
  kMinRuns,
  kMinKernel,
  kEvenShare,
  kEvenRange
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_steps", 5, "count",
              "without the first: fewer steps have no usual length"},
    Threshold{"deviations", 4.45, "count",
              "median absolute deviations over the median: of normally spread lengths, "
              "3 standard deviations, as SageMaker takes"},
    Threshold{"min_excess", 0.25, "share",
              "of the median: steps of equal length deviate by almost nothing"},
    Threshold{"min_runs", 5, "count",
              "of equal kernels, without the first: as with steps"},
    Threshold{
        "min_kernel", 1000, "us",
        "chosen: clocks change over milliseconds; shorter kernels differ with the "
        "contents of caches"},
    Threshold{
        "even_share", 0.75, "share",
        "chosen: of equal kernels; if more differ, their inputs' values are the cause"},
    Threshold{"even_range", 0.1, "share",
              "of the median: eight of ten equal attentions in a public MI300 trace "
              "are within 4 %"},
};

enum : std::uint8_t { kStep, kKernel };

// Unclaimed idle time of a device in a step; in a CPU-only trace, of a process outside
// its operators.
IntervalSet left_in(const Context& context, std::size_t device, Interval step) {
  const auto& t = context.timeline;
  auto left = context.ledger.idle(device, step);
  if (t.host) {
    left = timeline::subtract(left, timeline::clip(t.host[device].busy, step));
  }
  return left;
}

void claim_steps(const Context& context, std::size_t device, std::int32_t number,
                 const std::vector<timeline::Span>& steps, std::vector<Claim>& claims) {
  const auto& limits = context.limits;
  if (static_cast<double>(steps.size()) < limits[kMinSteps] + 1) return;
  std::vector<std::int64_t> lengths, deviations, idle;
  std::vector<IntervalSet> left;
  auto reached = steps.front().end;  // steps may overlap in a damaged file
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Interval time{std::max(reached, steps[i].begin), steps[i].end};
    reached = std::max(reached, steps[i].end);
    lengths.push_back(steps[i].end - steps[i].begin);
    left.push_back(left_in(context, device, time));
    idle.push_back(timeline::total(left.back()));
  }
  const auto usual = timeline::upper_median(lengths);
  for (const auto length : lengths) deviations.push_back(std::abs(length - usual));
  const auto spread = static_cast<double>(timeline::upper_median(deviations));
  const auto bound = static_cast<double>(usual) +
                     std::max(limits[kDeviations] * spread,
                              limits[kMinExcess] * static_cast<double>(usual));
  const auto usual_idle = timeline::upper_median(idle);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (static_cast<double>(lengths[i]) <= bound) continue;
    auto excess = std::min(idle[i] - usual_idle, lengths[i] - usual);
    // The longest stretches are what a usual step does not have.
    auto& parts = left[i];
    std::stable_sort(
        parts.begin(), parts.end(),
        [](const Interval& a, const Interval& b) { return a.length() > b.length(); });
    for (const auto& part : parts) {
      if (excess <= 0) break;
      const auto end = std::min(part.end, part.begin + excess);
      excess -= end - part.begin;
      claims.push_back({PatternId::kStepOutlier, kStep, !context.timeline.host, number,
                        part.begin, end, steps[i + 1].row});
    }
  }
}

struct UnevenLimits {
  std::size_t min_runs = 0;     // Of equal ones, the first not counted.
  std::int64_t min_kernel = 0;  // Their median, in nanoseconds.
  double even_share = 0;        // This share has to be close to the median ......
  double even_range = 0;        // ... no further from it than this share of it.
  double min_excess = 0;        // A run is uneven from this share over it.
};

struct UnevenKernel {
  std::size_t device = 0;  // Position in Timeline::devices.
  std::uint32_t row = 0;
  std::int64_t usual_ns = 0;  // Median of the equal ones.
};

// What an operator took, as one number: its name, sizes and types (FNV-1a); 0 if it has
// no sizes.
std::uint64_t inputs_of(const Context& context, std::uint32_t op) {
  const auto* args = context.args.op(op);
  if (args == nullptr) return 0;
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  bool sized = false;
  add(context.timeline.columns().name[op]);
  for (const auto& input : args->dims) {
    add(input.size());
    for (const auto size : input) add(static_cast<std::uint64_t>(size));
    sized |= !input.empty();
  }
  for (const auto& type : args->types) add(std::hash<std::string>{}(type));
  return sized ? std::max<std::uint64_t>(hash, 1) : 0;
}

struct Runs {
  std::vector<std::uint32_t> kernels;
  std::uint32_t op = kNoRow;  // of the last of them
  bool parts = false;         // an operator launched several: each has its own length
};

void compare(const trace::Columns& c, std::size_t device,
             const std::vector<std::uint32_t>& runs, const UnevenLimits& limits,
             std::vector<UnevenKernel>& out) {
  // The first run is left out, and one alone has nothing to be compared with.
  if (runs.size() < std::max<std::size_t>(2, limits.min_runs + 1)) return;
  std::vector<std::int64_t> lengths;
  for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
    lengths.push_back(c.dur[*run]);
  }
  const auto usual = timeline::lower_median(lengths);
  const auto over = [&](std::int64_t length) {
    return static_cast<double>(length - usual) / static_cast<double>(usual);
  };
  if (usual <= 0 || usual < limits.min_kernel) return;
  const auto even = std::count_if(lengths.begin(), lengths.end(), [&](auto length) {
    return std::abs(over(length)) <= limits.even_range;
  });
  if (static_cast<double>(even) <
      limits.even_share * static_cast<double>(lengths.size())) {
    return;
  }
  for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
    if (over(c.dur[*run]) >= limits.min_excess) {
      out.push_back({device, *run, usual});
    }
  }
}

// Single runs of a kernel that took far longer than all its others on the same inputs.
//
// Lists them by device and start. Equal are kernels of one name and grid that ran for
// operators of one name with inputs of the same sizes and types; without these
// (record_shapes=False) none are, as a name and a grid fit many sizes. Only kernels
// that ran alone, for 99 % of their time, are looked at. The first of equal ones is
// left out, it may have had to load. O(n log n) in the device rows.
std::vector<UnevenKernel> uneven_kernels(const Context& context,
                                         const UnevenLimits& limits) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<UnevenKernel> out;
  std::unordered_map<std::uint32_t, std::uint64_t> inputs;  // of each operator
  auto& sole = sole_kernels(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    std::map<std::tuple<std::uint32_t, std::int64_t, std::uint64_t>, Runs> equal;
    for (const auto& kernel : sole.of(i)) {
      // Beside other work a kernel is slower, and not for a reason of its own. (Ends
      // and begins of kernels in a row may overlap by some ns.)
      if (kernel.time.length() < c.dur[kernel.row] / 100 * 99) continue;
      const auto op = t.owner_of(kernel.row);
      if (op == kNoRow) continue;
      const auto [known, fresh] = inputs.try_emplace(op);
      if (fresh) known->second = inputs_of(context, op);
      if (known->second == 0) continue;
      auto& runs = equal[{c.name[kernel.row], context.args.work(kernel.row).grid_shape,
                          known->second}];
      runs.parts |= runs.op == op;
      runs.op = op;
      runs.kernels.push_back(kernel.row);
    }
    for (const auto& [what, runs] : equal) {
      if (!runs.parts) compare(c, i, runs.kernels, limits, out);
    }
  }
  std::sort(out.begin(), out.end(), [&](const UnevenKernel& a, const UnevenKernel& b) {
    return std::tuple(a.device, c.ts[a.row], a.row) <
           std::tuple(b.device, c.ts[b.row], b.row);
  });
  return out;
}

void claim_kernels(const Context& context, std::vector<Claim>& claims) {
  const auto& limits = context.limits;
  const auto& c = context.timeline.columns();
  std::vector<Excess> excess;
  for (const auto& kernel : uneven_kernels(
           context, {static_cast<std::size_t>(limits[kMinRuns]), limits.ns(kMinKernel),
                     limits[kEvenShare], limits[kEvenRange], limits[kMinExcess]})) {
    const auto length = static_cast<double>(c.dur[kernel.row]);
    excess.push_back({static_cast<std::uint32_t>(kernel.device), kernel.row,
                      1 - static_cast<double>(kernel.usual_ns) / length, kernel.row,
                      kKernel});
  }
  const auto more = claim_rows(context, PatternId::kStepOutlier, std::move(excess));
  claims.insert(claims.end(), more.begin(), more.end());
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto steps = steps_by_process(t);
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    const auto own = steps.find(t.host[i].pid);
    if (own != steps.end()) claim_steps(context, i, -1, own->second, claims);
  }
  for (const auto i : fed_devices(t)) {
    const auto own = steps.find(t.devices[i].pid);
    if (own == steps.end()) continue;
    claim_steps(context, i, t.devices[i].device, own->second, claims);
  }
  claim_kernels(context, claims);
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  if (f.subtype == kKernel) {
    const auto longest = t.columns().dur[row];
    return count_text(f.count, "kernel", "kernels") + " ran " +
           duration_text(f.wasted_ns) +
           " longer than nearly all others of the same name on inputs of the same "
           "sizes (the longest " +
           duration_text(longest) + ").";
  }
  // The usual length is that of the step's process, as in claim_steps.
  const auto by_process = steps_by_process(t);
  const auto& steps = by_process.at(t.columns().pid[row]);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    lengths.push_back(steps[i].end - steps[i].begin);
  }
  return count_text(f.count, "step was", "steps were") + " far longer than the usual " +
         duration_text(timeline::upper_median(lengths)) + " (" +
         std::string(t.trace->name(row)) + ": " + duration_text(t.columns().dur[row]) +
         "): " + duration_text(f.wasted_ns) +
         (t.devices.empty() ? " outside any operator" : " of idle time") +
         " that nothing else explains.";
}

std::string advise(const Context&, const Finding& f) {
  if (f.subtype == kStep) return std::string(info(PatternId::kStepOutlier).advice);
  return "Check the device's clocks under load (power or temperature limits), other "
         "processes on it, and inputs whose values make the kernel "
         "longer.";
}

}  // namespace
}  // namespace step_outlier

const Rule kStepOutlierRule{PatternId::kStepOutlier, step_outlier::kThresholds,
                            step_outlier::propose, step_outlier::describe,
                            step_outlier::advise};

}  // namespace tta::patterns
