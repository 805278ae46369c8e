// SPDX-License-Identifier: BSD-3-Clause
// patterns/marks.cpp: intersects marks with the gaps that a late launch ended.
#include "patterns/marks.h"

#include <algorithm>
#include <unordered_map>

#include "patterns/dispatching.h"
#include "patterns/facts.h"

namespace tta::patterns {
namespace {

// What of a gap the host can be blamed for, and by which thread.
struct Late {
  Interval time;
  std::uint32_t lane = timeline::kNoLane;  // of the launch; kNoLane if unknown
  // The launch, if it was under way when the device ran dry: late is only it itself.
  std::uint32_t under_way = kNoRow;
};

// A launch that takes longer first does something else, such as loading a module. A
// shorter one in progress when a device runs dry is ordinary, and in time.
constexpr auto kSlowLaunch =
    static_cast<std::int64_t>(kSlowLaunchThreshold.value) * 1000;

std::vector<Late> late_gaps(const timeline::Timeline& t, const timeline::DeviceTime& d,
                            bool at_the_end) {
  const auto& c = t.columns();
  std::vector<Late> out;
  for (const auto& gap : d.gaps) {
    const auto launch = t.launch_of(gap.next);
    if (launch == kNoRow) {
      // Work without a known launch: the host's part is not known to have ended.
      if (gap.next != kNoRow || at_the_end) out.push_back({gap.time});
      continue;
    }
    const auto called = std::min(gap.time.end, c.end(launch));
    if (c.ts[launch] > gap.time.begin) {
      out.push_back({{gap.time.begin, called}, t.lanes.lane[launch]});
    } else if (called > gap.time.begin && c.dur[launch] >= kSlowLaunch) {
      out.push_back({{gap.time.begin, called}, t.lanes.lane[launch], launch});
    }
  }
  return out;
}

// Tells whether a mark is a call, or holds all of it.
bool encloses(const trace::Columns& c, const Mark& mark, std::uint32_t call) {
  return mark.row == call ||
         (mark.time.begin <= c.ts[call] && mark.time.end >= c.end(call));
}

// The marks of each thread and of each process, none of a list overlapping another: so
// that each moment of a gap is looked at once, however many threads a file has.
class MarkIndex {
 public:
  /// Marks by begin.
  MarkIndex(const trace::Columns& c, const timeline::Lanes& lanes,
            const std::vector<Mark>& marks) {
    for (const auto& mark : marks) {
      add(by_lane_[lanes.lane[mark.row]], mark);
      add(by_process_[c.pid[mark.row]], mark);
      add(all_, mark);
    }
  }

  const std::vector<Mark>& of_lane(std::uint32_t lane) const {
    const auto it = by_lane_.find(lane);
    return it == by_lane_.end() ? none_ : it->second;
  }
  /// All marks if the process is not known.
  const std::vector<Mark>& of_process(std::int64_t pid) const {
    if (pid == trace::kNoId) return all_;
    const auto it = by_process_.find(pid);
    return it == by_process_.end() ? none_ : it->second;
  }

 private:
  static void add(std::vector<Mark>& list, Mark mark) {
    if (!list.empty())
      mark.time.begin = std::max(mark.time.begin, list.back().time.end);
    if (mark.time.length() > 0) list.push_back(mark);
  }

  std::unordered_map<std::uint32_t, std::vector<Mark>> by_lane_;
  std::unordered_map<std::int64_t, std::vector<Mark>> by_process_;
  std::vector<Mark> all_, none_;
};

}  // namespace

bool holds_up(const timeline::Timeline& t, std::uint32_t lane, std::uint32_t mark,
              Interval time) {
  return lane == t.lanes.lane[mark] || !t.at_work(lane, time);
}

void note_sites(const Context& context, PatternId pattern, std::vector<Mark> marks) {
  context.facts.sites[pattern] = std::move(marks);
}

std::uint32_t host_row(const timeline::Timeline& t, const Mark& site) {
  const auto launch = t.lanes.on_stream(site.row) ? t.launch_of(site.row) : site.row;
  return launch == kNoRow ? site.row : launch;
}

std::int64_t begin_of(const timeline::Timeline& t, const Mark& site) {
  return site.time.length() > 0 ? site.time.begin : t.columns().ts[host_row(t, site)];
}

std::vector<Claim> claim_marks(const Context& context, PatternId pattern,
                               std::vector<Mark> marks, bool at_the_end) {
  note_sites(context, pattern, marks);
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  if (marks.empty()) return claims;
  const auto before = [](const Mark& a, const Mark& b) {
    return a.time.begin < b.time.begin;
  };
  if (!std::is_sorted(marks.begin(), marks.end(), before)) {
    std::stable_sort(marks.begin(), marks.end(), before);
  }
  if (t.host) {
    std::vector<std::int64_t> reached(t.host.size(), t.span.begin);
    for (const auto& mark : marks) {
      const auto i = t.host.index_of(c.pid[mark.row]);
      if (i == timeline::HostTimes::kNone) continue;
      const Interval time{std::max(mark.time.begin, reached[i]), mark.time.end};
      if (time.length() == 0 || !holds_up(t, t.host[i].lane, mark.row, time)) continue;
      for (const auto& part : context.ledger.idle(i, time)) {
        claims.push_back(
            {pattern, mark.subtype, false, -1, part.begin, part.end, mark.row});
      }
      reached[i] = time.end;
    }
    return claims;
  }
  const MarkIndex index(c, t.lanes, marks);
  std::vector<Interval> taken;  // of the current gap
  for (const auto i : fed_devices(t)) {
    const auto& d = t.devices[i];
    for (const auto& gap : late_gaps(t, d, at_the_end)) {
      taken.clear();
      const auto free = context.ledger.idle(i, gap.time);
      if (free.empty()) continue;
      const auto take = [&](const std::vector<Mark>& from, bool own) {
        const auto given = timeline::unite(taken);
        auto mark = std::upper_bound(
            from.begin(), from.end(), gap.time.begin,
            [](std::int64_t at, const Mark& m) { return at < m.time.end; });
        for (; mark != from.end() && mark->time.begin < gap.time.end; ++mark) {
          // Of the thread's own all was taken before.
          if (!own && t.lanes.lane[mark->row] == gap.lane) continue;
          if (gap.under_way != kNoRow && !encloses(c, *mark, gap.under_way)) continue;
          const auto late = timeline::intersect(gap.time, mark->time);
          if (!own && gap.lane != timeline::kNoLane &&
              !holds_up(t, gap.lane, mark->row, late)) {
            continue;
          }
          auto left = timeline::clip(free, late);
          if (!given.empty()) {
            left = timeline::subtract(left, timeline::clip(given, late));
          }
          for (const auto& part : left) {
            claims.push_back({pattern, mark->subtype, true, d.device, part.begin,
                              part.end, mark->row});
            taken.push_back(part);
          }
        }
      };
      if (gap.lane != timeline::kNoLane &&
          (d.pid == trace::kNoId || d.pid == t.lanes.lanes[gap.lane].pid)) {
        take(index.of_lane(gap.lane), true);
      }
      if (gap.under_way == kNoRow) take(index.of_process(d.pid), false);
    }
  }
  return claims;
}

}  // namespace tta::patterns
