// SPDX-License-Identifier: BSD-3-Clause
// trace/text_scan.h: finds, byte by byte, what stage 1 only says is there.
//
// The slow companion of structural.h: it runs where stage 1 refused a window, and
// answers where and why.
#pragma once

#include <cstddef>
#include <string_view>

#include "trace/escapes.h"

namespace tta::trace {

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

}  // namespace tta::trace
