// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/data_parallel.cpp: devices idle while nn.DataParallel hands out work.
//
// One process feeds all devices: each forward pass scatters the batch, copies the
// module to every device, starts a thread for each and gathers the results; backward
// undoes it. torch marks the forward as DataParallel.forward; what of it no worker
// thread was at work in is this handing out. Python's lock also slows the workers: that
// is not provable from one trace and not claimed.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinDevices };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_devices", 2, "count",
              "with one device nn.DataParallel only calls the module"},
};

using trace::Category;

// Autograd's nodes for what scatter, replicate and gather did. ReduceAddCoalesced is
// what the gradient of replicate runs.
bool is_backward(std::string_view name) {
  return name == "ScatterBackward" || name == "GatherBackward" ||
         name == "BroadcastBackward";
}

// When threads of the process other than `lane` ran operators.
IntervalSet others_at_work(const timeline::Timeline& t, std::int64_t pid,
                           std::uint32_t lane) {
  const auto& c = t.columns();
  std::vector<Interval> work;
  for (std::uint32_t i = 0; i < t.lanes.lanes.size(); ++i) {
    const auto& l = t.lanes.lanes[i];
    if (l.is_stream || l.pid != pid || i == lane) continue;
    for (const auto row : t.lanes.rows_of(l)) {
      if (c.cat(row) == Category::kCpuOp) work.push_back({c.ts[row], c.end(row)});
    }
  }
  return timeline::unite(std::move(work));
}

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
  std::map<std::uint32_t, IntervalSet> others;  // of each thread that runs a forward
  std::map<std::int64_t, bool> used;
  for (const auto& span : t.spans.annotations) {
    if (t.trace->name(span.row) != "DataParallel.forward" ||
        !feeds_several(c.pid[span.row])) {
      continue;
    }
    used[c.pid[span.row]] = true;
    const auto lane = t.lanes.lane[span.row];
    const auto [it, fresh] = others.try_emplace(lane);
    if (fresh) it->second = others_at_work(t, c.pid[span.row], lane);
    const Interval time{span.begin, span.end};
    for (const auto& part :
         timeline::subtract({time}, timeline::clip(it->second, time))) {
      marks.push_back({part, span.row});
    }
  }
  if (used.empty()) return {};
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) == Category::kCpuOp && t.lanes.lane[row] != timeline::kNoLane &&
        is_backward(t.trace->name(row)) && used.contains(c.pid[row])) {
      marks.push_back({{c.ts[row], c.end(row)}, row});
    }
  }
  return claim_marks(context, PatternId::kDataParallel, std::move(marks));
}

std::string describe(const Context&, const Finding& f) {
  return devices_text(f) + " idled " + duration_text(f.wasted_ns) + " while " +
         count_text(f.count, "pass", "passes") +
         " of nn.DataParallel copied inputs, parameters and results between devices.";
}

}  // namespace

const Rule kDataParallelRule{PatternId::kDataParallel, kThresholds, propose, describe};

}  // namespace tta::patterns
