// SPDX-License-Identifier: BSD-3-Clause
// trace/event_row.cpp: what follows from the members of an event together.
#include <limits>

#include "trace/escapes.h"
#include "trace/event_reader.h"

namespace tta::trace {
namespace {

// Beyond what Columns::timed takes.
bool is_far(std::int64_t ns) {
  return ns != kNoTime && (ns >= kTimeLimit || ns <= -kTimeLimit);
}

}  // namespace

EventReader::EventReader(Grammar& grammar, StringPool& strings, Tally& tally)
    : grammar_(grammar), strings_(strings), tally_(tally) {}

bool EventReader::finish(Row& row, Position where) {
  if (!has_phase_) {
    tally_.count(Oddity::kNoPhase, where);
    return false;
  }
  CategoryName& category = categories_[category_];
  row.category = static_cast<std::uint8_t>(category.category);
  if (category.category == Category::kUnknown && !category.counted) {
    category.counted = true;
    tally_.count_category(unescape(raw_categories_.view(category_)), where);
  }
  if (row.phase == 'X') {
    if (row.dur == kNoTime) note(Oddity::kMissingDur);
    if (!has_ts_) note(Oddity::kMissingTs);
    if (is_far(row.ts) || is_far(row.dur)) note(Oddity::kFarTime);
  } else if (row.phase == 's' || row.phase == 't' || row.phase == 'f') {
    row.correlation = flow_id_;
  }
  if (row.dur < 0 && row.dur != kNoTime) note(Oddity::kNegativeDur);
  place_on_device(row);
  tally_.count_bits(odd_, where);
  return true;
}

// Decides device and stream, which only rows of the device side have: runtime calls
// name a stream too, but do not run there.
void EventReader::place_on_device(Row& row) {
  if (info(static_cast<Category>(row.category)).side != Side::kDevice) {
    row.stream = kNoId;
    return;
  }
  if (device_ == kNoId && row.pid < kTextIdentity) device_ = row.pid;
  using Device = decltype(row.device);
  if (device_ < -1 || device_ > std::numeric_limits<Device>::max()) {
    note(Oddity::kIdOutOfRange);
  } else {
    row.device = static_cast<Device>(device_);
  }
  if (row.stream != kNoId) return;
  if (row.tid < kTextIdentity) {
    row.stream = row.tid;
    return;
  }
  // torch 1.8 wrote "stream 7".
  std::string_view text =
      strings_.view(static_cast<std::uint32_t>(row.tid - kTextIdentity));
  constexpr std::string_view kPrefix = "stream ";
  if (!text.starts_with(kPrefix)) return;
  text.remove_prefix(kPrefix.size());
  std::int64_t stream;
  if (text_is_integer(text, stream)) row.stream = stream;
}

}  // namespace tta::trace
