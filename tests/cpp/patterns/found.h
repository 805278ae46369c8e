// SPDX-License-Identifier: BSD-3-Clause
// patterns/found.h: what the rules find in a small trace.
#pragma once

#include <stdexcept>
#include <string>

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

/// Returns the costliest finding of a pattern; throws std::out_of_range without one.
inline const Finding& first(const Findings& found, PatternId pattern) {
  for (const auto& f : found.findings) {
    if (f.pattern == pattern) return f;
  }
  throw std::out_of_range("nothing found of " + std::string(info(pattern).name));
}

}  // namespace tta::patterns
