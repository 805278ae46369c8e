// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/unfused_optimizer.cpp: an optimizer that updates parameter by
// parameter.
//
// torch wraps each step in Optimizer.step#<class>.step. If no operator or kernel in it
// is a fused or multi-tensor one, each parameter took several launches of its own. The
// cost is the device's idle time while the host made them and, where the host was
// ahead, the minimum time that this number of kernels takes even without work. Only
// from the first update on: the part before it (gathering parameters, making state) is
// needed by a fused optimizer too.
//
// Of a trace without device work, it is the time spent on calling these operators: the
// fused form makes one call for all parameters. Operators with real work are left out,
// though fused they would take fewer passes over memory.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/thread_time.h"
#include "timeline/cursor.h"

namespace tta::patterns {
namespace unfused_optimizer {
namespace {

enum : std::size_t {
  kMinShare,
  kMinOps,
  kSmallKernel,
  kEmptyKernel,
  kRealWork,
  kMaxPause
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{
        "min_ops", 20, "count",
        "small kernels, or updates on a CPU, of one step; the fused form launches "
        "one to four a group of parameters"},
    Threshold{"small_kernel", 10, "us", "nsys-ai: under 10 µs a launch costs more"},
    Threshold{"empty_kernel", 1.5, "us",
              "a kernel without work takes 1.5-2.5 µs on every device seen"},
    Threshold{
        "real_work", 10, "us",
        "calling an operator on a CPU takes 1-5 µs; one that works for longer has "
        "tens of thousands of elements"},
    Threshold{"max_pause", 200, "us",
              "Python between two updates takes less; longer is other work"},
};

using trace::Category;

enum : std::uint8_t { kSingleTensor, kManyKernels };

// torch's own optimizers that have a form for many tensors (foreach, most also fused).
constexpr std::array<std::string_view, 12> kWithForeach = {
    "SGD",    "Adam",  "AdamW", "Adagrad", "RMSprop", "Adadelta",
    "Adamax", "NAdam", "RAdam", "Rprop",   "ASGD",    "Adafactor"};

std::uint8_t subtype_of(std::string_view name) {
  name.remove_prefix(std::string_view("Optimizer.step#").size());
  name = name.substr(0, name.find('.'));
  const auto end = kWithForeach.end();
  return std::find(kWithForeach.begin(), end, name) != end ? kSingleTensor
                                                           : kManyKernels;
}

// What a step did, from its first update to its last.
struct Step {
  Interval updates;
  std::size_t count = 0;  // of updates
  bool many = false;      // some operator takes many tensors at once
};

Step look_into(const timeline::Timeline& t, const timeline::Span& span) {
  const auto& c = t.columns();
  Step out;
  std::int64_t done = span.begin;
  const timeline::Cursor thread(t, t.lanes.lane[span.row]);
  for (const auto row : thread.in({span.begin, span.end})) {
    if (c.cat(row) != Category::kCpuOp) continue;
    out.many |= t.named(row, Name::kManyTensors) && !t.named(row, Name::kOptimizer);
    if (!t.named(row, Name::kUpdate) || c.ts[row] < done) continue;
    if (out.count++ == 0) out.updates.begin = c.ts[row];
    out.updates.end = done = std::min(c.end(row), span.end);
  }
  return out;
}

// Steps of optimizers, without those around another optimizer's step: a wrapper is
// judged by the inner steps. Steps of one thread do not overlap.
std::vector<timeline::Span> innermost_steps(const timeline::Timeline& t) {
  std::vector<timeline::Span> out;
  std::map<std::uint32_t, timeline::Span> last;  // of each thread
  for (const auto& span : t.spans.optimizer) {
    if (!t.trace->name(span.row).starts_with("Optimizer.step#")) continue;
    const auto [it, first] = last.try_emplace(t.lanes.lane[span.row], span);
    if (first) continue;
    if (it->second.end <= span.begin) out.push_back(it->second);
    it->second = span;
  }
  for (const auto& [lane, span] : last) out.push_back(span);
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  if (t.spans.optimizer.empty()) return {};
  const auto& launched = launched_work(context);
  std::vector<Mark> marks, sites;
  std::vector<Excess> excess;
  for (const auto& span : innermost_steps(t)) {
    const auto lane = t.lanes.lane[span.row];
    const auto step = look_into(t, span);
    if (step.count == 0 || step.many) continue;
    const auto subtype = subtype_of(t.trace->name(span.row));
    if (t.host) {
      // Without kernels only torch's own are known to have a form for many tensors.
      if (subtype != kSingleTensor ||
          static_cast<double>(step.count) <= context.limits[kMinOps]) {
        continue;
      }
      for (const auto& part :
           calling_time(t, lane, step.updates, context.limits.ns(kRealWork),
                        context.limits.ns(kMaxPause))) {
        marks.push_back({part, span.row, subtype});
      }
      continue;
    }
    std::vector<Excess> small;
    std::vector<Mark> starts;
    bool many = false;
    for (const auto& work : launched.in(lane, step.updates)) {
      if (c.cat(work.row) != Category::kKernel) continue;
      many |= t.named(work.row, Name::kManyTensors);
      const auto empty =
          static_cast<double>(context.limits.ns(kEmptyKernel)) /
          static_cast<double>(std::max<std::int64_t>(1, c.dur[work.row]));
      // Its work is still to be done, as part of another.
      starts.push_back({{}, span.row, subtype, work.row, std::min(empty, 0.999)});
      if (c.dur[work.row] >= context.limits.ns(kSmallKernel)) continue;
      small.push_back({work.device, work.row, std::min(1.0, empty), span.row, subtype});
    }
    if (many || static_cast<double>(small.size()) <= context.limits[kMinOps]) continue;
    marks.push_back({step.updates, span.row, subtype});
    excess.insert(excess.end(), small.begin(), small.end());
    sites.insert(sites.end(), starts.begin(), starts.end());
  }
  sites.insert(sites.end(), marks.begin(), marks.end());
  auto claims = claim_marks(context, PatternId::kUnfusedOptimizer, std::move(marks));
  note_sites(context, PatternId::kUnfusedOptimizer, std::move(sites));
  const auto busy =
      claim_rows(context, PatternId::kUnfusedOptimizer, std::move(excess));
  claims.insert(claims.end(), busy.begin(), busy.end());
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto name = t.trace->name(f.events.front());
  std::string text = count_text(f.count, "step", "steps") + " (" + std::string(name) +
                     ") updated the parameters one by one: ";
  if (t.host)
    return text + "calling the operators took " + duration_text(f.wasted_ns) + ".";
  return text + devices_text(f, false) + " idled " + duration_text(f.idle_ns) +
         " meanwhile, and small kernels took up to " +
         duration_text(f.wasted_ns - f.idle_ns) + " beyond their work.";
}

// On a CPU the form for many tensors calls as many operators as the one for each
// (AdamW: 1,268 a step against 1,178, benchmarks/pairs).
std::string advise(const Context& context, const Finding&) {
  if (!context.timeline.host) {
    return std::string(info(PatternId::kUnfusedOptimizer).advice);
  }
  return "Build the optimizer with fused=True, which Adam, AdamW, SGD and Adagrad have "
         "for a CPU too; foreach=True calls as many operators there as before.";
}

}  // namespace
}  // namespace unfused_optimizer

const Rule kUnfusedOptimizerRule{
    PatternId::kUnfusedOptimizer, unfused_optimizer::kThresholds,
    unfused_optimizer::propose, unfused_optimizer::describe, unfused_optimizer::advise};

}  // namespace tta::patterns
