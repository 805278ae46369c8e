// SPDX-License-Identifier: BSD-3-Clause
// lab/perturbation_check.cpp: refuses what names nothing in the model it is for.
#include "lab/cpp/perturbation_check.h"

#include <cstdlib>
#include <stdexcept>

#include "trace/columns.h"
#include "trace/members.h"

namespace tta::lab {
namespace {

using replay::kByConstant;
using trace::Category;

[[noreturn]] void refuse_put_in(const std::string& what) {
  throw std::invalid_argument(what);
}

bool opens(OpKind kind) {
  return kind == OpKind::kOpen || kind == OpKind::kOpenSpan ||
         kind == OpKind::kOpenFrame;
}
bool is_part_of_thread(OpKind kind) {
  return opens(kind) || kind == OpKind::kHost || kind == OpKind::kClose;
}

class PerturbationChecker {
 public:
  PerturbationChecker(const Model& m, const Perturbation& p) : m_(m), p_(p) {}

  void run() {
    for (const auto& in : p_.insertions) insertion(in);
    for (const auto& w : p_.longer) {
      check_device_work(m_, w.row);
      check_moment(w.ns);
      add(std::abs(w.ns));
    }
    for (const auto row : p_.replaced) check_device_work(m_, row);
    for (const auto row : p_.unwritten) host_row(row);
  }

 private:
  void insertion(const Insertion& in) {
    if (in.model.get() != &m_)
      refuse_put_in("the insertion was made for another trace");
    if (in.lane >= m_.sequences.size() || m_.sequences[in.lane].empty()) {
      refuse_put_in("an insertion into a thread that is not scheduled");
    }
    check_moment(in.at);
    if (in.stands_for != timeline::kNoRow) check_device_work(m_, in.stands_for);
    if (in.categories.size() != in.operations.size()) {
      refuse_put_in("inserted operations need a category each");
    }
    std::size_t open = 0;
    for (std::size_t i = 0; i < in.operations.size(); ++i) {
      operation(in, in.operations[i], in.categories[i]);
      if (opens(in.operations[i].kind)) ++open;
      if (in.operations[i].kind == OpKind::kClose && open-- == 0) {
        refuse_put_in("the insertion closes something that it did not open");
      }
    }
    if (open > 0) refuse_put_in("the insertion leaves something open");
    for (const auto& w : in.work) work(w);
  }

  void operation(const Insertion& in, const Operation& op, Category category) {
    if (op.kind == OpKind::kSignal || op.kind == OpKind::kWait) {
      refuse_put_in("an insertion signals or waits for a signal");
    }
    if (op.kind != OpKind::kClose) check_category(category, op.kind);
    add(op.ns);
    add_if_given(op.back);
    check_args(op.args);
    for (const auto w : op.work) within(w, in.work.size(), "work");
    for (const auto& a : op.until) {
      within(a.work, in.work.size(), "work");
      add_if_given(a.ns);
    }
    if (op.id != kNone) within(op.id, in.events, "an event");
    if (op.stream != kNone) within(op.stream, m_.tasks.streams.size(), "a stream");
  }

  void work(const DeviceWork& w) {
    within(w.stream, m_.tasks.streams.size(), "a stream");
    add(w.ns);
    add_if_given(w.latency);
    add_if_given(w.gap);
    check_args(w.args);
    if (w.collective != kNone || !w.after.empty()) {
      refuse_put_in("inserted work belongs to no collective and waits for no other");
    }
    if (w.not_before < 0 || w.not_before >= trace::kTimeLimit) {
      refuse_put_in("inserted work begins outside the time range");
    }
  }

  void host_row(std::uint32_t row) const {
    const auto& lanes = m_.timeline->lanes;
    if (row < lanes.lane.size() && lanes.lane[row] != timeline::kNoLane &&
        !lanes.lanes[lanes.lane[row]].is_stream) {
      return;
    }
    refuse_put_in("row " + std::to_string(row) + " is not a row of the host");
  }

  static void within(std::uint32_t id, std::size_t size, const char* what) {
    if (id >= size)
      refuse_put_in("the insertion refers to " + std::string(what) +
                    " that does not exist");
  }

  // All together, so that no sum of the schedule leaves 64 bits.
  void add(std::int64_t ns) {
    check_length(ns);
    if (ns >= trace::kTimeLimit - total_) refuse_put_in("the insertion takes too long");
    total_ += ns;
  }
  void add_if_given(std::int64_t ns) {
    if (ns != kByConstant) add(ns);
  }

  const Model& m_;
  const Perturbation& p_;
  std::int64_t total_ = 0;  // ns
};

}  // namespace

void check_length(std::int64_t ns) {
  if (ns < 0) refuse_put_in("a length of " + std::to_string(ns) + " ns is negative");
  if (ns >= trace::kTimeLimit) {
    refuse_put_in("a length of " + std::to_string(ns) +
                  " ns is outside the time range");
  }
}

void check_moment(std::int64_t at) {
  if (at > -trace::kTimeLimit && at < trace::kTimeLimit) return;
  refuse_put_in("a moment of " + std::to_string(at) + " ns is outside the time range");
}

void check_args(const std::string& args) {
  if (args.empty() || trace::is_members(args)) return;
  refuse_put_in("args are not members of a JSON object: " + args.substr(0, 80));
}

void check_category(Category category, OpKind kind) {
  const auto& info = trace::info(category);
  if (info.side == trace::Side::kHost && info.runtime_api != is_part_of_thread(kind)) {
    return;
  }
  refuse_put_in("category " + std::string(info.name) + " is none of " +
                (is_part_of_thread(kind) ? "a thread's own operations" : "a call"));
}

void check_device_work(const Model& m, std::uint32_t row) {
  if (row < m.tasks.of_row.size() && m.tasks.of_row[row] != kNone) return;
  refuse_put_in("row " + std::to_string(row) + " is not device work");
}

void check_perturbation(const Model& model, const Perturbation& perturbation) {
  PerturbationChecker(model, perturbation).run();
}

void check_schedule(const Model& m, const Perturbation& p, const Perturbed& schedule) {
  if (schedule.model != &m) refuse_put_in("a schedule of another trace");
  bool fits = schedule.inserted.size() == p.insertions.size();
  for (std::size_t i = 0; fits && i < p.insertions.size(); ++i) {
    const auto& of = p.insertions[i];
    const auto& times = schedule.inserted[i];
    fits = times.operations.size() == of.operations.size() &&
           times.work.size() == of.work.size();
  }
  if (!fits) refuse_put_in("a schedule of another perturbation");
}

}  // namespace tta::lab
