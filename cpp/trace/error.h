// SPDX-License-Identifier: BSD-3-Clause
// trace/error.h: the one exception for bytes that are not a usable profiler trace.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tta::trace {

/// Says what is wrong with a trace, where, and what its owner can do about it.
///
/// `what()` is the whole message, ready to be shown: file, cause, place, hint.
/// Positions are -1 where they do not apply or are not known. Byte offsets count in the
/// uncompressed JSON text; for damage in the gzip container itself, `kind` starts
/// with "gzip" and the offset counts compressed bytes.
class TraceError : public std::runtime_error {
 public:
  TraceError(std::string kind, std::string path, const std::string& cause,
             std::string hint, std::int64_t offset = -1, std::int64_t event = -1,
             std::int64_t line = -1);

  /// Returns the same error with its line and the text around it, which takes a pass
  /// over the text to find.
  TraceError located(std::int64_t line, const std::string& context) const;
  /// Returns the same error with another hint.
  TraceError with_hint(std::string hint) const;
  /// Returns the same error with `more` after its cause.
  TraceError with_cause(const std::string& more) const;

  const std::string& kind() const { return kind_; }  ///< Stable word, "truncated".
  const std::string& path() const { return path_; }  ///< As given; "<bytes>" if none.
  const std::string& hint() const { return hint_; }  ///< What to do, one sentence.
  std::int64_t offset() const { return offset_; }
  std::int64_t event() const { return event_; }  ///< Index in traceEvents.
  std::int64_t line() const { return line_; }    ///< Of the JSON text, from 1.

 private:
  std::string kind_, path_, cause_, hint_;
  std::int64_t offset_, event_, line_;
};

/// Tells whether the offset of an error of this kind is in the file as it is stored, or
/// its packets, and not in JSON text.
bool is_of_container(std::string_view kind);

/// The file could not be opened: there is none, or the system refused.
class FileNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tta::trace
