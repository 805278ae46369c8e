// SPDX-License-Identifier: BSD-3-Clause
// trace/text_windows.h: cuts a stream of JSON text into pieces that end between tokens.
//
// A window is a buffer, used again and again, small enough that its structural index
// stays in the L2 cache. Its end is guessed (after a newline, which no string can hold;
// in compact text after a "},") and proved by stage 1: a cut inside a string leaves
// that string unclosed. The rest that the reader could not use, because it belongs to
// an unfinished item, is carried over to the next window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/source.h"
#include "trace/structural.h"
#include "trace/tokens.h"

namespace tta::trace {

struct TextWindow {
  Tokens tokens;
  std::uint64_t offset = 0;  ///< Of the window's first byte in the JSON text.
  bool last = false;         ///< The text ends where the window ends.
  /// If its kind is set, sound text ends where the window ends and the fault follows.
  Fault fault;
};

/// Something odd in strings of the text that was used: how often, and where first.
struct OddBytes {
  std::uint64_t count = 0;
  std::uint64_t first = 0;
};

class TextWindowReader {
 public:
  /// `bytes` is the size of a window unless a single item needs more. The reader is at
  /// `offset` of the text. If `recover`, strings may hold bytes that are not UTF-8.
  TextWindowReader(TextReader& reader, std::size_t bytes, std::uint64_t offset = 0,
                   bool recover = false);

  /// For text in memory only, which restart() lends.
  explicit TextWindowReader(std::size_t bytes);

  /// Starts over with `size` bytes of text that begin at `offset`, where kPadding more
  /// may be written. They are changed while they are lent, and as they were after
  /// rest(). More text follows them, so no window will be the last.
  void restart(char* text, std::size_t size, std::uint64_t offset);

  /// Returns the text after what was `used` of the window, as far as it was read. The
  /// window must not be walked any more.
  std::string_view rest(std::size_t used);

  /// Ends the window before `offset`, which is in it, with all before it used. The next
  /// window is again a first, small one.
  void leave(std::uint64_t offset);

  /// What peek() and leave() are sure to show, if the text has as much.
  static constexpr std::size_t kLook = 1024;
  /// Shows the buffered text before the first window.
  std::string_view peek();
  /// Tells whether peek() shows all there is.
  bool at_end() const { return ended_; }
  /// Drops text shown by peek().
  void drop(std::size_t size);

  /// Returns the next window; the one before is gone. `used` tells how much of that
  /// one is done with; if nothing was, the window grows.
  const TextWindow& next(std::size_t used);

  /// Offset after the last byte read; the length of the text once `last` was seen.
  std::uint64_t text_end() const { return window_.offset + held_; }
  /// Takes all of the window as used, unless rest() or leave() ended it. For the last.
  void use_all();
  /// Of the text that was used: half characters (\ud800) and, recovering, bytes that
  /// are not UTF-8.
  const OddBytes& lone_surrogates() const { return lone_surrogates_; }
  const OddBytes& bad_utf8() const { return bad_utf8_; }

 private:
  char* text() { return base_ + start_; }
  void unpatch();
  void fill(std::size_t least);
  bool grow();
  bool index();
  bool index_slowly(std::string_view extent, bool ends);
  bool mask_bad_utf8(std::string_view extent, bool ends);
  void unmask();
  void settle(std::size_t used);
  static std::size_t guess_cut(std::string_view text);
  bool cut_at(std::size_t cut);
  void stop(std::size_t cut, const Fault& fault);
  void check_window_escapes(std::size_t cut);

  TextReader* reader_;  // none: the text is lent
  StructuralIndex structurals_;
  std::unique_ptr<char[]> buffer_;
  char* base_ = nullptr;  // the buffer or the text that was lent
  std::size_t usual_;     // what a window takes unless a single item needs more
  std::size_t extent_;    // what the next one may take
  std::size_t capacity_;
  std::size_t start_ = 0;  // of the current text, in the buffer
  std::size_t held_ = 0;   // how much of it there is
  bool started_ = false;
  std::size_t patched_at_ = kNowhere;  // the sentinel stands here ...
  char patched_ = '\0';                // ... in the place of this byte
  bool ended_ = false;                 // the reader has no more
  const bool recover_ = false;
  // Bytes that stage 1 must not see, while it runs: their places in the extent.
  std::vector<std::pair<std::size_t, char>> masked_;
  // Offsets in the text: up to where escapes are checked, after the last of what is
  // odd, up to where that is counted.
  std::uint64_t escapes_checked_ = 0;
  std::uint64_t odd_until_ = 0;
  std::uint64_t settled_ = 0;
  OddBytes lone_surrogates_;
  OddBytes bad_utf8_;
  TextWindow window_;
};

}  // namespace tta::trace
