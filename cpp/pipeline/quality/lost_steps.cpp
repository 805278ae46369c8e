// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/lost_steps.cpp: compares the profiler's steps with each other.
//
// Buffers that overflow, and records dropped at the start because their clocks were
// not yet in range, empty whole steps; over a long trace that is too little for the
// share of launches without work.
#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/quality/signs.h"
#include "timeline/median.h"
#include "timeline/sort_runs.h"

namespace tta::pipeline {
namespace {

// Launches of a step from which on a comparison means something.
constexpr std::uint64_t kEnough = 20;

using Mark = std::pair<std::int64_t, std::int64_t>;  // process, start

struct StepCounts {
  std::int64_t number = 0;
  std::uint64_t operators = 0;
  std::uint64_t launches = 0;
  std::uint64_t without_work = 0;
  bool busy = false;  // any device worked meanwhile

  std::uint64_t with_work() const { return launches - without_work; }
};

// Sorted starts of a process's events, to be counted within a step.
class Starts {
 public:
  void push(std::int64_t pid, std::int64_t ts) { marks_.emplace_back(pid, ts); }
  void sort() { timeline::sort_runs(marks_); }
  std::uint64_t count(std::int64_t pid, const timeline::Span& in) const {
    const auto at = [&](std::int64_t ts) {
      return std::lower_bound(marks_.begin(), marks_.end(), Mark{pid, ts});
    };
    return static_cast<std::uint64_t>(at(in.end) - at(in.begin));
  }

 private:
  std::vector<Mark> marks_;
};

bool meets(const timeline::IntervalSet& busy, const timeline::Span& step) {
  const auto it = std::upper_bound(
      busy.begin(), busy.end(), step.begin,
      [](std::int64_t at, const timeline::Interval& b) { return at < b.end; });
  return it != busy.end() && it->begin < step.end;
}

std::vector<StepCounts> measure(const timeline::Timeline& t) {
  const auto& c = t.columns();
  Starts operators, launches, without_work;
  for (const auto row : t.lanes.rows) {
    if (c.cat(row) == trace::Category::kCpuOp) operators.push(c.pid[row], c.ts[row]);
  }
  for (const auto& call : t.launch_calls) {
    launches.push(c.pid[call.row], c.ts[call.row]);
    if (call.work == 0) without_work.push(c.pid[call.row], c.ts[call.row]);
  }
  for (auto* starts : {&operators, &launches, &without_work}) starts->sort();
  std::vector<timeline::Interval> work;
  for (const auto& d : t.devices) work.insert(work.end(), d.busy.begin(), d.busy.end());
  const auto busy = timeline::unite(std::move(work));
  std::vector<StepCounts> steps;
  for (const auto& span : t.spans.steps) {
    const auto pid = c.pid[span.row];
    StepCounts step{span.number, operators.count(pid, span), launches.count(pid, span),
                    without_work.count(pid, span), false};
    step.busy = meets(busy, span);
    steps.push_back(step);
  }
  return steps;
}

// Steps without any device work, although they ran what others with work ran.
std::vector<const StepCounts*> find_empty(const std::vector<StepCounts>& steps) {
  std::vector<std::uint64_t> operators, work;
  for (const auto& step : steps) {
    if (step.with_work() == 0) continue;
    operators.push_back(step.operators);
    work.push_back(step.with_work());
  }
  std::vector<const StepCounts*> empty;
  if (work.empty() || timeline::upper_median(work) < kEnough) return empty;
  const auto usual = timeline::upper_median(operators);
  for (const auto& step : steps) {
    const bool as_much = step.operators * 2 >= usual || step.launches >= kEnough;
    if (step.with_work() == 0 && !step.busy && as_much) empty.push_back(&step);
  }
  return empty;
}

}  // namespace

void find_lost_steps(const timeline::Timeline& t, Quality& q) {
  if (t.spans.steps.size() < 2) return;
  const auto steps = measure(t);
  if (const auto empty = find_empty(steps); !empty.empty()) {
    add_loss(q, "steps_without_device_work", empty.size(),
             of(empty.size(), steps.size()) +
                 " steps have no device event, the first of them step " +
                 std::to_string(empty.front()->number) +
                 ", though they ran what the others ran: records were lost, and idle "
                 "time is overstated.");
  }
  StepCounts rest;
  for (const auto& step : steps) {
    rest.launches += step.launches;
    rest.without_work += step.without_work;
  }
  const auto& first = steps.front();
  rest.launches -= first.launches;
  rest.without_work -= first.without_work;
  const auto lost = share(first.without_work, first.launches);
  if (first.launches >= kEnough && rest.launches >= kEnough && lost >= kLostShare &&
      lost > 2 * share(rest.without_work, rest.launches)) {
    add_loss(q, "first_step_deficit", first.without_work,
             of(first.without_work, first.launches) +
                 " launches of the first step have no device event: the profiler "
                 "dropped records when it started. Leave the first step out, or "
                 "record with more warmup steps.");
  }
}

}  // namespace tta::pipeline
