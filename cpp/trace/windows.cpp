// SPDX-License-Identifier: BSD-3-Clause
// trace/windows.cpp: filling, cutting and indexing of windows.
#include "trace/windows.h"

#include <algorithm>
#include <cstring>

namespace tta::trace {
namespace {

constexpr std::size_t kMinBytes = 64;
// Far above anything a profiler writes as one event or one top-level member.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
// How far back a newline is looked for; text laid out in lines has many.
constexpr std::size_t kNewlineReach = 4096;
// Braces in strings are not rare in kernel names, but hardly one follows another.
constexpr int kBraceTries = 64;

}  // namespace

WindowReader::WindowReader(TextReader& reader, std::size_t bytes)
    : reader_(reader),
      usual_(std::clamp(bytes, kMinBytes, kMaxBytes)),
      extent_(usual_),
      capacity_(usual_) {
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_ + kPadding);
  structurals_.reserve(capacity_);
}

std::string_view WindowReader::peek() {
  if (held_ < 16) fill();
  return {text(), held_};
}

void WindowReader::drop(std::size_t size) {
  start_ += size;
  held_ -= size;
  window_.offset += size;
}

const Window& WindowReader::next(std::size_t used) {
  if (patched_at_ != kNowhere) text()[patched_at_] = patched_byte_;
  patched_at_ = kNowhere;
  bool fits = used > 0 || !started_ || grow();
  if (used > 0) extent_ = usual_;  // after a large item, small windows again
  started_ = true;
  drop(used);
  while (fits) {
    fill();
    if (index()) return window_;
    fits = grow();
  }
  stop(0, {"too_large", "a single event or member is larger than 1 GiB",
           "This is hardly a profiler trace; look at the file's first lines.", 0});
  return window_;
}

// Reads until the extent is held, if there is as much.
void WindowReader::fill() {
  if (!ended_ && held_ < extent_) {
    std::memmove(buffer_.get(), text(), held_);
    start_ = 0;
    const std::size_t room = extent_ - held_;
    const std::size_t n = reader_.read(text() + held_, room);
    held_ += n;
    ended_ = n < room;
    std::memset(text() + held_, 0, kPadding);
  }
}

// Doubles the extent; false if it may not be larger.
bool WindowReader::grow() {
  if (extent_ >= held_ && ended_) return true;  // all there is
  if (extent_ >= kMaxBytes) return false;
  extent_ = std::min(extent_ * 2, kMaxBytes);
  if (extent_ <= capacity_) return true;
  auto larger = std::make_unique_for_overwrite<char[]>(extent_ + kPadding);
  std::memcpy(larger.get(), text(), held_ + kPadding);
  buffer_ = std::move(larger);
  start_ = 0;
  capacity_ = extent_;
  structurals_.reserve(capacity_);
  return true;
}

// Makes the window of the extent; false if it holds no place for a cut.
bool WindowReader::index() {
  window_.fault = {};
  const std::string_view extent(text(), std::min(held_, extent_));
  const bool ends = ended_ && extent.size() == held_;
  const std::size_t guess = ends ? held_ : guess_cut(extent);
  if ((ends || guess > 0) && cut_at(guess)) return true;
  const TextScan scan = scan_text(extent, ends);
  if (scan.fault.kind != nullptr) {
    stop(scan.sound, scan.fault);
  } else if (!ends) {
    return scan.last_cut > 0 && cut_at(scan.last_cut);
  } else {
    const std::size_t sound = std::min(scan.open_string, held_);
    stop(sound, {"truncated", "the text ends inside a string", nullptr, held_});
  }
  return true;
}

std::size_t WindowReader::guess_cut(std::string_view text) {
  const std::size_t half = text.size() / 2;
  const std::size_t reach = std::min(kNewlineReach, half);
  const std::size_t newline = text.substr(text.size() - reach).rfind('\n');
  if (newline != text.npos) return text.size() - reach + newline + 1;
  std::size_t last = 0;
  std::size_t brace = text.npos;
  for (int i = 0; i < kBraceTries; ++i) {
    brace = text.rfind('}', brace == text.npos ? brace : brace - 1);
    if (brace == text.npos || brace < half) break;
    if (last == 0) last = brace + 1;
    if (brace + 1 < text.size() && text[brace + 1] == ',') return brace + 2;
  }
  return last;
}

// Ends the window at `cut` if stage 1 agrees that this is between tokens.
bool WindowReader::cut_at(std::size_t cut) {
  const StageOne result = structurals_.run(text(), cut);
  if (result != StageOne::kOk && result != StageOne::kBlank) return false;
  std::uint32_t* places = structurals_.places();
  std::size_t count = structurals_.count();
  places[count] = static_cast<std::uint32_t>(cut);
  window_.tokens.begin = places;
  window_.tokens.end = places + count;
  window_.tokens.text = text();
  window_.last = ended_ && cut == held_;
  check_window_escapes(cut);
  patched_at_ = *window_.tokens.end;
  patched_byte_ = text()[patched_at_];
  text()[patched_at_] = '\0';
  return true;
}

// Makes the sound text before a fault a window, the last one there will be.
void WindowReader::stop(std::size_t cut, const Fault& fault) {
  if (!cut_at(cut)) cut_at(0);
  window_.last = false;
  if (window_.fault.kind == nullptr) window_.fault = fault;
}

void WindowReader::check_window_escapes(std::size_t cut) {
  const std::uint64_t end = window_.offset + cut;
  std::size_t from =
      escapes_checked_ > window_.offset ? escapes_checked_ - window_.offset : 0;
  from = std::min(from, cut);  // what is before was checked with the last window
  window_.tokens.escapes = std::memchr(text(), '\\', from) != nullptr;
  if (from == cut) return;
  const EscapeCheck check = check_escapes({text(), cut}, from);
  if (check.lone_surrogates > 0 && lone_surrogates_ == 0) {
    first_lone_ = window_.offset + check.first_lone;
  }
  lone_surrogates_ += check.lone_surrogates;
  escapes_checked_ = end;
  if (check.any) window_.tokens.escapes = true;
  if (check.bad == kNowhere) return;
  // Outside strings a backslash is a mistake of grammar, found where grammar is read.
  Place place = std::upper_bound(window_.tokens.begin, window_.tokens.end,
                                 static_cast<std::uint32_t>(check.bad));
  if (place == window_.tokens.begin || text()[*--place] != '"') return;
  window_.tokens.end = place;
  window_.last = false;
  window_.fault = {"bad_escape", "a backslash with no valid escape after it",
                   "The program that wrote the trace did not escape a name or path "
                   "(a Windows path?); double that backslash.",
                   check.bad};
}

}  // namespace tta::trace
