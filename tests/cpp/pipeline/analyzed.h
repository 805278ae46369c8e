// SPDX-License-Identifier: BSD-3-Clause
// pipeline/analyzed.h: a report with its trace and its statements on quality.
#pragma once

#include "pipeline/analyze.h"
#include "support/says.h"
#include "timeline/timed.h"

namespace tta::pipeline {

using test::says;
using test::Timed;
using test::TraceText;

struct Analyzed : test::Loaded, Report {
  explicit Analyzed(trace::Trace trace)
      : Loaded{std::move(trace)}, Report(analyze(loaded)) {}
  explicit Analyzed(const TraceText& text) : Analyzed(text.load()) {}
  Analyzed(const Analyzed&) = delete;
};

/// Returns the note of a kind; one without a kind if there is none.
inline Note note_of(const Report& report, const std::string& kind) {
  for (const auto& note : report.quality.warnings) {
    if (note.kind == kind) return note;
  }
  return {};
}

inline bool has_note(const Report& report, const std::string& kind) {
  return note_of(report, kind).kind == kind;
}

}  // namespace tta::pipeline
