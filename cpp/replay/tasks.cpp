// SPDX-License-Identifier: BSD-3-Clause
// replay/tasks.cpp: rows of streams, with the call that launched each.
#include "replay/tasks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "timeline/names.h"

namespace tta::replay {
namespace {

using timeline::Name;
using trace::Category;

TaskKind kind_of(Category category) {
  return category == Category::kGpuMemcpy   ? TaskKind::kCopy
         : category == Category::kGpuMemset ? TaskKind::kMemset
                                            : TaskKind::kKernel;
}

// Correlation ids count up: those of work from before the trace are less than any in
// it. Work whose launch was lost later has a higher one.
void judge_queued_before(const timeline::Timeline& t, const Calls& calls, Tasks& of) {
  const auto& ids = t.columns().correlation;
  std::int64_t least = 0;
  for (const auto& call : calls.all) {
    const auto id = ids[call.row];
    if (id > 0 && (least == 0 || id < least)) least = id;
  }
  for (std::size_t s = 0; s < of.streams.size(); ++s) {
    bool launch_follows = false;
    for (auto i = of.first[s + 1]; i-- > of.first[s];) {
      auto& task = of.all[i];
      launch_follows = launch_follows || task.call != kNone;
      if (!task.queued_before) continue;
      const auto id = ids[task.row];
      task.queued_before = id > 0 && least > 0 ? id < least : launch_follows;
      of.queued_before += task.queued_before;
    }
  }
}

// The two last ends on a device, of different streams.
struct LastEnds {
  std::int64_t last = std::numeric_limits<std::int64_t>::min(), other = last;
  std::uint32_t stream = kNone;

  void add(const Task& task) {
    if (task.stream != stream && task.end > last) {
      other = last;
      stream = task.stream;
    }
    auto& own = task.stream == stream ? last : other;
    own = std::max(own, task.end);
  }
  std::int64_t beside(const Task& task) const {
    return task.stream == stream ? other : last;
  }
};

void judge_beside(const timeline::Timeline& t, Tasks& of) {
  if (of.streams.size() < 2) return;
  std::vector<std::uint32_t> by_begin(of.all.size());
  std::iota(by_begin.begin(), by_begin.end(), 0u);
  std::sort(by_begin.begin(), by_begin.end(), [&](auto a, auto b) {
    return std::pair(of.all[a].begin, a) < std::pair(of.all[b].begin, b);
  });
  std::map<std::int32_t, LastEnds> devices;
  for (const auto i : by_begin) {
    auto& task = of.all[i];
    auto& ends = devices[t.lanes.lanes[of.streams[task.stream]].device];
    task.beside = ends.stream != kNone && ends.beside(task) > task.begin;
    ends.add(task);
  }
}

}  // namespace

CopyKind copy_kind(const timeline::Meanings& name, std::int64_t bytes) {
  using timeline::CopyDirection;
  const auto direction = timeline::direction_of(name);
  const bool down = direction == CopyDirection::kToHost;
  if (!down && direction != CopyDirection::kToDevice) return CopyKind::kNotToHost;
  if (name[static_cast<std::size_t>(Name::kPinned)]) return CopyKind::kFromPinned;
  if (down) return CopyKind::kDownPageable;
  return bytes > kStagedBytes ? CopyKind::kUpPageableLarge : CopyKind::kUpPageable;
}

Tasks find_tasks(const timeline::Timeline& t, const timeline::EventArgs& args,
                 const Calls& calls) {
  const auto& c = t.columns();
  Tasks out;
  out.of_call.assign(calls.all.size(), 0);
  out.of_row.assign(c.size(), kNone);
  for (const auto& lane : t.lanes.streams()) {
    if (lane.first == lane.last) continue;
    const auto stream = static_cast<std::uint32_t>(out.streams.size());
    out.streams.push_back(lane.id);
    out.first.push_back(static_cast<std::uint32_t>(out.all.size()));
    std::uint32_t before = kNone;
    for (const auto row : t.lanes.rows_of(lane)) {
      const auto launch = t.launch_of(row);
      const auto call = launch == timeline::kNoRow ? kNone : calls.of_row[launch];
      Task task{row,
                stream,
                call,
                kind_of(c.cat(row)),
                CopyKind::kNotToHost,
                true,
                false,
                false,
                false,
                c.ts[row],
                c.end(row)};
      if (task.kind == TaskKind::kCopy) {
        task.copy = copy_kind(t.names[c.name[row]], args.work(row).bytes);
      }
      if (call != kNone) {
        ++out.of_call[call];
        task.of_graph = t.named(calls.all[call].row, Name::kGraphLaunch);
        task.first_of_call = call != before;
        out.inversions +=
            before != kNone && calls.all[call].begin < calls.all[before].begin;
        before = call;
      }
      task.queued_before = before == kNone;
      out.of_row[row] = static_cast<std::uint32_t>(out.all.size());
      out.all.push_back(task);
    }
  }
  out.first.push_back(static_cast<std::uint32_t>(out.all.size()));
  judge_queued_before(t, calls, out);
  judge_beside(t, out);
  out.by_launch.resize(out.all.size());
  std::iota(out.by_launch.begin(), out.by_launch.end(), 0u);
  std::erase_if(out.by_launch, [&](auto i) { return out.all[i].call == kNone; });
  std::stable_sort(out.by_launch.begin(), out.by_launch.end(), [&](auto a, auto b) {
    const auto &x = out.all[a], &y = out.all[b];
    return std::tuple(calls.all[x.call].begin, x.call, x.begin) <
           std::tuple(calls.all[y.call].begin, y.call, y.begin);
  });
  return out;
}

std::span<const std::uint32_t> Tasks::of(const Calls& calls, std::uint32_t call) const {
  const auto key = [&](std::uint32_t c) { return std::pair(calls.all[c].begin, c); };
  const auto it = std::lower_bound(
      by_launch.begin(), by_launch.end(), key(call),
      [&](std::uint32_t task, const auto& k) { return key(all[task].call) < k; });
  return {it, it + of_call[call]};
}

}  // namespace tta::replay
