// SPDX-License-Identifier: BSD-3-Clause
// trace/text_windows.cpp: filling, cutting and indexing of windows.
#include "trace/text_windows.h"

#include <algorithm>
#include <cstring>

#include "trace/escapes.h"

namespace tta::trace {
namespace {

constexpr std::size_t kMinBytes = 64;
// What is tried after damage; so that much damage does not cost much reading.
constexpr std::size_t kFirstTrial = 512;
// Far above anything a profiler writes as one event or one top-level member.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
// How far back a newline is looked for; text laid out in lines has many.
constexpr std::size_t kNewlineReach = 4096;
// Braces in strings are not rare in kernel names, but hardly one follows another.
constexpr int kBraceTries = 64;

}  // namespace

TextWindowReader::TextWindowReader(TextReader& reader, std::size_t bytes,
                                   std::uint64_t offset, bool recover)
    : reader_(&reader),
      usual_(std::clamp(bytes, kMinBytes, kMaxBytes)),
      extent_(usual_),
      capacity_(std::max(usual_, kLook)),
      recover_(recover),
      settled_(offset) {
  window_.offset = offset;
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_ + kPadding);
  base_ = buffer_.get();
  structurals_.reserve(capacity_);
}

TextWindowReader::TextWindowReader(std::size_t bytes)
    : reader_(nullptr),
      usual_(std::clamp(bytes, kMinBytes, kMaxBytes)),
      extent_(usual_),
      capacity_(usual_),
      ended_(true) {
  structurals_.reserve(capacity_);
}

void TextWindowReader::restart(char* text, std::size_t size, std::uint64_t offset) {
  base_ = text;
  start_ = 0;
  held_ = size;
  extent_ = usual_;
  started_ = false;
  patched_at_ = kNowhere;
  escapes_checked_ = odd_until_ = 0;
  settled_ = offset;
  lone_surrogates_ = {};
  window_.offset = offset;
  std::memset(base_ + size, 0, kPadding);
}

std::string_view TextWindowReader::rest(std::size_t used) {
  settle(used);
  return {text() + used, held_ - used};
}

void TextWindowReader::leave(std::uint64_t offset) {
  const auto used = static_cast<std::size_t>(offset - window_.offset);
  settle(used);
  drop(used);
  started_ = false;
  escapes_checked_ = window_.offset;
  extent_ = std::min(usual_, kFirstTrial);
}

void TextWindowReader::use_all() {
  if (patched_at_ != kNowhere) settle(*window_.tokens.end);
}

void TextWindowReader::unpatch() {
  if (patched_at_ != kNowhere) text()[patched_at_] = patched_;
  patched_at_ = kNowhere;
}

std::string_view TextWindowReader::peek() {
  fill(kLook);
  return {text(), held_};
}

void TextWindowReader::drop(std::size_t size) {
  start_ += size;
  held_ -= size;
  window_.offset += size;
}

const TextWindow& TextWindowReader::next(std::size_t used) {
  settle(used);
  bool fits = used > 0 || !started_ || grow();
  // After a large item small windows again, after damage larger ones.
  if (used > 0) extent_ = std::min(usual_, 2 * extent_);
  started_ = true;
  drop(used);
  while (fits) {
    fill(extent_);
    if (index()) return window_;
    fits = grow();
  }
  stop(0, {"too_large", "a single event or member is larger than 1 GiB",
           "This is probably not a profiler trace; look at the file's first lines.", 0,
           true});
  return window_;
}

// Reads until so much is held, if there is as much.
void TextWindowReader::fill(std::size_t least) {
  if (!ended_ && held_ < least) {
    std::memmove(base_, text(), held_);
    start_ = 0;
    const std::size_t room = std::max({least, extent_, usual_}) - held_;
    const std::size_t n = reader_->read(text() + held_, room);
    held_ += n;
    ended_ = n < room;
    std::memset(text() + held_, 0, kPadding);
  }
}

// Doubles the extent; false if it may not be larger.
bool TextWindowReader::grow() {
  if (extent_ >= held_ && ended_) return true;  // all there is
  if (extent_ >= kMaxBytes) return false;
  extent_ = std::min(extent_ * 2, kMaxBytes);
  if (extent_ <= capacity_) return true;
  capacity_ = extent_;
  structurals_.reserve(capacity_);
  if (reader_ == nullptr) return true;
  auto larger = std::make_unique_for_overwrite<char[]>(extent_ + kPadding);
  std::memcpy(larger.get(), text(), held_ + kPadding);
  buffer_ = std::move(larger);
  base_ = buffer_.get();
  start_ = 0;
  return true;
}

// Makes the window of the extent; false if it holds no place for a cut.
bool TextWindowReader::index() {
  window_.fault = {};
  window_.tokens.bad_utf8 = false;
  const std::string_view extent(text(), std::min(held_, extent_));
  const bool ends = ended_ && extent.size() == held_;
  const std::size_t guess = ends ? held_ : guess_cut(extent);
  if ((ends || guess > 0) && cut_at(guess)) return true;
  if (!recover_ || !mask_bad_utf8(extent, ends)) return index_slowly(extent, ends);
  const bool indexed =
      ((ends || guess > 0) && cut_at(guess)) || index_slowly(extent, ends);
  unmask();
  return indexed;
}

bool TextWindowReader::index_slowly(std::string_view extent, bool ends) {
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

std::size_t TextWindowReader::guess_cut(std::string_view text) {
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
bool TextWindowReader::cut_at(std::size_t cut) {
  const StageOne result = structurals_.run(text(), cut);
  if (result != StageOne::kOk && result != StageOne::kBlank) return false;
  std::uint32_t* places = structurals_.places();
  std::size_t count = structurals_.count();
  places[count] = static_cast<std::uint32_t>(cut);
  window_.tokens.begin = places;
  window_.tokens.end = places + count;
  window_.tokens.text = text();
  window_.last = ended_ && cut == held_ && reader_ != nullptr;
  check_window_escapes(cut);
  patched_at_ = *window_.tokens.end;
  patched_ = text()[patched_at_];
  text()[patched_at_] = '\0';
  return true;
}

// Hides bytes that are not UTF-8 from stage 1; false if none exist. In strings they are
// harmless, elsewhere they are grammar errors.
bool TextWindowReader::mask_bad_utf8(std::string_view extent, bool ends) {
  masked_.clear();
  for (std::size_t at = 0; at < extent.size();) {
    const Utf8Sequence sequence = utf8_at(extent, at);
    const std::size_t end = at + sequence.length;
    for (; !sequence.valid && (ends || !sequence.cut) && at < end; ++at) {
      masked_.emplace_back(at, extent[at]);
    }
    at = end;
  }
  for (const auto& [at, byte] : masked_) text()[at] = '?';
  if (masked_.empty()) return false;
  window_.tokens.bad_utf8 = true;
  odd_until_ = std::max(odd_until_, window_.offset + masked_.back().first + 1);
  return true;
}

void TextWindowReader::unmask() {
  for (const auto& [at, byte] : masked_) {
    (at == patched_at_ ? patched_ : text()[at]) = byte;
  }
}

// Counts what is odd in the text that was used, and not counted yet.
void TextWindowReader::settle(std::size_t used) {
  unpatch();
  const std::uint64_t end = window_.offset + used;
  const std::uint64_t begin = std::max(settled_, window_.offset);
  settled_ = std::max(settled_, end);
  if (begin >= end || odd_until_ <= begin) return;
  const std::string_view part(text() + (begin - window_.offset), end - begin);
  const auto add = [&](OddBytes& bytes, std::uint64_t count, std::size_t first) {
    if (bytes.count == 0) bytes.first = begin + first;
    bytes.count += count;
  };
  const EscapeCheck escapes = check_escapes(part, 0);
  add(lone_surrogates_, escapes.lone_surrogates, escapes.first_lone);
  if (!recover_) return;
  const BadUtf8 bad = find_bad_utf8(part);
  add(bad_utf8_, bad.count, bad.first);
}

// Makes the sound text before a fault a window, the last one there will be.
void TextWindowReader::stop(std::size_t cut, const Fault& fault) {
  if (!cut_at(cut)) cut_at(0);
  window_.last = false;
  if (window_.fault.kind == nullptr) window_.fault = fault;
}

void TextWindowReader::check_window_escapes(std::size_t cut) {
  const std::uint64_t end = window_.offset + cut;
  std::size_t from =
      escapes_checked_ > window_.offset ? escapes_checked_ - window_.offset : 0;
  from = std::min(from, cut);  // what is before was checked with the last window
  window_.tokens.escapes = std::memchr(text(), '\\', from) != nullptr;
  if (from == cut) return;
  const EscapeCheck check = check_escapes({text(), cut}, from);
  if (check.lone_surrogates > 0) odd_until_ = std::max(odd_until_, end);
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
                   "(a Windows path?); double that backslash, or use recover "
                   "(recover=True, --recover) to skip that event.",
                   check.bad};
}

}  // namespace tta::trace
