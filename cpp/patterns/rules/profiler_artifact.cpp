// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/profiler_artifact.cpp: idle time that recording itself caused.
//
// CUPTI's overhead records (buffer requests and flushes, instrumentation), and the
// synchronization with which the profiler ends its window: that one comes after the
// last work and has no operator and no Python frame around it, as a user's would.
#include <array>
#include <string_view>

#include "patterns/rule.h"

namespace tta::patterns {
namespace {

using trace::Category;

// CUPTI's names (CUpti_ActivityOverheadKind as Kineto prints it). "Lazy Function
// Loading" is not among them: the program pays for it without a profiler too.
constexpr std::array<std::string_view, 4> kOverheads = {
    "Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource"};

bool is_overhead(std::string_view name) {
  for (const auto known : kOverheads) {
    if (name.find(known) != std::string_view::npos) return true;
  }
  return false;
}

std::vector<Claim> propose(const timeline::Timeline& t, const Ledger& ledger) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> rows;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) == Category::kOverhead && is_overhead(t.trace->name(row))) {
        rows.push_back(row);
      }
    }
  }
  // The profiler's last synchronization on each thread.
  for (const auto& thread : t.waits) {
    const auto row = thread.waits.back().row;
    if (t.tree.parent[row] == kNoRow) rows.push_back(row);
  }
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto& d = t.devices[i];
    const auto last_work = d.busy.empty() ? t.span.begin : d.busy.back().end;
    IntervalSet taken;
    for (const auto row : rows) {
      Interval part{c.ts[row], c.end(row)};
      if (c.cat(row) != Category::kOverhead)
        part.begin = std::max(part.begin, last_work);
      const auto fresh = timeline::subtract(ledger.idle(i, part), taken);
      for (const auto& piece : fresh) {
        claims.push_back({PatternId::kProfilerArtifact, 0, true, d.device, piece.begin,
                          piece.end, row});
        taken.push_back(piece);
      }
      taken = timeline::unite(std::move(taken));
    }
  }
  return claims;
}

std::string describe(const timeline::Timeline&, const Finding& f) {
  return "The profiler's own work left the device idle for " +
         duration_text(f.wasted_ns) + ".";
}

}  // namespace

// Always accounted for, however small: it must not be laid at the user's door.
const Rule kProfilerArtifactRule{PatternId::kProfilerArtifact, 0.0, propose, describe};

}  // namespace tta::patterns
