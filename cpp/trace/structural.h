// SPDX-License-Identifier: BSD-3-Clause
// trace/structural.h: finds where the tokens of a piece of JSON text start.
//
// A thin wall around simdjson's stage 1, which lives in that library's internal
// namespace: no other file knows simdjson. Stage 1 is run by itself, over a window
// that is used again and again, because the whole-document parsers spend more than
// half of their time on first-touch page faults, and stop at 4 GiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tta::trace {

/// Bytes after the text that must be readable.
inline constexpr std::size_t kPadding = 64;

enum class StageOne : std::uint8_t {
  kOk,
  kBlank,           ///< White space and nothing else.
  kUnclosedString,  ///< The text ends inside a string, or lacks a quote somewhere.
  kBadBytes,        ///< A control character in a string, or bytes that are no UTF-8.
};

/// Holds the places of one text at a time. Not thread-safe; one for each thread.
class StructuralIndex {
 public:
  StructuralIndex();
  ~StructuralIndex();

  /// Makes room for texts of up to `length` bytes. Throws std::bad_alloc.
  void reserve(std::size_t length);

  /// Finds the places of a text no longer than what was reserved.
  ///
  /// After kOk, places() has count() of them and then the length as a sentinel. It is
  /// proved that the text is UTF-8, that its strings are closed and hold no control
  /// characters. Nothing is known of the grammar.
  StageOne run(const char* text, std::size_t length);

  std::uint32_t* places();
  std::size_t count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tta::trace
