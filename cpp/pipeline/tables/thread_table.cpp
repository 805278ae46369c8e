// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/thread_table.cpp: sweeps each thread's events once for the innermost
// one.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "patterns/communication.h"
#include "pipeline/tables/tables.h"
#include "timeline/timeline.h"

namespace tta::pipeline {
namespace {

// What a thread is in while an event is its innermost one.

/// From kLoader on, whatever runs inside is the same.
enum class In : std::uint8_t {
  kNothing,         ///< In no event, or in a step's mark alone.
  kPython,          ///< A Python frame, or a range of the program.
  kCall,            ///< A runtime call outside of operators.
  kOperator,        ///< An operator, with what it calls.
  kWaitsForDevice,  ///< A call that waits for a device, see timeline/host_calls.h.
  kWaits,           ///< A builtin that waits for a lock, a file, a process, or sleeps.
  kProfiler,        ///< The profiler's own work.
  kLoader,          ///< The data loader's mark.
  kCompile,         ///< torch.compile or Triton compiling.
  kCollective,      ///< Waiting for a collective of CPU tensors, or carrying it out.
};

using timeline::kNoRow;
using timeline::Name;
using timeline::SpanKind;
using trace::Category;

class Moments {
 public:
  explicit Moments(const timeline::Timeline& t)
      : t_(t),
        c_(t.columns()),
        in_(c_.size(), In::kNothing),
        kind_(c_.size(), SpanKind::kAnnotation) {
    for (const auto* list : {&t.spans.steps, &t.spans.optimizer, &t.spans.loader}) {
      for (const auto& span : *list) kind_[span.row] = span.kind;
    }
  }

  std::vector<In> run() {
    static const std::vector<timeline::HostWait> kNone;
    auto thread = t_.waits.begin();  // by lane
    for (const auto& lane : t_.lanes.threads()) {
      while (thread != t_.waits.end() && thread->lane < lane.id) ++thread;
      const bool waits = thread != t_.waits.end() && thread->lane == lane.id;
      classify(lane, waits ? thread->waits : kNone);
    }
    return std::move(in_);
  }

 private:
  // Parents come before their children.
  void classify(const timeline::Lane& lane,
                const std::vector<timeline::HostWait>& waits) {
    std::size_t wait = 0;
    for (const auto row : t_.lanes.rows_of(lane)) {
      const auto parent = t_.tree.parent[row];
      const auto around = parent == kNoRow ? In::kNothing : in_[parent];
      bool blocks = false;
      if (c_.cat_info(row).runtime_api) {
        while (wait < waits.size() && waits[wait].end <= c_.ts[row]) ++wait;
        blocks = wait < waits.size() && waits[wait].begin <= c_.ts[row];
      }
      in_[row] = around >= In::kLoader ? around : class_of(row, around, blocks);
    }
  }

  In class_of(std::uint32_t row, In around, bool blocks) const {
    const bool working = around == In::kOperator || around == In::kCall;
    if (t_.named(row, Name::kCompiles)) return In::kCompile;
    if (kind_[row] == SpanKind::kLoader) return In::kLoader;
    if (kind_[row] == SpanKind::kStep) return around;
    const auto cat = c_.cat(row);
    if (c_.cat_info(row).runtime_api) {
      // A call inside one that waits is part of the wait.
      if (blocks || around == In::kWaitsForDevice) return In::kWaitsForDevice;
      return around == In::kOperator ? around : In::kCall;
    }
    if (cat == Category::kOverhead) return In::kProfiler;
    if (cat == Category::kCpuOp && kind_[row] == SpanKind::kAnnotation) {
      return t_.named(row, Name::kCollectiveWait) ? In::kCollective : In::kOperator;
    }
    if (cat == Category::kPythonFunction) {
      if (t_.named(row, Name::kWaitMethod) && parent_is_collective(row)) {
        return In::kCollective;
      }
      if (t_.named(row, Name::kWaitsForOthers) || t_.named(row, Name::kSleeps)) {
        return In::kWaits;
      }
    } else if (t_.named(row, Name::kBackend)) {
      return In::kCollective;
    }
    return working ? around : In::kPython;
  }

  bool parent_is_collective(std::uint32_t row) const {
    const auto parent = t_.tree.parent[row];
    return parent != kNoRow && t_.named(parent, Name::kDdpFrame);
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<In> in_;
  std::vector<SpanKind> kind_;  // of each row; kAnnotation is any that is not listed
};

// Returns it for each row on a thread; kNothing for all others. Linear in the rows and
// the names.
std::vector<In> classify_moments(const timeline::Timeline& t) {
  return Moments(t).run();
}

using timeline::Interval;
using timeline::IntervalSet;

class Threads {
 public:
  explicit Threads(const timeline::Timeline& t)
      : t_(t), c_(t.columns()), in_(classify_moments(t)) {
    exposed_.resize(t.lanes.lanes.size());
    const auto hosts = patterns::comm_on_host(t);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      std::vector<Interval> times;
      for (const auto& wait : hosts[i].waits) times.push_back(wait.time);
      exposed_[t.host[i].lane] = timeline::unite(std::move(times));
    }
  }

  Thread row_of(std::uint32_t lane) {
    const auto& l = t_.lanes.lanes[lane];
    out_ = {};
    out_.pid = process_of(*t_.trace, l.pid);
    out_.tid = process_of(*t_.trace, l.tid);
    out_.events = l.last - l.first;
    reached_ = t_.span.begin;
    exposed_at_ = exposed_[lane].begin();
    exposed_end_ = exposed_[lane].end();
    std::vector<std::uint32_t> open;
    const auto close_until = [&](std::int64_t at) {
      while (!open.empty() && t_.tree.end(c_, open.back()) <= at) {
        advance(in_[open.back()], t_.tree.end(c_, open.back()));
        open.pop_back();
      }
    };
    for (const auto row : t_.lanes.rows_of(l)) {
      close_until(c_.ts[row]);
      advance(open.empty() ? In::kNothing : in_[open.back()], c_.ts[row]);
      open.push_back(row);
    }
    close_until(trace::kTimeLimit);
    advance(In::kNothing, t_.span.end);
    auto& o = out_;
    o.busy_ns = o.operators_ns + o.calls_ns + o.compile_ns + o.python_ns;
    o.waiting_ns =
        o.wait_loader_ns + o.wait_comm_ns + o.wait_device_ns + o.wait_other_ns;
    if (const auto span = t_.span.length(); span > 0) {
      o.busy_share = static_cast<double>(o.busy_ns) / static_cast<double>(span);
    }
    return o;
  }

 private:
  // Gives the time from what was reached to a moment to what the thread was in.
  void advance(In in, std::int64_t to) {
    const Interval time{reached_, std::min(to, t_.span.end)};
    if (time.length() == 0) return;
    reached_ = time.end;
    auto length = time.length();
    // What blocks the main thread is known better from all threads together.
    if (in == In::kNothing || in == In::kPython || in == In::kWaits) {
      while (exposed_at_ != exposed_end_ && exposed_at_->end <= time.begin) {
        ++exposed_at_;
      }
      for (auto it = exposed_at_; it != exposed_end_ && it->begin < time.end; ++it) {
        const auto part = timeline::intersect(*it, time).length();
        out_.wait_comm_ns += part;
        length -= part;
      }
    }
    *part_of(in) += length;
  }

  std::int64_t* part_of(In in) {
    switch (in) {
      case In::kPython:
        return &out_.python_ns;
      case In::kCall:
        return &out_.calls_ns;
      case In::kOperator:
        return &out_.operators_ns;
      case In::kWaitsForDevice:
        return &out_.wait_device_ns;
      case In::kWaits:
        return &out_.wait_other_ns;
      case In::kProfiler:
        return &out_.profiler_ns;
      case In::kLoader:
        return &out_.wait_loader_ns;
      case In::kCompile:
        return &out_.compile_ns;
      case In::kCollective:
        return &out_.wait_comm_ns;
      case In::kNothing:
        break;
    }
    return &out_.idle_ns;
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<In> in_;                // of each row, and of what it encloses
  std::vector<IntervalSet> exposed_;  // of each lane: what comm_on_host found
  Thread out_;
  std::int64_t reached_ = 0;
  IntervalSet::const_iterator exposed_at_, exposed_end_;
};

}  // namespace

std::vector<Thread> make_thread_table(const timeline::Timeline& t,
                                      const timeline::EventArgs& args) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::vector<std::pair<Key, Thread>> rows;
  Threads table(t);
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    if (t.lanes.lanes[lane].is_stream) continue;
    auto row = table.row_of(lane);
    if (row.idle_ns + row.profiler_ns == t.span.length()) continue;
    const auto& l = t.lanes.lanes[lane];
    row.name = args.thread_name(l.pid, l.tid);
    rows.emplace_back(Key{-row.busy_ns, row.idle_ns, l.pid, l.tid}, std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Thread> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

}  // namespace tta::pipeline
