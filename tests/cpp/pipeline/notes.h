// SPDX-License-Identifier: BSD-3-Clause
// pipeline/notes.h: what a report says of a trace's quality, for tests.
#pragma once

#include <string>

#include "pipeline/report.h"

namespace tta::test {

/// Returns the note of a kind; one without a kind if there is none.
inline pipeline::QualityNote note_of(const pipeline::Report& report,
                                     const std::string& kind) {
  for (const auto& note : report.quality.notes) {
    if (note.kind == kind) return note;
  }
  return {};
}

inline bool has_note(const pipeline::Report& report, const std::string& kind) {
  return note_of(report, kind).kind == kind;
}

}  // namespace tta::test
