// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/frequent_memcpy.cpp: many small copies between host and device.
//
// Each copy costs the same 10 us of host time and its own trip over the bus, however
// small. The cost is what they take from the device: idle time while the thread that
// launches next is busy issuing them, and copy time with no kernel beside it. Copies
// that only fetch a value to decide on (.item(), nonzero) are sync_stall.
//
// Of any size count the copies of an operator that takes device data to the host and
// straight back: what comes down goes up again as the device's next work, of the same
// size. Such an operator ran on the host.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/copies.h"
#include "patterns/marks.h"
#include "replay/fewer_launches.h"

namespace tta::patterns {
namespace frequent_memcpy {
namespace {

enum : std::size_t { kMinShare, kMinPerStep, kSmallBytes, kMaxCall };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_per_step", 10, "count",
              "TraceLens: more than 10 copies; without steps, in the whole trace"},
    Threshold{"small_bytes", 1 << 16, "bytes",
              "CUDA stages up to 64 KiB at once; under that, latency is all of it"},
    Threshold{
        "max_call", 1000, "us",
        "a call for a small copy takes 10-100 µs on every machine seen; longer ones "
        "contain lazy initialization or a wait"},
};

enum : std::uint8_t { kSmall, kRoundTrip };

struct Counted {
  std::uint32_t row = 0;
  std::uint32_t op = 0;  // the copy call as the user wrote it
  std::uint8_t subtype = kSmall;
};

// Of each copy, the operator that took its data down and up again; kNoRow if none.
std::vector<std::uint32_t> round_trips(const timeline::Timeline& t,
                                       const timeline::DeviceTime& d,
                                       const std::vector<HostCopy>& copies,
                                       const std::vector<std::uint32_t>& by_time) {
  std::vector<std::uint32_t> out(copies.size(), kNoRow);
  std::map<std::uint32_t, bool> tripped;
  std::size_t work = 0;
  for (std::size_t i = 0; i + 1 < copies.size(); ++i) {
    const auto &down = copies[i], &up = copies[i + 1];
    while (d.rows[work] != down.row) ++work;
    if (by_time[i] == kNoRow || down.way != CopyWay::kToHost ||
        up.way != CopyWay::kToDevice || down.bytes <= 0 || up.bytes != down.bytes ||
        d.rows[work + 1] != up.row || t.launch_of(up.row) != kNoRow) {
      continue;
    }
    tripped[by_time[i]] = true;
    out[i + 1] = by_time[i];
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (tripped.contains(by_time[i])) out[i] = by_time[i];
  }
  return out;
}

// Unknown is not small.
std::vector<Counted> counted_copies(const Context& context,
                                    const timeline::DeviceTime& d) {
  const auto& t = context.timeline;
  const auto& copies = host_copies(context, d);
  const auto by_time = operators_by_time(t, d, copies);
  const auto trips = round_trips(t, d, copies, by_time);
  std::vector<Counted> out;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& copy = copies[i];
    if (trips[i] != kNoRow) {
      out.push_back({copy.row, trips[i], kRoundTrip});
      continue;
    }
    const auto bytes = static_cast<double>(copy.bytes);
    if (bytes < 0 || bytes >= context.limits[kSmallBytes]) continue;
    const auto op = by_time[i] == kNoRow ? copy_operator(t, copy.row)
                                         : copy_operator_around(t, by_time[i]);
    if (op != kNoRow) out.push_back({copy.row, op});
  }
  return out;
}

// Copies in a loop come with the Python that asks for the next one: it goes with them,
// up to the pause from which on a thread does something else.
void join_neighbors(const timeline::Timeline& t, std::vector<Mark>& sites) {
  std::stable_sort(sites.begin(), sites.end(), [&](const Mark& a, const Mark& b) {
    return std::pair(t.lanes.lane[a.row], a.time.begin) <
           std::pair(t.lanes.lane[b.row], b.time.begin);
  });
  for (std::size_t i = 1; i < sites.size(); ++i) {
    auto& before = sites[i - 1];
    const auto& next = sites[i];
    const Interval between{before.time.end, next.time.begin};
    if (t.lanes.lane[before.row] == t.lanes.lane[next.row] && between.length() > 0 &&
        between.length() <= replay::kMostPause &&
        !t.at_work(t.lanes.lane[next.row], between)) {
      before.time.end = between.end;
    }
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::map<std::int64_t, std::size_t> steps;  // of each process
  for (const auto& step : t.spans.steps) ++steps[c.pid[step.row]];
  std::vector<Mark> marks, sites;
  std::vector<Claim> copying;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto copies = counted_copies(context, d);
    const auto of_process = steps.find(d.pid);
    const auto repeats = of_process == steps.end() ? 1 : of_process->second;
    if (static_cast<double>(copies.size()) <=
        context.limits[kMinPerStep] * static_cast<double>(repeats)) {
      continue;
    }
    BareTime bare(context, i);
    for (const auto& copy : copies) {
      if (copy.subtype == kRoundTrip || c.dur[copy.op] <= context.limits.ns(kMaxCall)) {
        marks.push_back({{c.ts[copy.op], c.end(copy.op)}, copy.op, copy.subtype});
        sites.push_back(marks.back());
        sites.back().work = copy.row;
      } else {
        sites.push_back({{}, copy.op, copy.subtype, copy.row});
      }
      for (const auto& part : bare.of({c.ts[copy.row], c.end(copy.row)})) {
        copying.push_back({PatternId::kFrequentMemcpy, copy.subtype, false, d.device,
                           part.begin, part.end, copy.op});
      }
    }
  }
  auto claims = claim_marks(context, PatternId::kFrequentMemcpy, std::move(marks));
  join_neighbors(t, sites);
  note_sites(context, PatternId::kFrequentMemcpy, std::move(sites));
  claims.insert(claims.end(), copying.begin(), copying.end());
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto excess = f.wasted_ns - f.idle_ns;
  const bool trip = f.subtype == kRoundTrip;
  std::string text = trip ? count_text(f.count, "operator", "operators") +
                                " took device data to the host and back"
                          : count_text(f.count, "small copy", "small copies");
  if (const auto steps = t.spans.steps.size(); steps > 1) {
    text += " in " + std::to_string(steps) + " steps";
  }
  return text + ": " + devices_text(f, false) + " idled " + duration_text(f.idle_ns) +
         (trip ? " meanwhile" : " while the host issued them") + ", and copied for " +
         duration_text(excess) + " with no kernel beside.";
}

std::string advise(const Context&, const Finding& f) {
  if (f.subtype == kSmall) return std::string(info(PatternId::kFrequentMemcpy).advice);
  return "Use operators that run on the device: these ran on the host, most likely "
         "because its backend has no kernel for them as they are called. Try fewer "
         "out= "
         "and in-place forms, torch.empty for torch.zeros if all is overwritten, other "
         "dtypes or contiguous tensors; or ask the backend's maintainers for them.";
}

}  // namespace
}  // namespace frequent_memcpy

const Rule kFrequentMemcpyRule{PatternId::kFrequentMemcpy, frequent_memcpy::kThresholds,
                               frequent_memcpy::propose, frequent_memcpy::describe,
                               frequent_memcpy::advise};

}  // namespace tta::patterns
