// SPDX-License-Identifier: BSD-3-Clause
// timeline/timeline.cpp: the parts of a timeline, in the order they need each other.
#include "timeline/timeline.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <queue>
#include <span>
#include <string>

#include "timeline/cursor.h"
#include "timeline/intervals.h"

namespace tta::timeline {

namespace {

using trace::Category;
using trace::Side;

constexpr double kLargePart = 0.05;
constexpr std::int64_t kOutOfProportion = 10;

bool takes_time(const trace::Columns& c, std::uint32_t row) {
  const auto& cat = c.cat_info(row);
  return c.timed(row) && (cat.side == Side::kHost || cat.device_work);
}

struct Part {
  Interval time;
  std::size_t events;
};

// Of rows by start: stretches with no hour of nothing inside.
std::vector<Part> parts_of(const trace::Columns& c,
                           const std::vector<std::uint32_t>& rows) {
  std::vector<Part> parts;
  for (const auto row : rows) {
    if (parts.empty() || c.ts[row] - parts.back().time.end >= kLongRecording) {
      parts.push_back({{c.ts[row], c.end(row)}, 0});
    }
    parts.back().time.end = std::max(parts.back().time.end, c.end(row));
    ++parts.back().events;
  }
  return parts;
}

}  // namespace

std::vector<std::uint32_t> find_outliers(const trace::Trace& t) {
  const auto& c = t.columns;
  const auto n = static_cast<std::uint32_t>(c.size());
  std::int64_t first = trace::kTimeLimit, last = -trace::kTimeLimit;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (!takes_time(c, row)) continue;
    first = std::min(first, c.ts[row]);
    last = std::max(last, c.end(row));
  }
  if (last - first < kLongRecording) return {};

  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (takes_time(c, row) && c.dur[row] < kLongRecording) rows.push_back(row);
  }
  if (rows.empty()) return {};  // nothing to measure the long ones by
  std::sort(rows.begin(), rows.end(),
            [&](auto a, auto b) { return c.ts[a] < c.ts[b]; });
  const auto parts = parts_of(c, rows);
  const auto least = kLargePart * static_cast<double>(rows.size());
  Interval kept{trace::kTimeLimit, -trace::kTimeLimit};
  std::vector<Interval> small;
  for (const auto& part : parts) {
    if (static_cast<double>(part.events) < least) {
      small.push_back(part.time);
    } else {
      kept.begin = std::min(kept.begin, part.time.begin);
      kept.end = std::max(kept.end, part.time.end);
    }
  }
  // Twenty parts or more of the same few events: nothing to tell the odd ones by.
  if (kept.begin > kept.end) return {};

  const auto in_small_part = [&](std::int64_t at) {
    const auto it = std::upper_bound(
        small.begin(), small.end(), at,
        [](std::int64_t when, const Interval& part) { return when < part.begin; });
    return it != small.begin() && at <= std::prev(it)->end;
  };
  std::vector<std::uint32_t> out;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (!takes_time(c, row)) continue;
    const bool is_long = c.dur[row] >= kLongRecording;
    const bool odd = is_long ? c.cat(row) != Category::kPythonFunction
                                   ? c.dur[row] / kOutOfProportion >= kept.length()
                                   : c.end(row) < kept.begin || c.ts[row] > kept.end
                             : in_small_part(c.ts[row]);
    if (odd) out.push_back(row);
  }
  return out;
}

namespace {

using trace::Category;

constexpr Interval kNothing{trace::kTimeLimit, -trace::kTimeLimit};

void extend(Interval& span, Interval by) {
  span.begin = std::min(span.begin, by.begin);
  span.end = std::max(span.end, by.end);
}

Interval analysed_span(const trace::Columns& c, const Lanes& lanes) {
  Interval recorded = kNothing, hard = kNothing, soft = kNothing, endless = kNothing;
  auto worked = -trace::kTimeLimit;  // until when a device did
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (!c.timed(row)) continue;
    const Interval time{c.ts[row], c.end(row)};
    const auto cat = c.cat(row);
    if (cat == Category::kTrace) {
      extend(recorded, time);
    } else if (lanes.lane[row] != kNoLane) {
      const bool marks =
          cat == Category::kUserAnnotation || cat == Category::kPythonFunction;
      auto& kind = !marks ? hard : time.length() < kLongRecording ? soft : endless;
      extend(kind, time);
      if (lanes.on_stream(row)) worked = std::max(worked, time.end);
    }
  }
  // Host events after the window closed have no recorded device work.
  const auto closed = std::max(recorded.end, worked);
  if (recorded.begin <= recorded.end && worked > hard.begin && closed > hard.begin) {
    hard.end = std::min(hard.end, closed);
  }
  // A frame of hours is trusted if anything else is in proportion to it.
  Interval rest = hard;
  extend(rest, soft);
  if (rest.begin > rest.end || endless.length() / 10 < rest.length()) {
    extend(soft, endless);
  }
  if (soft.begin > soft.end) return hard.begin > hard.end ? Interval{} : hard;
  if (recorded.begin <= recorded.end) soft = intersect(soft, recorded);
  if (soft.begin < soft.end) extend(hard, soft);
  return hard.begin > hard.end ? Interval{} : hard;
}

// Whether no device has all of its work before a moment. Linear in the streams.
bool all_work_after(const Lanes& lanes, const trace::Columns& c, std::int64_t when) {
  std::map<std::pair<std::int64_t, std::int32_t>, bool> works;
  for (const auto& lane : lanes.streams()) {
    const auto rows = lanes.rows_of(lane);
    works[{lane.pid, lane.number}] |= !rows.empty() && c.ts[rows.back()] >= when;
  }
  return std::ranges::all_of(works, [](const auto& one) { return one.second; });
}

// When devices that were busy before the recording came to their first recorded work:
// launched long before, it had waited for most of the time that nothing ran. What
// slipped in before on another stream is next to nothing. `begin` if no such wait is
// known, or if the host had waited for a device to be done. O(n log n) in the rows.
std::int64_t after_unseen_work(const trace::Columns& c, const Lanes& lanes,
                               const Links& links, const Names& names,
                               const std::vector<ThreadWaits>& waits,
                               std::int64_t begin) {
  constexpr std::int64_t kSlippedIn = 20;  // 5 % of that time
  using Rows = std::span<const std::uint32_t>;
  const auto later = [&](Rows a, Rows b) { return c.ts[a.front()] > c.ts[b.front()]; };
  std::priority_queue<Rows, std::vector<Rows>, decltype(later)> next(later);
  for (const auto& lane : lanes.streams()) {
    if (const Rows rows = lanes.rows_of(lane); !rows.empty()) next.push(rows);
  }
  std::int64_t until = begin, busy = 0;
  while (!next.empty()) {
    const auto rows = next.top();
    next.pop();
    const auto row = rows.front();
    const auto launch = links.launch[row];
    const auto gap = c.ts[row] - until;
    if (gap >= kUnseenWork && launch != kNoRow) {
      const auto waited = c.ts[row] - std::max(until, c.end(launch));
      const bool unseen =
          waited >= kUnseenWork && waited >= gap / 2 && busy <= gap / kSlippedIn;
      // A device that was waited for had nothing left to do.
      const bool drained = std::ranges::any_of(waits, [&](const ThreadWaits& thread) {
        return std::ranges::any_of(thread.waits, [&](const HostWait& wait) {
          return wait.end <= c.ts[launch] &&
                 names.is(c.name[wait.row], Name::kDeviceSynchronize);
        });
      });
      return unseen && !drained && all_work_after(lanes, c, c.ts[row]) ? c.ts[row]
                                                                       : begin;
    }
    busy += c.dur[row];
    until = std::max(until, c.end(row));
    if (rows.size() > 1) next.push(rows.subspan(1));
  }
  return begin;
}

// Adds to each device what it did before the cut, right before it, so that no work is
// lost: the span begins that much earlier. Linear in the rows before the cut.
void keep_slipped_work(const trace::Columns& c, Timeline& t) {
  const auto cut = t.span.begin;
  std::vector<std::int64_t> slipped;
  for (const auto& d : t.devices) {
    std::vector<Interval> before;
    for (const auto row : d.rows) {
      if (c.ts[row] >= cut) break;
      before.push_back({std::max(t.head.begin, c.ts[row]), std::min(cut, c.end(row))});
    }
    std::erase_if(before, [](const Interval& i) { return i.begin >= i.end; });
    slipped.push_back(total(unite(std::move(before))));
  }
  t.span.begin -= slipped.empty() ? 0 : std::ranges::max(slipped);
  for (std::size_t i = 0; i < slipped.size(); ++i) {
    auto& d = t.devices[i];
    const Interval work{cut - slipped[i], cut};
    const Interval idle{t.span.begin, work.begin};
    const bool idle_at_cut = !d.gaps.empty() && d.gaps.front().time.begin == cut;
    if (work.length() > 0) {
      if (!idle_at_cut && !d.busy.empty() && d.busy.front().begin == cut) {
        d.busy.front().begin = work.begin;
      } else {
        d.busy.insert(d.busy.begin(), work);
      }
      d.busy_ns += work.length();
      if (idle_at_cut) d.gaps.front().previous = d.rows.front();
    }
    if (idle.length() == 0) continue;
    if (work.length() == 0 && idle_at_cut) {
      d.gaps.front().time.begin = idle.begin;
    } else {
      d.gaps.insert(d.gaps.begin(), Gap{idle, d.rows.front(), kNoRow});
    }
  }
}

// Whose streams they are: the process that is known to feed them, else the pid that
// the file gives them.
struct Owner {
  std::int32_t number;
  bool is_text;
  std::int64_t pid;
  std::string text;  // ids of texts follow the order of rows
  bool known;
  auto operator<=>(const Owner&) const = default;
};

Owner owner_of(const trace::Trace& trace, const Links& links, const Lane& stream) {
  const auto feeder = links.feeders.find({stream.pid, stream.number});
  const bool known = feeder != links.feeders.end();
  const auto pid = known ? feeder->second : stream.pid;
  const bool is_text = pid >= trace::kTextIdentity;
  return {stream.number, is_text, is_text ? 0 : pid, is_text ? trace.identity(pid) : "",
          known};
}

// Gives each device of a file merged from several ranks a key of its own.
//
// Ranks that see one GPU each all call it device 0, and merging tools only make the
// pids differ ("[TP01] 0", pid + 10000 * rank); Kineto itself writes a device's rows
// under one pid. So streams with one device number and several pids are of several
// devices, unless one process is known to feed them. The one of the least pid keeps
// its number as key. O(n log n) in the lanes.
void tell_devices_apart(const trace::Trace& trace, const Links& links, Lanes& lanes) {
  std::map<Owner, std::int32_t> keys;
  std::int32_t last = 0;
  for (const auto& lane : lanes.streams()) {
    if (lane.number < 0) continue;
    keys[owner_of(trace, links, lane)] = lane.number;
    last = std::max(last, lane.number);
  }
  const Owner* before = nullptr;
  for (auto& [owner, key] : keys) {
    const bool alike = before != nullptr && before->number == owner.number;
    if (alike && last < std::numeric_limits<std::int32_t>::max()) key = ++last;
    before = &owner;
  }
  for (auto& lane : lanes.lanes) {
    if (!lane.is_stream || lane.number < 0) continue;
    lane.device = keys.at(owner_of(trace, links, lane));
  }
}

}  // namespace

std::uint32_t Timeline::owner_of(std::uint32_t row) const {
  if (lanes.on_stream(row)) row = links.launch[row];
  if (row == kNoRow) return kNoRow;
  return tree.enclosing(trace->columns, row, Category::kCpuOp);
}

const DeviceProperties* Timeline::properties_of(std::int32_t device) const {
  const auto at = std::lower_bound(
      devices.begin(), devices.end(), device,
      [](const DeviceTime& d, std::int32_t key) { return d.device < key; });
  if (at != devices.end() && at->device == device) device = at->number;
  for (const auto& p : properties) {
    if (p.id == device) return &p;
  }
  // ROCm numbers devices as nodes of its topology, after the CPUs, and the header from
  // 0 on (seen: device 2 and 9 of a header with 0 alone). Equal ones need no number.
  const auto alike = [&](const DeviceProperties& p) {
    return p.name == properties[0].name &&
           p.multiprocessors == properties[0].multiprocessors &&
           p.memory == properties[0].memory;
  };
  return !properties.empty() && std::ranges::all_of(properties, alike) ? &properties[0]
                                                                       : nullptr;
}

bool Timeline::at_work(std::uint32_t lane, Interval time) const {
  const Cursor cursor(*this, lane);
  for (const auto row : tree.around(cursor.begun(time.begin - 1))) {
    if (is_work(row) && columns().end(row) > time.begin) return true;
  }
  return std::ranges::any_of(cursor.in(time), [&](auto row) { return is_work(row); });
}

bool Timeline::is_closing_sync(std::uint32_t row) const {
  if (!columns().cat_info(row).runtime_api || !named(row, Name::kDeviceSynchronize)) {
    return false;
  }
  // With stacks on, torch's own frames are around it.
  for (const auto at : tree.above(row)) {
    if (named(at, Name::kStopsProfiler)) return true;
  }
  return tree.parent[row] == kNoRow && lanes.rows_of(lanes.lane[row]).back() == row;
}

Timeline make_timeline(const trace::Trace& trace) {
  Timeline t;
  t.trace = &trace;
  t.names = Names(trace.strings);
  t.outliers = find_outliers(trace);
  t.lanes = make_lanes(trace, t.outliers);
  // Of a trace loaded in part, rows that only reach into the part do not widen it.
  t.span = intersect(analysed_span(trace.columns, t.lanes),
                     {std::max(trace.kept.begin, -trace::kTimeLimit),
                      std::min(trace.kept.end, trace::kTimeLimit)});
  t.tree = make_op_tree(trace, t.lanes);
  t.links = make_links(trace, t.names, t.lanes);
  tell_devices_apart(trace, t.links, t.lanes);
  t.launch_calls = list_launch_calls(trace, t.names, t.lanes, t.links);
  t.spans = make_spans(trace, t.lanes);
  t.waits = make_host_waits(trace, t.names, t.lanes, t.links, t.tree);
  t.head.begin = t.span.begin;
  t.span.begin = after_unseen_work(trace.columns, t.lanes, t.links, t.names, t.waits,
                                   t.span.begin);
  t.devices = make_device_times(trace, t.lanes, t.links, t.span);
  if (t.span.begin > t.head.begin) keep_slipped_work(trace.columns, t);
  t.head.end = t.span.begin;
  if (t.devices.empty()) t.host = make_host_times(trace, t.lanes, t.spans, t.span);
  t.properties = read_device_properties(trace);
  return t;
}

}  // namespace tta::timeline
