// SPDX-License-Identifier: BSD-3-Clause
// replay/sync_rows.cpp: cuda_sync rows, by the correlation of their calls.
#include "replay/sync_rows.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/args.h"

namespace tta::replay {
namespace {

using Correlations = std::unordered_map<std::int64_t, std::uint32_t>;

// The call of each correlation; kNone where calls of two processes share it, as in a
// file merged from several ranks.
Correlations calls_by_correlation(const timeline::Timeline& t, const Calls& calls) {
  const auto& c = t.columns();
  Correlations out;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    const auto call = calls.of_row[row];
    if (call == kNone || c.correlation[row] <= 0) continue;
    const auto [it, first] = out.emplace(c.correlation[row], call);
    if (!first && it->second != call) it->second = kNone;
  }
  return out;
}

std::uint32_t call_of(const Correlations& calls, std::int64_t correlation) {
  const auto it = calls.find(correlation);
  return it == calls.end() ? kNone : it->second;
}

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
  const auto by_correlation = calls_by_correlation(t, calls);
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams;
  for (std::uint32_t s = 0; s < tasks.streams.size(); ++s) {
    const auto& lane = t.lanes.lanes[tasks.streams[s]];
    streams.emplace(std::pair(std::int64_t{lane.device}, lane.stream), s);
  }
  t.trace->visit_args(rows, [&](std::size_t, std::string_view text) {
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
    SyncRow row{call_of(by_correlation, correlation)};
    if (row.call == kNone) return;
    const auto place = [&](std::int64_t id) {
      const auto it = streams.find({device, id});
      return it == streams.end() ? kNone : it->second;
    };
    row.stream = place(stream);
    row.event_stream = place(on);
    if (record > 0) row.record = call_of(by_correlation, record);
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
