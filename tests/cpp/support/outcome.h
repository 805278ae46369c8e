// SPDX-License-Identifier: BSD-3-Clause
// support/outcome.h: all that a load can end in, to compare one way with another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trace/trace.h"

namespace tta::test {

/// A trace, or the refusal in its place.
struct Outcome {
  std::optional<trace::Trace> trace;
  std::string kind;  ///< Of the TraceError; "" after a load.
  std::string path, message, hint;
  std::int64_t offset = -1;
  std::int64_t event = -1;
};

/// Loads from memory. Exceptions other than TraceError propagate.
inline Outcome load_outcome(std::string bytes, const trace::LoadOptions& options = {}) {
  Outcome outcome;
  try {
    outcome.trace = trace::load_bytes(std::move(bytes), options);
  } catch (const trace::TraceError& error) {
    outcome.kind = error.kind();
    outcome.path = error.path();
    outcome.message = error.what();
    outcome.hint = error.hint();
    outcome.offset = error.offset();
    outcome.event = error.event();
  }
  return outcome;
}

/// Says in which way two traces differ; "" if bit by bit they do not.
inline std::string difference(const trace::Trace& a, const trace::Trace& b) {
  if (a.columns.size() != b.columns.size()) {
    return "rows: " + std::to_string(a.columns.size()) + " and " +
           std::to_string(b.columns.size());
  }
#define TTA_DIFFER(name, type, doc)                                             \
  if (a.columns.name != b.columns.name) {                                       \
    const auto at = std::mismatch(a.columns.name.begin(), a.columns.name.end(), \
                                  b.columns.name.begin())                       \
                        .first -                                                \
                    a.columns.name.begin();                                     \
    const auto row = static_cast<std::size_t>(at);                              \
    return "column " #name ", row " + std::to_string(row) + ": " +              \
           std::to_string(a.columns.name[row]) + " and " +                      \
           std::to_string(b.columns.name[row]);                                 \
  }
  TTA_COLUMNS(TTA_DIFFER)
#undef TTA_DIFFER
  if (a.strings.size() != b.strings.size()) return "the number of names";
  for (std::uint32_t id = 0; id < a.strings.size(); ++id) {
    if (a.strings.view(id) != b.strings.view(id)) {
      return "the name of id " + std::to_string(id);
    }
  }
  if (a.metadata != b.metadata) return "the metadata";
  if (a.text_bytes != b.text_bytes) return "text_bytes";
  if (a.left_out != b.left_out) return "left_out";
  if (a.warnings.size() != b.warnings.size()) return "the number of warnings";
  for (std::size_t i = 0; i < a.warnings.size(); ++i) {
    const trace::Warning& left = a.warnings[i];
    const trace::Warning& right = b.warnings[i];
    if (left.kind != right.kind || left.count != right.count ||
        left.detail != right.detail) {
      return "warning " + left.kind + " x " + std::to_string(left.count) + ", " +
             left.detail + " and " + right.kind + " x " + std::to_string(right.count) +
             ", " + right.detail;
    }
  }
  return {};
}

/// The same for outcomes: of two refusals every word counts.
inline std::string difference(const Outcome& a, const Outcome& b) {
  if (a.trace && b.trace) return difference(*a.trace, *b.trace);
  if (!a.trace && !b.trace && a.message == b.message && a.kind == b.kind) return {};
  const auto words = [](const Outcome& outcome) {
    return outcome.trace ? std::string("a trace") : outcome.message;
  };
  return words(a) + "\n   and\n" + words(b);
}

}  // namespace tta::test
