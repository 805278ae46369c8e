// SPDX-License-Identifier: BSD-3-Clause
// timeline/links.cpp: launches sorted by (id, process, start), searched for each row.
#include "timeline/links.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "timeline/feeders.h"
#include "timeline/launch_calls.h"

namespace tta::timeline {
namespace {

using trace::Category;

// A launch may seem to start after its work by what host and device clocks differ:
// microseconds in every trace seen. Beyond this it is another launch with the same id.
constexpr std::int64_t kMaxSkew = 1'000'000;
// Launches with one id: a file of more ranks is not merged to be looked at, and to
// compare each with each would take quadratic time.
constexpr std::ptrdiff_t kMostAlike = 64;

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
    auto feeders = find_feeders(c_, lanes, launches_);
    for (const auto& lane : lanes.lanes) {
      if (!lane.is_stream) continue;
      const Device device{lane.pid, lane.number};
      const bool certain = feeders.known.contains(device);
      const auto pid = feeders.of(device);
      bool first_linked = false;
      for (const auto row : lanes.rows_of(lane)) {
        ++out.device_rows;
        auto launch = c_.correlation[row] > 0
                          ? find(launches_, c_.correlation[row], pid, c_.ts[row])
                          : kNoRow;
        if (launch == kNoRow && c_.correlation[row] <= 0) {
          launch = by_external_id(row, pid);
          out.by_external_id += launch != kNoRow;
        } else if (launch != kNoRow && !certain) {
          launch = not_twice(launch, row);
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
    out.feeders = std::move(feeders.known);
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

  // A call that launches one kernel has launched no second: where another process made
  // the same call under the same id, the second is that one's.
  std::uint32_t not_twice(std::uint32_t launch, std::uint32_t work) {
    if (used_.empty()) used_.assign(c_.size(), 0);
    const auto [first, last] = with_id(launches_, c_.correlation[work]);
    if (last - first <= kMostAlike && used_[launch] &&
        t_.name(launch).find("Graph") == std::string_view::npos) {
      for (auto it = first; it != last; ++it) {
        if (used_[it->row] || it->pid == c_.pid[launch] ||
            c_.name[it->row] != c_.name[launch] || it->ts - c_.ts[work] > kMaxSkew) {
          continue;
        }
        launch = it->row;
        break;
      }
    }
    used_[launch] = 1;
    return launch;
  }

  using It = std::vector<Launch>::const_iterator;

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
    const auto [first, last] = with_id(v, id);
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
  std::vector<char> used_;  // launches, of devices in doubt
  bool by_external_listed_ = false;
};

}  // namespace

Links make_links(const trace::Trace& t, const Lanes& lanes) {
  return Linker(t, lanes).run(lanes);
}

}  // namespace tta::timeline
