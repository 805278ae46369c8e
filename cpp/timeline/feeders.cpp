// SPDX-License-Identifier: BSD-3-Clause
// timeline/feeders.cpp: a vote of the work whose launch is beyond doubt.
#include "timeline/feeders.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tta::timeline {
namespace {

// Of each stream: more would tell no more, and cost time in every trace.
constexpr int kVotes = 32;

// Row of the first event of each device or process.
template <typename Key>
class Firsts {
 public:
  void add(const Key& key, std::uint32_t row) {
    auto& first = rows_.try_emplace(key, row).first->second;
    first = std::min(first, row);
  }
  std::map<std::uint32_t, Key> in_order() const {
    std::map<std::uint32_t, Key> out;
    for (const auto& [key, row] : rows_) out.emplace(row, key);
    return out;
  }

 private:
  std::map<Key, std::uint32_t> rows_;
};

// Work that was queued before recording began may meet another's id by chance.
void vote(const trace::Columns& c, const Lanes& lanes,
          const std::vector<Launch>& launches, Feeders& out) {
  std::map<Device, std::map<std::int64_t, int>> votes;
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream) continue;
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

void guess(const Lanes& lanes, const std::vector<Launch>& launches, Feeders& out) {
  Firsts<Device> work;
  Firsts<std::int64_t> calls;
  bool any = false;
  for (const auto& lane : lanes.lanes) {
    const Device device{lane.pid, lane.number};
    if (!lane.is_stream || out.known.contains(device)) continue;
    for (const auto row : lanes.rows_of(lane)) work.add(device, row);
    any = true;
  }
  if (!any) return;
  std::set<std::int64_t> taken;
  for (const auto& [device, pid] : out.known) taken.insert(pid);
  for (const auto& launch : launches) {
    if (!taken.contains(launch.pid)) calls.add(launch.pid, launch.row);
  }
  const auto devices = work.in_order();
  const auto processes = calls.in_order();
  auto next = processes.begin();
  for (const auto& [row, device] : devices) {
    if (devices.size() == processes.size()) {
      out.guessed[device] = (next++)->second;
    } else if (const auto after = processes.lower_bound(row);
               after != processes.begin()) {
      out.guessed[device] = std::prev(after)->second;
    }
  }
}

}  // namespace

std::pair<std::vector<Launch>::const_iterator, std::vector<Launch>::const_iterator>
with_id(const std::vector<Launch>& launches, std::int64_t id) {
  const auto less = [](const Launch& a, const Launch& b) { return a.id < b.id; };
  return std::equal_range(launches.begin(), launches.end(), Launch{id, 0, 0, 0}, less);
}

std::int64_t Feeders::of(Device device) const {
  for (const auto* of : {&known, &guessed}) {
    if (const auto it = of->find(device); it != of->end()) return it->second;
  }
  return trace::kNoId;
}

Feeders find_feeders(const trace::Columns& columns, const Lanes& lanes,
                     const std::vector<Launch>& launches) {
  Feeders out;
  vote(columns, lanes, launches, out);
  guess(lanes, launches, out);
  return out;
}

}  // namespace tta::timeline
