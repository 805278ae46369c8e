// SPDX-License-Identifier: BSD-3-Clause
// replay/tasks.cpp: rows of streams, with the call that launched each.
#include "replay/tasks.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "timeline/by_name.h"

namespace tta::replay {
namespace {

using trace::Category;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool launches_a_graph(std::string_view name) { return contains(name, "GraphLaunch"); }

CopyKind kind_of_copy(std::string_view name, std::int64_t bytes) {
  const bool up = contains(name, "HtoD") || contains(name, "HostToDevice");
  const bool down = contains(name, "DtoH") || contains(name, "DeviceToHost");
  if (!up && !down) return CopyKind::kNotToHost;
  if (contains(name, "Pinned")) return CopyKind::kFromPinned;
  if (down) return CopyKind::kDownPageable;
  // Of unknown size: taken for small, which waits for nothing.
  return bytes > kStagedBytes ? CopyKind::kUpPageableLarge : CopyKind::kUpPageable;
}

TaskKind kind_of(Category category) {
  return category == Category::kGpuMemcpy   ? TaskKind::kCopy
         : category == Category::kGpuMemset ? TaskKind::kMemset
                                            : TaskKind::kKernel;
}

}  // namespace

Tasks find_tasks(const timeline::Timeline& t, const timeline::EventArgs& args,
                 const Calls& calls) {
  const auto& c = t.columns();
  timeline::ByName<launches_a_graph> graph(*t.trace);
  Tasks out;
  out.of_call.assign(calls.all.size(), 0);
  out.of_row.assign(c.size(), kNone);
  for (std::uint32_t lane = 0; lane < t.lanes.lanes.size(); ++lane) {
    const auto& l = t.lanes.lanes[lane];
    if (!l.is_stream || l.first == l.last) continue;
    const auto stream = static_cast<std::uint32_t>(out.streams.size());
    out.streams.push_back(lane);
    out.first.push_back(static_cast<std::uint32_t>(out.all.size()));
    std::uint32_t before = kNone;
    for (const auto row : t.lanes.rows_of(l)) {
      const auto launch = t.launch_of(row);
      const auto call = launch == timeline::kNoRow ? kNone : calls.of_row[launch];
      Task task{row,  stream, call,      kind_of(c.cat(row)), CopyKind::kNotToHost,
                true, false,  c.ts[row], c.end(row)};
      if (task.kind == TaskKind::kCopy) {
        task.copy = kind_of_copy(t.trace->name(row), args.work(row).bytes);
      }
      if (call != kNone) {
        ++out.of_call[call];
        task.of_graph = graph(calls.all[call].row);
        task.first_of_call = call != before;
        out.inversions +=
            before != kNone && calls.all[call].begin < calls.all[before].begin;
        before = call;
      }
      out.queued_before += before == kNone;
      out.of_row[row] = static_cast<std::uint32_t>(out.all.size());
      out.all.push_back(task);
    }
  }
  out.first.push_back(static_cast<std::uint32_t>(out.all.size()));
  out.by_launch.resize(out.all.size());
  std::iota(out.by_launch.begin(), out.by_launch.end(), 0u);
  std::erase_if(out.by_launch, [&](auto i) { return out.all[i].call == kNone; });
  std::stable_sort(out.by_launch.begin(), out.by_launch.end(), [&](auto a, auto b) {
    const auto &x = out.all[a], &y = out.all[b];
    const auto from = calls.all[x.call].begin, to = calls.all[y.call].begin;
    return from != to ? from < to : x.begin < y.begin;
  });
  return out;
}

}  // namespace tta::replay
