// SPDX-License-Identifier: BSD-3-Clause
// timeline/lanes.cpp: groups rows by thread or stream, then sorts each group.
#include "timeline/lanes.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "trace/order.h"

namespace tta::timeline {
namespace {

using trace::Category;
using trace::Side;

// MTIA records what a stream waits for beside what it runs; waiting is not work
// (CUDA's "Stream Wait Event" has a category of its own and needs no such list).
std::vector<char> device_waits(const trace::Trace& t) {
  std::vector<char> waits(t.strings.size(), 0);
  for (const char* name : {"event_wait", "event_record"}) {
    if (const auto id = t.strings.find(name); id >= 0) waits[id] = 1;
  }
  return waits;
}

struct Key {
  bool is_stream;
  std::int64_t pid, tid, stream;
  std::int32_t device;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = static_cast<std::uint64_t>(k.pid) * 0x9e3779b97f4a7c15ULL;
    h ^= (static_cast<std::uint64_t>(k.tid) + 0x632be59bd9b4e019ULL + (h << 6));
    h ^= (static_cast<std::uint64_t>(k.stream) * 31 + k.device + (h >> 7));
    return h * 2 + (k.is_stream ? 1 : 0);
  }
};

// Sorts rows by start, the longer first, then the outer kind, then by number, as
// trace::order_rows does. The times are brought together first: looked up in the
// columns for each comparison, they cost twice as much.
void sort_lane(const trace::Columns& c, std::span<std::uint32_t> rows) {
  struct Key {
    std::int64_t ts, dur;
    std::uint32_t row;
  };
  const auto before = [&](const Key& a, const Key& b) {
    if (a.ts != b.ts) return a.ts < b.ts;
    if (a.dur != b.dur) return a.dur > b.dur;
    return std::tuple(trace::depth_rank(c.cat(a.row)), a.row) <
           std::tuple(trace::depth_rank(c.cat(b.row)), b.row);
  };
  std::vector<Key> keys;
  keys.reserve(rows.size());
  bool sorted = true;
  for (const auto row : rows) {
    keys.push_back({c.ts[row], c.dur[row], row});
    sorted = sorted && (keys.size() == 1 || !before(keys.back(), *(keys.end() - 2)));
  }
  if (sorted) return;
  std::sort(keys.begin(), keys.end(), before);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = keys[i].row;
}

}  // namespace

Lanes make_lanes(const trace::Trace& t, std::span<const std::uint32_t> left_out) {
  const auto& c = t.columns;
  const auto n = static_cast<std::uint32_t>(c.size());
  const auto waits = device_waits(t);
  Lanes out;
  out.lane.assign(n, kNoLane);
  std::unordered_map<Key, std::uint32_t, KeyHash> ids;
  std::vector<std::uint32_t> counts;
  Key last_key{};
  std::uint32_t last_id = kNoLane;
  for (std::uint32_t row = 0; row < n; ++row) {
    const auto& cat = c.cat_info(row);
    const bool on_stream = cat.device_work && !waits[c.name[row]];
    if ((cat.side != Side::kHost && !on_stream) || !c.timed(row)) continue;
    if (!left_out.empty() &&
        std::binary_search(left_out.begin(), left_out.end(), row)) {
      continue;
    }
    // A stream is known by device and number; tid only tells AMD's and MTIA's apart
    // where the file gives no stream.
    const Key key{on_stream, c.pid[row], on_stream ? 0 : c.tid[row],
                  on_stream ? (c.stream[row] >= 0 ? c.stream[row] : c.tid[row]) : -1,
                  on_stream ? c.device[row] : -1};
    if (last_id == kNoLane || !(key == last_key)) {
      const auto [it, fresh] = ids.emplace(key, static_cast<std::uint32_t>(ids.size()));
      if (fresh) {
        counts.push_back(0);
        out.lanes.push_back(
            {on_stream, key.pid, c.tid[row], key.device, key.device, key.stream, 0, 0});
      }
      last_key = key;
      last_id = it->second;
    }
    out.lane[row] = last_id;
    ++counts[last_id];
  }

  // Threads first: a stable renumbering of the lanes.
  std::vector<std::uint32_t> order(out.lanes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto streams = std::stable_partition(
      order.begin(), order.end(), [&](auto id) { return !out.lanes[id].is_stream; });
  out.thread_count = static_cast<std::size_t>(streams - order.begin());
  std::vector<std::uint32_t> number(order.size());
  std::vector<Lane> sorted;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    number[order[i]] = i;
    Lane lane = out.lanes[order[i]];
    lane.id = i;
    lane.first = lane.last = at;
    at += counts[order[i]];
    sorted.push_back(lane);
  }
  out.lanes = std::move(sorted);
  out.rows.resize(at);
  for (std::uint32_t row = 0; row < n; ++row) {
    if (out.lane[row] == kNoLane) continue;
    out.lane[row] = number[out.lane[row]];
    out.rows[out.lanes[out.lane[row]].last++] = row;
  }

  for (const auto& lane : out.lanes)
    sort_lane(c, {out.rows.data() + lane.first, out.rows.data() + lane.last});
  return out;
}

}  // namespace tta::timeline
