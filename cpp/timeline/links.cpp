// SPDX-License-Identifier: BSD-3-Clause
// timeline/links.cpp: launches sorted by (id, process, start), searched for each row;
// which process a device belongs to, by a vote of the work whose launch is beyond
// doubt.
#include "timeline/links.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace tta::timeline {
namespace {

using trace::Category;

// A launch may seem to start after its work by what host and device clocks differ:
// microseconds in every trace seen. Beyond this it is another launch with the same id.
constexpr std::int64_t kMaxSkew = 1'000'000;
// Launches with one id: a file of more ranks is not merged to be looked at, and to
// compare each with each would take quadratic time.
constexpr std::ptrdiff_t kMostAlike = 64;

// A call that may have launched device work.
struct Launch {
  std::int64_t id, pid, ts;
  std::uint32_t row;
};

using It = std::vector<Launch>::const_iterator;

// Those with an id, of launches sorted by it.
std::pair<It, It> with_id(const std::vector<Launch>& launches, std::int64_t id) {
  const auto less = [](const Launch& a, const Launch& b) { return a.id < b.id; };
  return std::equal_range(launches.begin(), launches.end(), Launch{id, 0, 0, 0}, less);
}

using Device = std::pair<std::int64_t, std::int32_t>;  // pid and number in the file

// Which process launches the work of each device.
struct Feeders {
  std::map<Device, std::int64_t> known;    // by work that tells
  std::map<Device, std::int64_t> guessed;  // the others, by the order of their pids

  // The process; trace::kNoId if unknown.
  std::int64_t of(Device device) const {
    for (const auto* of : {&known, &guessed}) {
      if (const auto it = of->find(device); it != of->end()) return it->second;
    }
    return trace::kNoId;
  }
};

// Of each stream: more would tell no more, and cost time in every trace.
constexpr int kVotes = 32;

// Work that was queued before recording began may meet another's id by chance.
void vote(const trace::Columns& c, const Lanes& lanes,
          const std::vector<Launch>& launches, Feeders& out) {
  std::map<Device, std::map<std::int64_t, int>> votes;
  for (const auto& lane : lanes.streams()) {
    auto& of_device = votes[{lane.pid, lane.number}];
    int cast = 0;
    for (const auto row : lanes.rows_of(lane)) {
      const auto [first, last] = with_id(launches, c.correlation[row]);
      if (last - first != 1) continue;
      ++of_device[first->pid];
      if (++cast == kVotes) break;
    }
  }
  for (const auto& [device, of_device] : votes) {
    int all = 0;
    auto most = of_device.begin();
    for (auto it = of_device.begin(); it != of_device.end(); ++it) {
      all += it->second;
      if (it->second > most->second) most = it;
    }
    // Else several processes share it, or the file cannot tell their devices apart.
    if (all > 0 && most->second * 4 >= all * 3) out.known[device] = most->first;
  }
}

// As people count: numbers before texts, and in these runs of digits by their value.
// Ids of texts say nothing.
std::vector<std::pair<std::string, std::int64_t>> in_order(const trace::Trace& t,
                                                           std::int64_t pid) {
  if (pid < trace::kTextIdentity) return {{"", pid}};
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  constexpr std::size_t kMostDigits = 18;
  std::vector<std::pair<std::string, std::int64_t>> out{{" ", 0}};
  const auto text = t.identity(pid);
  for (std::size_t i = 0; i < text.size();) {
    auto& [letters, number] = out.emplace_back("", -1);
    while (i < text.size() && !is_digit(text[i])) letters += text[i++];
    for (std::size_t n = 0; i < text.size() && is_digit(text[i]) && n < kMostDigits;
         ++n) {
      number = std::max<std::int64_t>(number, 0) * 10 + (text[i++] - '0');
    }
  }
  return out;
}

void guess(const trace::Trace& t, const Lanes& lanes,
           const std::vector<Launch>& launches, Feeders& out) {
  // The first row of each, for rows are in order of time.
  std::map<Device, std::uint32_t> work;
  std::map<std::int64_t, std::uint32_t> calls;
  const auto add = [](auto& firsts, const auto& key, std::uint32_t row) {
    auto& first = firsts.try_emplace(key, row).first->second;
    first = std::min(first, row);
  };
  for (const auto& lane : lanes.streams()) {
    const Device device{lane.pid, lane.number};
    if (out.known.contains(device)) continue;
    for (const auto row : lanes.rows_of(lane)) add(work, device, row);
  }
  if (work.empty()) return;
  std::set<std::int64_t> taken;
  for (const auto& [device, pid] : out.known) taken.insert(pid);
  for (const auto& launch : launches) {
    if (!taken.contains(launch.pid)) add(calls, launch.pid, launch.row);
  }
  std::vector<std::pair<Device, std::uint32_t>> devices(work.begin(), work.end());
  std::vector<std::pair<std::int64_t, std::uint32_t>> processes(calls.begin(),
                                                                calls.end());
  if (devices.size() == processes.size()) {
    std::ranges::sort(devices, {}, [&](const auto& d) {
      return std::pair(in_order(t, d.first.first), d.first.second);
    });
    std::ranges::sort(processes, {},
                      [&](const auto& p) { return in_order(t, p.first); });
    bool in_time = true;  // no device works before its process launches
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const auto work = t.columns.ts[devices[i].second];
      in_time = in_time && t.columns.ts[processes[i].second] <= work + kMaxSkew;
    }
    if (!in_time) {
      std::ranges::sort(devices, {}, [](const auto& d) { return d.second; });
      std::ranges::sort(processes, {}, [](const auto& p) { return p.second; });
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      out.guessed[devices[i].first] = processes[i].first;
    }
    return;
  }
  std::ranges::sort(processes, {}, [](const auto& p) { return p.second; });
  for (const auto& [device, row] : devices) {
    const auto after = std::ranges::upper_bound(processes, row, {},
                                                [](const auto& p) { return p.second; });
    if (after != processes.begin()) out.guessed[device] = std::prev(after)->first;
  }
}

// Finds the process that feeds each device, given launches sorted by id.
//
// Work with an id that only one process has tells it. In a file merged from ranks that
// do the same under the same ids, none does. There pids keep the order of ranks, on
// both sides: tools that merge put a label in front of them or add a number. Where some
// ranks launch nothing, it is the process that launched last before the device began.
// O(n log n) in the device rows where no id tells, else in the lanes.
Feeders find_feeders(const trace::Trace& t, const Lanes& lanes,
                     const std::vector<Launch>& launches) {
  Feeders out;
  vote(t.columns, lanes, launches, out);
  guess(t, lanes, launches, out);
  return out;
}

class Linker {
 public:
  Linker(const trace::Trace& t, const Names& names, const Lanes& lanes)
      : t_(t), names_(names), c_(t.columns) {
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
    auto feeders = find_feeders(t_, lanes, launches_);
    for (const auto& lane : lanes.streams()) {
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
          names_.is(c_.name[row], Name::kLaunch)) {
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
  const Names& names_;
  const trace::Columns& c_;
  std::vector<Launch> launches_, calls_, ops_;
  std::vector<char> used_;  // launches, of devices in doubt
  bool by_external_listed_ = false;
};

}  // namespace

Links make_links(const trace::Trace& t, const Names& names, const Lanes& lanes) {
  return Linker(t, names, lanes).run(lanes);
}

}  // namespace tta::timeline
