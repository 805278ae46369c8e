// SPDX-License-Identifier: BSD-3-Clause
// timeline/links.cpp: launches sorted by (id, process, start), searched for each row.
#include "timeline/links.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "timeline/launch_calls.h"

namespace tta::timeline {
namespace {

using trace::Category;

// A launch may seem to start after its work by what host and device clocks differ:
// microseconds in every trace seen. Beyond this it is another launch with the same id.
constexpr std::int64_t kMaxSkew = 1'000'000;

struct Launch {
  std::int64_t id, pid, ts;
  std::uint32_t row;
};

class Linker {
 public:
  Linker(const trace::Trace& t, const Lanes& lanes) : t_(t), c_(t.columns) {
    for (std::uint32_t row = 0; row < c_.size(); ++row) {
      if (lanes.lane[row] == kNoLane) continue;
      const bool runtime = c_.cat_info(row).runtime_api;
      if (runtime && c_.correlation[row] > 0) {
        launches_.push_back({c_.correlation[row], c_.pid[row], c_.ts[row], row});
      }
    }
    std::sort(launches_.begin(), launches_.end(), before);
  }

  Links run(const Lanes& lanes) {
    Links out;
    out.launch.assign(c_.size(), kNoRow);
    vote(lanes);
    for (const auto& lane : lanes.lanes) {
      if (!lane.is_stream) continue;
      const auto home = home_.find(lane.device);
      const std::int64_t pid = home == home_.end() ? trace::kNoId : home->second;
      bool first_linked = false;
      for (const auto row : lanes.rows_of(lane)) {
        ++out.device_rows;
        auto launch = c_.correlation[row] > 0
                          ? find(launches_, c_.correlation[row], pid, c_.ts[row])
                          : kNoRow;
        if (launch == kNoRow && c_.correlation[row] <= 0) {
          launch = by_external_id(row, pid);
          out.by_external_id += launch != kNoRow;
        }
        if (launch == kNoRow) {
          if (c_.correlation[row] <= 0) {
            ++out.without_id;
          } else {
            out.queued_before += !first_linked;
          }
          continue;
        }
        first_linked = true;
        out.launch[row] = launch;
        ++out.linked;
        out.skewed += c_.ts[row] < c_.ts[launch];
      }
    }
    return out;
  }

 private:
  static bool before(const Launch& a, const Launch& b) {
    return std::tie(a.id, a.pid, a.ts, a.row) < std::tie(b.id, b.pid, b.ts, b.row);
  }

  std::uint32_t by_external_id(std::uint32_t row, std::int64_t pid) {
    if (c_.external_id[row] <= 0) return kNoRow;
    if (!by_external_listed_) list_by_external_id();
    const auto call = find(calls_, c_.external_id[row], pid, c_.ts[row]);
    return call != kNoRow ? call : find(ops_, c_.external_id[row], pid, c_.ts[row]);
  }

  // On first use only: nearly every trace has correlations and needs none of this.
  void list_by_external_id() {
    by_external_listed_ = true;
    for (std::uint32_t row = 0; row < c_.size(); ++row) {
      if (c_.external_id[row] <= 0 || !c_.timed(row)) continue;
      const Launch launch{c_.external_id[row], c_.pid[row], c_.ts[row], row};
      if (c_.cat(row) == Category::kCpuOp) ops_.push_back(launch);
      if (c_.cat_info(row).runtime_api && c_.correlation[row] <= 0 &&
          names_a_launch(t_.name(row))) {
        calls_.push_back(launch);
      }
    }
    std::sort(ops_.begin(), ops_.end(), before);
    std::sort(calls_.begin(), calls_.end(), before);
  }

  // Which process feeds each device: that of its first work with a unique id.
  void vote(const Lanes& lanes) {
    for (const auto& lane : lanes.lanes) {
      if (!lane.is_stream || home_.count(lane.device)) continue;
      for (const auto row : lanes.rows_of(lane)) {
        const auto [first, last] = range(launches_, c_.correlation[row]);
        if (last - first != 1) continue;
        home_[lane.device] = first->pid;
        break;
      }
    }
  }

  using It = std::vector<Launch>::const_iterator;
  static std::pair<It, It> range(const std::vector<Launch>& v, std::int64_t id) {
    const auto less = [](const auto& a, const auto& b) { return a.id < b.id; };
    return std::equal_range(v.begin(), v.end(), Launch{id, 0, 0, 0}, less);
  }

  // The last launch of one process that starts by `ts`; a launch that starts later only
  // within what clocks differ, and if there is no other.
  static It in_time(It first, It last, std::int64_t ts) {
    const auto after = std::upper_bound(
        first, last, ts,
        [](std::int64_t when, const Launch& l) { return when < l.ts; });
    if (after != first) return std::prev(after);
    return first != last && first->ts - ts <= kMaxSkew ? first : last;
  }

  static std::uint32_t find(const std::vector<Launch>& v, std::int64_t id,
                            std::int64_t pid, std::int64_t ts) {
    const auto [first, last] = range(v, id);
    const auto own = std::equal_range(first, last, Launch{id, pid, 0, 0}, by_process);
    if (const auto it = in_time(own.first, own.second, ts); it != own.second) {
      return it->row;
    }
    // None of the device's own process: whichever process came last before the work.
    It best = last;
    for (auto at = first; at != last;) {
      const auto end = std::upper_bound(at, last, *at, by_process);
      const auto it = in_time(at, end, ts);
      if (it != end && (best == last || it->ts > best->ts)) best = it;
      at = end;
    }
    return best == last ? kNoRow : best->row;
  }

  static bool by_process(const Launch& a, const Launch& b) {
    return std::tie(a.id, a.pid) < std::tie(b.id, b.pid);
  }

  const trace::Trace& t_;
  const trace::Columns& c_;
  std::vector<Launch> launches_, calls_, ops_;
  std::map<std::int32_t, std::int64_t> home_;
  bool by_external_listed_ = false;
};

}  // namespace

Links make_links(const trace::Trace& t, const Lanes& lanes) {
  return Linker(t, lanes).run(lanes);
}

}  // namespace tta::timeline
