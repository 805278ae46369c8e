// SPDX-License-Identifier: BSD-3-Clause
// patterns/found.h: what the rules find in a small trace, and tables of what it costs.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

#include "patterns/find.h"
#include "support/says.h"
#include "support/trace_text.h"

namespace tta::patterns {

using test::says;
using test::TraceText;
using enum PatternId;

inline Findings find_in(const TraceText& text, const Settings& settings = {}) {
  const auto trace = text.load();
  const auto timeline = timeline::make_timeline(trace);
  return find(timeline, timeline::EventArgs(timeline), settings);
}

inline std::int64_t wasted(const Findings& found, PatternId pattern) {
  std::int64_t sum = 0;
  for (const auto& f : found.findings) sum += f.pattern == pattern ? f.wasted_ns : 0;
  return sum;
}
inline std::int64_t wasted(const TraceText& text, PatternId pattern) {
  return wasted(find_in(text), pattern);
}

/// Returns the costliest finding of a pattern; throws std::out_of_range without one.
inline Finding first(const Findings& found, PatternId pattern) {
  for (const auto& f : found.findings) {
    if (f.pattern == pattern) return f;
  }
  throw std::out_of_range("nothing found of " + std::string(info(pattern).name));
}
inline Finding first(const TraceText& text, PatternId pattern) {
  return first(find_in(text), pattern);
}

/// A finding in figures: "sync_stall.event x2: 400 us, 380 idle, train.py:12".
inline std::string figures(const Finding& f) {
  const auto& pattern = info(f.pattern);
  std::string out(pattern.name);
  if (!pattern.subtypes.empty()) out.append(".").append(pattern.subtypes[f.subtype]);
  char text[96];
  std::snprintf(text, sizeof text, " x%d: %.9g us, %.9g idle",
                static_cast<int>(f.count), static_cast<double>(f.wasted_ns) / 1e3,
                static_cast<double>(f.idle_ns) / 1e3);
  out += text;
  if (f.location)
    out += ", " + f.location->file + ":" + std::to_string(f.location->line);
  return out;
}

/// All findings in figures, costliest first, a line each.
inline std::string all_in(const TraceText& text) {
  std::string out;
  for (const auto& f : find_in(text).findings) {
    out += (out.empty() ? "" : "\n") + figures(f);
  }
  return out;
}

/// A case: a trace, and what a pattern costs in it.
struct Cost {
  const char* name;
  TraceText text;
  std::int64_t ns;
};
inline constexpr std::int64_t kSome = -1;  ///< As the cost: anything but nothing.

inline void expect_costs(PatternId pattern, std::span<const Cost> cases) {
  for (const auto& c : cases) {
    const auto ns = wasted(c.text, pattern);
    if (c.ns == kSome) {
      EXPECT_GT(ns, 0) << c.name;
    } else {
      EXPECT_EQ(ns, c.ns) << c.name;
    }
  }
}

}  // namespace tta::patterns
