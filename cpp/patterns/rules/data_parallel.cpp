// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/data_parallel.cpp: devices idle while nn.DataParallel hands out work.
//
// One process feeds all devices: each forward pass scatters the batch, copies the
// module to every device, starts a thread for each and gathers the results; backward
// undoes it. torch marks the forward as DataParallel.forward; what of it no worker
// thread was at work in is this handing out. Python's lock also slows the workers: that
// is not provable from one trace and not claimed.
//
// DistributedDataParallel does none of this, but sends the module's buffers from rank 0
// to all before every forward pass unless disabled: the host packs and unpacks them one
// by one meanwhile.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace data_parallel {
namespace {

enum : std::size_t { kMinShare, kMinDevices };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_devices", 2, "count",
              "with one device nn.DataParallel only calls the module"},
};

using trace::Category;

enum : std::uint8_t { kModule, kBuffers };

// Autograd's nodes for what scatter, replicate and gather did. ReduceAddCoalesced is
// what the gradient of replicate runs.
bool is_backward(std::string_view name) {
  return name == "ScatterBackward" || name == "GatherBackward" ||
         name == "BroadcastBackward";
}

// What the operators of one forward show, in their order.
class Stretch {
 public:
  explicit Stretch(const timeline::Timeline& t) : t_(t), c_(t.columns()) {}

  void take(std::uint32_t row) {
    if (c_.cat(row) != Category::kCpuOp || c_.ts[row] < reached_) return;
    const auto name = t_.trace->name(row);
    if (name == "c10d::broadcast_") {
      if (broadcast_ == kNoRow) broadcast_ = row;
    } else if (name == "aten::flatten_dense_tensors") {
      if (first_ == kNoRow) first_ = row;
    } else if (broadcast_ != kNoRow && (name == "aten::unflatten_dense_tensors" ||
                                        (unpacking_ && name == "aten::copy_"))) {
      unpacking_ = true;
      end_ = c_.end(row);
    } else {
      // The collective's own operator comes between; anything else is the module.
      if (name != "record_param_comms") unpacking_ = false;
      return;
    }
    reached_ = c_.end(row);  // its parts say no more
  }

  void finish(std::vector<Mark>& marks) const {
    if (end_ == 0) return;
    const auto begin = std::min(c_.ts[broadcast_],
                                first_ == kNoRow ? c_.ts[broadcast_] : c_.ts[first_]);
    marks.push_back({{begin, end_}, broadcast_});
  }

 private:
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::uint32_t first_ = kNoRow, broadcast_ = kNoRow;
  std::int64_t reached_ = -trace::kTimeLimit, end_ = 0;
  bool unpacking_ = false;
};

// Lists, of each DistributedDataParallel.forward, the stretch in which it sent the
// module's buffers (running statistics of batch norm) from rank 0 to all: from where
// it flattens them, over the broadcast, to the last copy back into a buffer. Only
// where the flat tensor was taken apart again, tensor by tensor, is there a stretch.
// What proves it is the first broadcast. As torch/csrc/distributed/c10d/comm.cpp does
// it, in Python before that. Linear in the rows of threads with such a forward.
std::vector<Mark> ddp_buffers(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::map<std::uint32_t, std::vector<Interval>> forwards;  // of each thread
  for (const auto& span : t.spans.annotations) {
    if (t.trace->name(span.row) != "DistributedDataParallel.forward") continue;
    auto& of = forwards[t.lanes.lane[span.row]];
    // One inside another (a module in two parts) belongs to it.
    if (of.empty() || span.begin >= of.back().end) of.push_back({span.begin, span.end});
  }
  std::vector<Mark> marks;
  for (const auto& [lane, of] : forwards) {
    const auto rows = t.lanes.rows_of(lane);
    auto row = rows.begin();
    for (const auto& forward : of) {
      Stretch stretch(t);
      for (; row != rows.end() && c.ts[*row] < forward.end; ++row) {
        if (c.ts[*row] >= forward.begin) stretch.take(*row);
      }
      stretch.finish(marks);
    }
  }
  return marks;
}

// When which threads of one process ran operators.
class Work {
 public:
  Work(const timeline::Timeline& t, std::int64_t pid) {
    const auto& c = t.columns();
    std::vector<Change> changes;
    for (const auto& lane : t.lanes.threads()) {
      if (lane.pid != pid) continue;
      std::vector<Interval> busy;
      for (const auto row : t.lanes.rows_of(lane)) {
        if (c.cat(row) == Category::kCpuOp) busy.push_back({c.ts[row], c.end(row)});
      }
      for (const auto& part : timeline::unite(std::move(busy))) {
        changes.push_back({part.begin, lane.id, 1});
        changes.push_back({part.end, lane.id, -1});
      }
    }
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.at < b.at; });
    sweep(changes);
  }

  // When any of them but `lane` ran operators inside `time`.
  IntervalSet of_others(std::uint32_t lane, Interval time) const {
    std::vector<Interval> out = timeline::clip(several_, time);
    const auto first = std::partition_point(
        alone_.begin(), alone_.end(),
        [&](const auto& part) { return part.first.end <= time.begin; });
    for (auto it = first; it != alone_.end() && it->first.begin < time.end; ++it) {
      if (it->second == lane) continue;
      out.push_back(timeline::intersect(it->first, time));
    }
    return timeline::unite(std::move(out));
  }

 private:
  struct Change {
    std::int64_t at = 0;
    std::uint32_t lane = 0;
    int by = 0;
  };

  void sweep(const std::vector<Change>& changes) {
    std::vector<Interval> several;
    int working = 0;
    std::uint64_t lanes = 0;  // the sum of the threads at work: of one, itself
    for (std::size_t i = 0; i < changes.size(); ++i) {
      working += changes[i].by;
      lanes += changes[i].by > 0 ? changes[i].lane : -std::uint64_t{changes[i].lane};
      if (i + 1 == changes.size() || changes[i + 1].at == changes[i].at) continue;
      const Interval part{changes[i].at, changes[i + 1].at};
      if (working > 1) several.push_back(part);
      if (working == 1) alone_.emplace_back(part, static_cast<std::uint32_t>(lanes));
    }
    several_ = timeline::unite(std::move(several));
  }

  std::vector<std::pair<Interval, std::uint32_t>> alone_;  // one thread, and which
  IntervalSet several_;                                    // more than one
};

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::map<std::int64_t, std::size_t> fed;  // devices of each process
  for (const auto& d : t.devices) ++fed[d.pid];
  const auto feeds_several = [&](std::int64_t pid) {
    const auto it = fed.find(pid);
    return it != fed.end() &&
           static_cast<double>(it->second) >= context.limits[kMinDevices];
  };
  std::vector<Mark> marks;
  if (!t.devices.empty()) marks = ddp_buffers(t);
  for (auto& mark : marks) mark.subtype = kBuffers;
  std::map<std::int64_t, Work> used;  // of each process that has a forward
  for (const auto& span : t.spans.annotations) {
    if (t.trace->name(span.row) != "DataParallel.forward" ||
        !feeds_several(c.pid[span.row])) {
      continue;
    }
    const auto pid = c.pid[span.row];
    auto work = used.find(pid);
    if (work == used.end()) work = used.emplace(pid, Work(t, pid)).first;
    const Interval time{span.begin, span.end};
    const auto others = work->second.of_others(t.lanes.lane[span.row], time);
    for (const auto& part : timeline::subtract({time}, others)) {
      marks.push_back({part, span.row});
    }
  }
  for (std::uint32_t row = 0; row < c.size() && !used.empty(); ++row) {
    if (c.cat(row) == Category::kCpuOp && t.lanes.lane[row] != timeline::kNoLane &&
        is_backward(t.trace->name(row)) && used.contains(c.pid[row])) {
      marks.push_back({{c.ts[row], c.end(row)}, row});
    }
  }
  return claim_marks(context, PatternId::kDataParallel, std::move(marks));
}

std::string describe(const Context&, const Finding& f) {
  if (f.subtype == kBuffers) {
    return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " while " +
           count_text(f.count, "forward pass", "forward passes") +
           " of DistributedDataParallel sent the module's buffers from rank 0 and "
           "copied them back one by one.";
  }
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " while " +
         count_text(f.count, "pass", "passes") +
         " of nn.DataParallel copied inputs, parameters and results between devices.";
}

std::string advise(const Context&, const Finding& f) {
  if (f.subtype == kModule) return std::string(info(PatternId::kDataParallel).advice);
  return "Build DistributedDataParallel with broadcast_buffers=False, if the ranks do "
         "not need equal buffers in training (running statistics of batch norm rarely "
         "do); they can be sent once, before evaluation.";
}

}  // namespace
}  // namespace data_parallel

const Rule kDataParallelRule{PatternId::kDataParallel, data_parallel::kThresholds,
                             data_parallel::propose, data_parallel::describe,
                             data_parallel::advise};

}  // namespace tta::patterns
