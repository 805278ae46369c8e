// SPDX-License-Identifier: BSD-3-Clause
// trace/windows.h: cuts a stream of JSON text into pieces that end between tokens.
//
// A window is a buffer, used again and again, small enough that its structural index
// stays in the L2 cache. Its end is guessed (after a newline, which no string can
// hold; in compact text after a "},") and proved by stage 1: a cut inside a string
// leaves that string unclosed. What the reader of a window could not use, because it
// belongs to an unfinished item, is carried over to the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "trace/source.h"
#include "trace/structural.h"
#include "trace/text_scan.h"
#include "trace/tokens.h"

namespace tta::trace {

struct Window {
  Tokens tokens;
  std::uint64_t offset = 0;  ///< Of the window's first byte in the JSON text.
  bool last = false;         ///< The text ends where the window ends.
  /// If its kind is set, sound text ends where the window ends and the fault follows.
  Fault fault;
};

class WindowReader {
 public:
  /// `bytes` is what a window holds unless a single item needs more.
  WindowReader(TextReader& reader, std::size_t bytes);

  /// Shows the text at hand before the first window, at least 16 bytes if there are
  /// as many.
  std::string_view peek();
  /// Drops text shown by peek().
  void drop(std::size_t size);

  /// Returns the next window; the one before is gone. `used` tells how much of that
  /// one is done with; if nothing was, the window grows.
  const Window& next(std::size_t used);

  /// Offset after the last byte read; the length of the text once `last` was seen.
  std::uint64_t text_end() const { return window_.offset + held_; }
  std::uint64_t lone_surrogates() const { return lone_surrogates_; }
  std::uint64_t first_lone_surrogate() const { return first_lone_; }

 private:
  char* text() { return buffer_.get() + start_; }
  void fill();
  bool grow();
  bool index();
  static std::size_t guess_cut(std::string_view text);
  bool cut_at(std::size_t cut);
  void stop(std::size_t cut, const Fault& fault);
  void check_window_escapes(std::size_t cut);

  TextReader& reader_;
  StructuralIndex structurals_;
  std::unique_ptr<char[]> buffer_;
  std::size_t usual_;   // what a window takes unless a single item needs more
  std::size_t extent_;  // what the next one may take
  std::size_t capacity_;
  std::size_t start_ = 0;  // of the text at hand, in the buffer
  std::size_t held_ = 0;   // how much of it there is
  bool started_ = false;
  bool ended_ = false;                 // the reader has no more
  std::size_t patched_at_ = kNowhere;  // where the sentinel replaced a byte
  char patched_byte_ = '\0';
  std::uint64_t escapes_checked_ = 0;  // offset in the text
  std::uint64_t lone_surrogates_ = 0;
  std::uint64_t first_lone_ = 0;
  Window window_;
};

}  // namespace tta::trace
