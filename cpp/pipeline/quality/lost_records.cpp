// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/lost_records.cpp: what only one side of the trace knows of.
#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "patterns/rule.h"
#include "pipeline/quality/quality.h"
#include "timeline/intervals.h"
#include "timeline/median.h"
#include "trace/order.h"

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
  void sort() { trace::sort_runs(marks_); }
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
    add_loss(
        q, "steps_without_device_work", empty.size(),
        of(empty.size(), steps.size()) +
            " steps have no device event, the first of them step " +
            std::to_string(empty.front()->number) +
            ", though they ran the same as the others: records were lost, and idle "
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

namespace {

// Launches without work that make a trace incomplete: half of the 5 % of kernels whose
// loss must be noticed (not every kernel has its own launch). Sound traces have at most
// one or two, at the end of the recording.
constexpr double kLostLaunches = 0.025;

constexpr double kSame = 0.9;  // two stretches with more in common are one

// Time in which launched work waited on a device that ran nothing.
std::vector<timeline::Interval> queued_behind_nothing(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<timeline::Interval> out;
  for (const auto& d : t.devices) {
    for (const auto& gap : d.gaps) {
      const auto launch = t.launch_of(gap.next);
      if (launch == timeline::kNoRow) continue;
      const timeline::Interval waited{std::max(gap.time.begin, c.end(launch)),
                                      gap.time.end};
      if (waited.length() >= timeline::kUnseenWork) out.push_back(waited);
    }
  }
  return out;
}

// Time in which the host was blocked by a device that ran nothing, on any device.
timeline::IntervalSet waited_for_nothing(const timeline::Timeline& t) {
  std::vector<timeline::Interval> all;
  for (const auto& d : t.devices) all.insert(all.end(), d.busy.begin(), d.busy.end());
  const auto busy = timeline::unite(std::move(all));
  // Summed up, as each of many threads may wait for all of it.
  const timeline::SumUntil busy_until(busy);
  std::vector<timeline::Interval> waited;
  for (const auto& thread : t.waits) {
    for (const auto& wait : thread.waits) {
      const auto time = timeline::intersect({wait.begin, wait.end}, t.span);
      if (time.begin < time.end &&
          time.length() - busy_until.in(time) >= timeline::kUnseenWork) {
        waited.push_back(time);
      }
    }
  }
  return timeline::subtract(timeline::unite(std::move(waited)), busy);
}

void find_unlaunched_work(const timeline::Timeline& t, Quality& q) {
  const auto& links = t.links;
  const auto unlinked =
      links.device_rows - links.linked - links.queued_before - links.without_id;
  if (t.launch_calls.empty() && links.linked == 0) {
    add(q, Verdict::kDegraded, "no_launches", links.device_rows,
        "No launch of any device work is in the trace (CPU activity was not "
        "recorded): idle time cannot be blamed on host code.");
  } else if (unlinked > 0) {
    const bool grave = share(unlinked, links.device_rows) >= kLostShare;
    add(q, grave ? Verdict::kDegraded : Verdict::kOk, "work_without_launch", unlinked,
        of(unlinked, links.device_rows) +
            " device events have no launch in the trace: records of the host were "
            "lost, and its activity before them is unknown.");
  }
}

// Work that was queued before recording began follows other work at once. If the device
// idled before it, something had to happen on the host first, and the file does not
// tell what: it was cut, or filtered.
void find_idle_without_launch(const timeline::Timeline& t, Quality& q) {
  if (t.launch_calls.empty() && t.links.linked == 0) return;  // said already
  const auto& c = t.columns();
  std::unordered_set<std::uint32_t> queued;  // as Links counts them
  for (const auto& lane : t.lanes.streams()) {
    for (const auto row : t.lanes.rows_of(lane)) {
      if (t.launch_of(row) != timeline::kNoRow) break;
      if (c.correlation[row] > 0) queued.insert(row);
    }
  }
  std::int64_t idle = 0;
  std::uint64_t rows = 0;
  for (const auto& d : t.devices) {
    for (const auto& gap : d.gaps) {
      if (gap.previous == timeline::kNoRow || !queued.contains(gap.next)) continue;
      idle += gap.time.length();
      ++rows;
    }
  }
  const auto all = static_cast<double>(t.span.length()) *
                   static_cast<double>(std::max<std::size_t>(1, t.devices.size()));
  if (static_cast<double>(idle) < kLostShare * all) return;
  add(q, Verdict::kDegraded, "idle_without_launch", rows,
      "Devices idled " + patterns::duration_text(idle) + " (" +
          patterns::share_text(static_cast<double>(idle) / all) +
          ") before work whose launches are not in the trace: the cause of that time "
          "is unknown. Keep all categories when a file is filtered or cut.");
}

void find_workless_launches(const timeline::Timeline& t, Quality& q) {
  const auto& c = t.columns();
  // What was launched after the last record of a device is not lost one by one: the
  // device was no longer recorded, or the program ended before it came to it.
  std::int64_t recorded = t.span.begin;
  for (const auto& d : t.devices) {
    if (!d.busy.empty()) recorded = std::max(recorded, d.busy.back().end);
  }
  std::uint64_t without = 0, after = 0;
  for (const auto& call : t.launch_calls) {
    if (call.work > 0) continue;
    ++(c.ts[call.row] >= recorded ? after : without);
  }
  if (after > 0) {
    const auto text =
        std::to_string(after) + (after == 1 ? " launch comes" : " launches come") +
        " after the last record of a device, " +
        patterns::duration_text(std::max<std::int64_t>(0, t.span.end - recorded)) +
        " before the trace ends: the device was no longer recorded. ";
    const auto tail = static_cast<double>(t.span.end - recorded);
    if (tail >= kLostShare * static_cast<double>(t.span.length())) {
      add_loss(q, "launches_after_recording", after,
               text +
                   "That time is not known to be idle. Record again, with a "
                   "synchronize() of the device before the profiler stops.");
    } else {
      add(q, Verdict::kOk, "launches_after_recording", after,
          text + "That is too little time to change the figures by much.");
    }
  }
  if (without == 0) return;
  const auto text = of(without, t.launch_calls.size()) +
                    " launches have no device event in the trace: records were lost, ";
  if (share(without, t.launch_calls.size()) >= kLostLaunches) {
    add_loss(q, "launches_without_work", without,
             text + "and idle time is overstated by the work they did.");
  } else {
    add(q, Verdict::kOk, "launches_without_work", without,
        text + "too few to change the figures by much.");
  }
}

}  // namespace

void find_lost_records(const timeline::Timeline& t, Quality& q) {
  find_unlaunched_work(t, q);
  find_idle_without_launch(t, q);
  find_workless_launches(t, q);
  const auto grave = [&](std::int64_t ns) {
    return static_cast<double>(ns) >= kLostShare * static_cast<double>(t.span.length());
  };
  const auto unseen = [&](const char* kind, std::int64_t ns, const char* who) {
    if (!grave(ns)) return;
    add_loss(q, kind, 1,
             std::string(who) + " waited " + patterns::duration_text(ns) +
                 " for a device that shows no work meanwhile: it was busy with work "
                 "that is not in the trace (queued before recording began, or lost). "
                 "That time is not known to be idle. Record again, with a "
                 "synchronize() of the device before the profiler starts.");
  };
  if (t.head.length() > 0) {
    add(q, Verdict::kOk, "work_before_recording", 1,
        "The first " + patterns::duration_text(t.head.length()) +
            " are in no balance: launched work waited for a device that was busy with "
            "work that is not in the trace (queued before recording began, or cut "
            "off).");
  }
  const auto waited = waited_for_nothing(t);
  auto stretches = queued_behind_nothing(t);
  std::int64_t queued_ns = 0;
  for (const auto& stretch : stretches) queued_ns += stretch.length();
  const auto queued = timeline::unite(std::move(stretches));
  const auto both =
      timeline::total(waited) - timeline::total(timeline::subtract(waited, queued));
  const auto longer = std::max(timeline::total(waited), timeline::total(queued));
  // The same stretch, seen from both sides, is not a second reason.
  if (grave(both) && static_cast<double>(both) > kSame * static_cast<double>(longer)) {
    unseen("wait_without_work", timeline::total(waited), "The host and launched work");
    return;
  }
  unseen("wait_without_work", timeline::total(waited), "The host");
  unseen("queued_behind_nothing", queued_ns, "Launched work");
}

}  // namespace tta::pipeline
