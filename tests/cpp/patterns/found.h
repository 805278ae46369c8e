// SPDX-License-Identifier: BSD-3-Clause
// patterns/found.h: what the rules find in a small trace.
#pragma once

#include "patterns/find.h"
#include "support/trace_text.h"

namespace tta::patterns {

inline Findings find_in(const test::TraceText& text, const Settings& settings = {}) {
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  return find(timeline, timeline::EventArgs(timeline), settings);
}

inline std::int64_t wasted(const Findings& found, PatternId pattern) {
  std::int64_t sum = 0;
  for (const auto& f : found.findings) sum += f.pattern == pattern ? f.wasted_ns : 0;
  return sum;
}

}  // namespace tta::patterns
