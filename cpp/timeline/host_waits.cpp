// SPDX-License-Identifier: BSD-3-Clause
// timeline/host_waits.cpp: judges each runtime call by its name or by its copy.
#include "timeline/host_waits.h"

#include <string_view>

namespace tta::timeline {
namespace {

using trace::Category;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool blocks_by_name(std::string_view name) {
  if (contains(name, "ynchronize")) return true;
  return contains(name, "Memcpy") && !contains(name, "Async") &&
         !contains(name, "enqueueCommand");  // MTIA's queue: asynchronous by design
}

}  // namespace

std::vector<ThreadWaits> make_host_waits(const trace::Trace& t, const Lanes& lanes,
                                         const Links& links) {
  const auto& c = t.columns;
  std::vector<char> by_name(t.strings.size());
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    by_name[id] = blocks_by_name(t.strings.view(id));
  }
  std::vector<char> outlasts_copy(c.size(), 0);
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream) continue;
    for (const auto row : lanes.rows_of(lane)) {
      const auto launch = links.launch[row];
      if (launch != kNoRow && c.cat(row) == Category::kGpuMemcpy &&
          c.cat_info(launch).runtime_api && c.end(launch) >= c.end(row)) {
        outlasts_copy[launch] = 1;
      }
    }
  }
  std::vector<ThreadWaits> out;
  for (const auto& lane : lanes.lanes) {
    if (lane.is_stream) continue;
    ThreadWaits thread{lane.pid, lanes.lane[lanes.rows[lane.first]], {}};
    for (const auto row : lanes.rows_of(lane)) {
      if (!c.cat_info(row).runtime_api) continue;
      if (!by_name[c.name[row]] && !outlasts_copy[row]) continue;
      // A call inside another (hipMemcpyWithStream, then its driver's own) is one wait.
      if (!thread.waits.empty() && c.ts[row] < thread.waits.back().end) continue;
      thread.waits.push_back({row, c.ts[row], c.end(row)});
    }
    if (!thread.waits.empty()) out.push_back(std::move(thread));
  }
  return out;
}

}  // namespace tta::timeline
