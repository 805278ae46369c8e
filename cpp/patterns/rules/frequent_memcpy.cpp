// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/frequent_memcpy.cpp: many small copies between host and device.
//
// Each copy costs the same 10 us of host time and its own trip over the bus, however
// small. The cost is what they take from the device: idle time while the thread that
// launches next is busy issuing them, and copy time with no kernel beside it. Copies
// that only fetch a value to decide on (.item(), nonzero) are sync_stall.
#include <algorithm>
#include <array>
#include <map>

#include "patterns/copies.h"
#include "patterns/marks.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinPerStep, kSmallBytes, kMaxCall };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_per_step", 10, "count",
              "TraceLens: more than 10 copies; of a trace without steps, in all of it"},
    Threshold{"small_bytes", 1 << 16, "bytes",
              "CUDA stages up to 64 KiB at once; under that, latency is all of it"},
    Threshold{
        "max_call", 1000, "us",
        "a call for a small copy takes 10-100 us on every machine seen; in longer "
        "ones something else began (lazy initialization) or was waited for"},
};

struct SmallCopy {
  std::uint32_t row = 0;
  std::uint32_t op = 0;  // the copy call as the user wrote it
};

// Unknown is not small.
std::vector<SmallCopy> small_copies(const Context& context,
                                    const timeline::DeviceTime& d) {
  const auto& t = context.timeline;
  std::vector<SmallCopy> small;
  for (const auto& copy : host_copies(context, d)) {
    const auto bytes = static_cast<double>(copy.bytes);
    if (bytes < 0 || bytes >= context.limits[kSmallBytes]) continue;
    const auto op = copy_operator(t, copy.row);
    if (op != kNoRow) small.push_back({copy.row, op});
  }
  return small;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::map<std::int64_t, std::size_t> steps;  // of each process
  for (const auto& step : t.spans.steps) ++steps[c.pid[step.row]];
  std::vector<Mark> marks;
  std::vector<Claim> copying;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto copies = small_copies(context, d);
    const auto of_process = steps.find(d.pid);
    const auto repeats = of_process == steps.end() ? 1 : of_process->second;
    if (static_cast<double>(copies.size()) <=
        context.limits[kMinPerStep] * static_cast<double>(repeats)) {
      continue;
    }
    BareTime bare(context, i);
    for (const auto& copy : copies) {
      if (c.dur[copy.op] <= context.limits.ns(kMaxCall)) {
        marks.push_back({{c.ts[copy.op], c.end(copy.op)}, copy.op});
      }
      for (const auto& part : bare.of({c.ts[copy.row], c.end(copy.row)})) {
        copying.push_back({PatternId::kFrequentMemcpy, 0, false, d.device, part.begin,
                           part.end, copy.op});
      }
    }
  }
  auto claims = claim_marks(context, PatternId::kFrequentMemcpy, std::move(marks));
  claims.insert(claims.end(), copying.begin(), copying.end());
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto excess = f.wasted_ns - f.idle_ns;
  std::string text = count_text(f.count, "small copy", "small copies");
  if (const auto steps = t.spans.steps.size(); steps > 1) {
    text += " in " + std::to_string(steps) + " steps";
  }
  return text + ": " + devices_text(f, false) + " idled " + duration_text(f.idle_ns) +
         " while the host issued them, and copied for " + duration_text(excess) +
         " with no kernel beside.";
}

}  // namespace

const Rule kFrequentMemcpyRule{PatternId::kFrequentMemcpy, kThresholds, propose,
                               describe};

}  // namespace tta::patterns
