// SPDX-License-Identifier: BSD-3-Clause
// replay/sync_rows.cpp: cuda_sync rows, by the correlation of their calls.
#include "replay/sync_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "trace/args.h"

namespace tta::replay {
namespace {

// Calls by correlation and process: ids repeat in a file merged from several ranks.
class CallFinder {
 public:
  CallFinder(const timeline::Timeline& t, const Calls& calls) {
    const auto& c = t.columns();
    for (std::uint32_t row = 0; row < c.size(); ++row) {
      const auto call = calls.of_row[row];
      if (call == kNone || c.correlation[row] <= 0) continue;
      all_.emplace_back(c.correlation[row], c.pid[row], call);
    }
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  }

  // The only call of a process with this id, or of all if it is not known; kNone.
  std::uint32_t find(std::int64_t correlation, std::int64_t pid) const {
    auto found = kNone;
    for (auto it = std::lower_bound(all_.begin(), all_.end(),
                                    Entry{correlation, least(pid), 0});
         it != all_.end() && std::get<0>(*it) == correlation; ++it) {
      if (pid != trace::kNoId && std::get<1>(*it) != pid) break;
      if (found != kNone) return kNone;
      found = std::get<2>(*it);
    }
    return found;
  }

 private:
  using Entry = std::tuple<std::int64_t, std::int64_t, std::uint32_t>;
  static std::int64_t least(std::int64_t pid) {
    return pid == trace::kNoId ? std::numeric_limits<std::int64_t>::min() : pid;
  }
  std::vector<Entry> all_;
};

// The device side of a trace: a device has a number in each process that uses it.
class Devices {
 public:
  Devices(const timeline::Timeline& t, const Calls& calls, const Tasks& tasks) {
    const auto& c = t.columns();
    for (std::uint32_t s = 0; s < tasks.streams.size(); ++s) {
      const auto& lane = t.lanes.lanes[tasks.streams[s]];
      streams_.emplace(std::tuple(lane.pid, lane.number, lane.stream), s);
      for (auto i = tasks.first[s]; i < tasks.first[s + 1]; ++i) {
        if (tasks.all[i].call == kNone) continue;
        const auto pid = c.pid[calls.all[tasks.all[i].call].row];
        const auto [it, is_new] =
            feeders_.emplace(std::pair(lane.pid, lane.number), pid);
        if (it->second != pid) it->second = trace::kNoId;
        break;
      }
    }
  }

  // `pid` is that of rows of the device. kNone if it has no such stream.
  std::uint32_t stream(std::int64_t pid, std::int64_t device, std::int64_t id) const {
    const auto it = streams_.find({pid, device, id});
    return it == streams_.end() ? kNone : it->second;
  }
  // The process that launches its work; trace::kNoId if that is not known.
  std::int64_t feeder(std::int64_t pid, std::int64_t device) const {
    const auto it = feeders_.find({pid, device});
    return it == feeders_.end() ? trace::kNoId : it->second;
  }

 private:
  using Id = std::int64_t;
  std::map<std::tuple<Id, Id, Id>, std::uint32_t> streams_;
  std::map<std::pair<Id, Id>, Id> feeders_;
};

}  // namespace

std::vector<SyncRow> find_sync_rows(const timeline::Timeline& t, const Calls& calls,
                                    const Tasks& tasks) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.cat(row) == trace::Category::kCudaSync) rows.push_back(row);
  }
  std::vector<SyncRow> out;
  if (rows.empty()) return out;
  const CallFinder finder(t, calls);
  const Devices devices(t, calls, tasks);
  t.trace->visit_args(rows, [&](std::size_t i, std::string_view text) {
    std::int64_t device = -1, stream = -1, on = -1, record = -1, correlation = -1;
    trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
      auto* into = key == "device"                              ? &device
                   : key == "stream"                            ? &stream
                   : key == "wait_on_stream"                    ? &on
                   : key == "wait_on_cuda_event_record_corr_id" ? &record
                   : key == "correlation"                       ? &correlation
                                                                : nullptr;
      if (into != nullptr) *into = trace::as_int(value).value_or(-1);
    });
    const auto pid = c.pid[rows[i]];
    const auto feeder = devices.feeder(pid, device);
    SyncRow row{finder.find(correlation, feeder)};
    if (row.call == kNone) return;
    row.stream = devices.stream(pid, device, stream);
    row.event_stream = devices.stream(pid, device, on);
    if (record > 0) row.record = finder.find(record, feeder);
    out.push_back(row);
  });
  // Of several rows of one call, the first of the file.
  std::stable_sort(out.begin(), out.end(),
                   [](auto& a, auto& b) { return a.call < b.call; });
  const auto same = [](auto& a, auto& b) { return a.call == b.call; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

const SyncRow* sync_row_of(const std::vector<SyncRow>& rows, std::uint32_t call) {
  const auto it = std::lower_bound(
      rows.begin(), rows.end(), call,
      [](const SyncRow& row, std::uint32_t wanted) { return row.call < wanted; });
  return it == rows.end() || it->call != call ? nullptr : &*it;
}

}  // namespace tta::replay
