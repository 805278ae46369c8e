// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/timeline/timed.h: a timeline that holds the trace it is of.
#pragma once

#include "support/trace_text.h"
#include "timeline/timeline.h"

namespace tta::test {

/// What something is made of that refers to it.
struct Loaded {
  trace::Trace loaded;
};

struct Timed : Loaded, timeline::Timeline {
  explicit Timed(trace::Trace trace)
      : Loaded{std::move(trace)}, Timeline(timeline::make_timeline(loaded)) {}
  explicit Timed(const TraceText& text) : Timed(text.load()) {}
  Timed(const Timed&) = delete;
};

}  // namespace tta::test
