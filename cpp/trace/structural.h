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
#include <string_view>

#include "trace/escapes.h"

namespace tta::trace {

// Finds, byte by byte, what stage 1 only says is there.  The slow companion of
// structural.h: it runs where stage 1 refused a window, and answers where and why.

/// Something in the text that no grammar allows.
struct Fault {
  const char* kind = nullptr;   ///< As in TraceError; nullptr if there is no fault.
  const char* cause = nullptr;  ///< A clause for the message.
  const char* hint = nullptr;   ///< What the owner can do.
  std::size_t at = 0;           ///< Offset of the byte in question.
  bool limit = false;           ///< No damage, but more than will be read.
};

struct TextScan {
  Fault fault;
  /// Where the string around the fault starts, or the fault itself outside strings:
  /// what stands before it is sound.
  std::size_t sound = 0;
  /// The end of the last bracket, comma or newline outside strings, which no token
  /// crosses; 0 if there is none.
  std::size_t last_cut = 0;
  /// Where the string starts that the text ends in; kNowhere if there is none.
  std::size_t open_string = kNowhere;
};

/// Scans text that starts outside strings, up to the first fault. `ends` tells that no
/// more follows; otherwise a UTF-8 sequence may be cut at its end. Linear.
TextScan scan_text(std::string_view text, bool ends);

/// Bytes after the text that must be readable.
inline constexpr std::size_t kPadding = 64;

enum class StageOne : std::uint8_t {
  kOk,
  kBlank,           ///< White space and nothing else.
  kUnclosedString,  ///< The text ends inside a string, or lacks a quote somewhere.
  kBadBytes,        ///< A control character in a string, or bytes that are not UTF-8.
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
