// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/frequent_memcpy.cpp: many small copies between host and device.
//
// Each copy costs the same 10 us of host time and its own trip over the bus, however
// small. The cost is what they take from the device: idle time while the host is busy
// issuing them (or waiting for them to end), and copy time with no kernel beside it.
// Copies that only fetch a value to decide on (.item(), nonzero) are sync_stall.
#include <algorithm>
#include <array>
#include <string_view>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinPerStep, kSmallBytes };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_per_step", 10, "count", "TraceLens: more than 10 copies"},
    Threshold{"small_bytes", 65536, "bytes", "Nsight: up to 64 KiB goes staged"},
};

using trace::Category;

// The operators of one copy call, from aten::copy_ up to what the user wrote.
bool is_copy_operator(std::string_view name) {
  return name == "aten::copy_" || name == "aten::_to_copy" || name == "aten::to" ||
         name == "aten::cpu" || name == "aten::cuda";
}

std::uint32_t outermost_copy(const timeline::Timeline& t, std::uint32_t row) {
  std::uint32_t outer = kNoRow;
  for (auto at = t.owner_of(row); at != kNoRow; at = t.tree.parent[at]) {
    if (t.columns().cat(at) != Category::kCpuOp) break;
    const auto name = t.trace->name(at);
    if (is_copy_operator(name)) {
      outer = at;
      continue;
    }
    // Part of another operator (nonzero reads its count); ranges of a module, of DDP or
    // of a compiled region only enclose it.
    if (name.starts_with("aten::")) return kNoRow;
    break;
  }
  return outer;
}

std::vector<std::uint32_t> small_copies(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<std::uint32_t> small;
  for (const auto& d : t.devices) {
    for (const auto row : d.rows) {
      if (c.cat(row) != Category::kGpuMemcpy) continue;
      const auto name = t.trace->name(row);
      if (name.find("HtoD") == std::string_view::npos &&
          name.find("DtoH") == std::string_view::npos &&
          name.find("HostToDevice") == std::string_view::npos &&
          name.find("DeviceToHost") == std::string_view::npos) {
        continue;
      }
      if (outermost_copy(t, row) == kNoRow) continue;
      // Unknown is not small.
      const auto bytes = static_cast<double>(context.args.work(row).bytes);
      if (bytes >= 0 && bytes < context.limits[kSmallBytes]) small.push_back(row);
    }
  }
  return small;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& ledger = context.ledger;
  const auto& c = t.columns();
  const auto copies = small_copies(context);
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto count =
        std::count_if(copies.begin(), copies.end(),
                      [&](std::uint32_t row) { return c.device[row] == d.device; });
    const auto steps =
        std::count_if(t.spans.steps.begin(), t.spans.steps.end(),
                      [&](const timeline::Span& s) { return c.pid[s.row] == d.pid; });
    if (static_cast<double>(count) <=
        context.limits[kMinPerStep] *
            static_cast<double>(std::max<std::ptrdiff_t>(1, steps))) {
      continue;
    }
    std::vector<Interval> kernels;
    for (const auto row : d.rows) {
      if (c.cat(row) == Category::kKernel) kernels.push_back({c.ts[row], c.end(row)});
    }
    const auto computing = timeline::unite(std::move(kernels));
    std::int64_t issued = t.span.begin, copied = t.span.begin;
    for (const auto row : copies) {
      if (c.device[row] != d.device) continue;
      const auto add = [&](const IntervalSet& parts, bool idle) {
        for (const auto& p : parts) {
          claims.push_back(
              {PatternId::kFrequentMemcpy, 0, idle, d.device, p.begin, p.end, row});
        }
      };
      const auto op = outermost_copy(t, row);
      const Interval call{std::max(c.ts[op], issued), c.end(op)};
      if (call.length() > 0) {
        add(ledger.idle(i, call), true);
        issued = call.end;
      }
      const Interval copy{std::max(c.ts[row], copied), c.end(row)};
      if (copy.length() > 0) {
        for (const auto& part :
             timeline::subtract({copy}, timeline::clip(computing, copy))) {
          add(ledger.busy(i, part), false);
        }
        copied = copy.end;
      }
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto excess = f.wasted_ns - f.idle_ns;
  std::string text = std::to_string(f.count) + " small copies";
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
