// SPDX-License-Identifier: BSD-3-Clause
// trace/event_reader.cpp: the members of an event, and what follows from them together.
#include "trace/event_reader.h"

#include <limits>

#include "trace/escapes.h"

namespace tta::trace {
namespace {

constexpr Row kEmptyRow = {
    .name = 0,
    .category = static_cast<std::uint8_t>(Category::kUnknown),
    .phase = '?',
    .ts = kNoTime,
    .dur = kNoTime,
    .pid = kNoId,
    .tid = kNoId,
    .device = -1,
    .stream = kNoId,
    .correlation = kNoId,
    .external_id = kNoId,
    .python_id = kNoId,
    .python_parent_id = kNoId,
    .sequence = kNoId,
    .args_offset = 0,
    .args_length = 0,
};

constexpr std::uint32_t bit(Key key) {
  return key == Key::kOther ? 0 : std::uint32_t{1} << static_cast<int>(key);
}

}  // namespace

// The usual forms of values; event_values.cpp has all others.

inline Place EventReader::read_time(Place value, int depth, std::int64_t& nanos) {
  const char* const p = grammar_.tokens().text + *value;
  return read_micros_fast(p, nanos) ? value + 1 : read_odd_time(value, depth, nanos);
}

inline Place EventReader::read_identity(Place value, int depth,
                                        std::int64_t& identity) {
  const char* const p = grammar_.tokens().text + *value;
  if (read_integer_fast(p, identity)) return value + 1;
  return read_odd_identity(value, depth, identity);
}

inline Place EventReader::read_id(Place value, int depth, std::int64_t& id) {
  const char* const p = grammar_.tokens().text + *value;
  return read_integer_fast(p, id) ? value + 1 : read_odd_id(value, depth, id);
}

inline Key EventReader::key_at(Place key) const {
  const Tokens& tokens = grammar_.tokens();
  const char* const token = tokens.text + *key;
  std::uint32_t length = key[1] - key[0];
  while (is_blank(token[length - 1])) --length;
  const Key found = key_of(token, length);
  if (found != Key::kOther || !tokens.escapes) return found;
  return escaped_key({token + 1, length - 2});
}

EventReader::EventReader(Grammar& grammar, StringPool& strings, Tally& tally)
    : grammar_(grammar), strings_(strings), tally_(tally) {
  category_names_.push_back({Category::kUnknown, "", true});  // of events without one
}

Place EventReader::read(Place at, int depth, std::uint64_t window_offset, Row& row) {
  const char* const text = grammar_.tokens().text;
  row = kEmptyRow;
  odd_ = seen_ = seen_args_ = category_ = 0;
  has_phase_ = false;
  flow_id_ = device_ = kNoId;
  ++depth;
  ++at;
  if (text[*at] == '}') return at + 1;
  for (;;) {
    if (text[at[0]] != '"' || text[at[1]] != ':') return grammar_.fail_member(at);
    const Key key = key_at(at);
    if (seen_ & bit(key)) note(Oddity::kDuplicateKey);
    seen_ |= bit(key);
    const Place value = at + 2;
    at = read_member(key, value, depth, row);
    if (at == nullptr) return nullptr;
    if (key == Key::kArgs && row.args_length != 0) {
      row.args_offset = window_offset + *value;
    }
    const char c = text[*at++];
    if (c == ',') continue;
    return c == '}' ? at : grammar_.fail(at - 1, "',' or '}'");
  }
}

[[gnu::always_inline]] inline Place EventReader::read_member(Key key, Place value,
                                                             int depth, Row& row) {
  const Tokens& tokens = grammar_.tokens();
  const bool is_string = tokens.at(value) == '"';
  switch (key) {
    case Key::kPhase:
      has_phase_ = is_string;
      if (is_string) row.phase = phase_of(tokens.string_at(value));
      return grammar_.skip(value, depth);
    case Key::kCategory:
      category_ = is_string ? category_index(tokens.string_at(value)) : 0;
      if (!is_string) note(Oddity::kBadCategory);
      return grammar_.skip(value, depth);
    case Key::kName:
      row.name = is_string ? name_id(tokens.string_at(value)) : 0;
      if (!is_string) note(Oddity::kBadName);
      return grammar_.skip(value, depth);
    case Key::kPid:
      return read_identity(value, depth, row.pid);
    case Key::kTid:
      return read_identity(value, depth, row.tid);
    case Key::kTs:
      value = read_time(value, depth, row.ts);
      if (row.ts == kNoTime) note(Oddity::kBadTs);
      return value;
    case Key::kDur:
      return read_time(value, depth, row.dur);
    case Key::kId:
      return read_id(value, depth, flow_id_);
    case Key::kArgs: {
      row.args_length = 0;
      if (tokens.at(value) != '{') {
        if (tokens.at(value) != 'n') note(Oddity::kBadArgs);
        return grammar_.skip(value, depth);
      }
      const Place after = read_args(value, depth, row);
      if (after != nullptr) row.args_length = after[-1] + 1 - *value;
      return after;
    }
    default:
      return grammar_.skip(value, depth);
  }
}

Place EventReader::read_args(Place at, int depth, Row& row) {
  const char* const text = grammar_.tokens().text;
  seen_args_ = 0;
  device_ = row.stream = row.correlation = row.external_id = kNoId;
  row.python_id = row.python_parent_id = row.sequence = kNoId;
  ++depth;
  ++at;
  if (text[*at] == '}') return at + 1;
  for (;;) {
    if (text[at[0]] != '"' || text[at[1]] != ':') return grammar_.fail_member(at);
    const Key key = key_at(at);
    const Place value = at + 2;
    std::int64_t* id = nullptr;
    switch (key) {
      case Key::kDevice:
        id = &device_;
        break;
      case Key::kStream:
        id = &row.stream;
        break;
      case Key::kCorrelation:
        id = &row.correlation;
        break;
      case Key::kExternalId:
      case Key::kExternalId2:
        id = &row.external_id;
        break;
      case Key::kPythonId:
        id = &row.python_id;
        break;
      case Key::kPythonParentId:
        id = &row.python_parent_id;
        break;
      case Key::kSequence:
        id = &row.sequence;
        break;
      default:
        break;
    }
    if (id == nullptr) {
      at = grammar_.skip(value, depth);
    } else {
      if (seen_args_ & bit(key)) note(Oddity::kDuplicateKey);
      seen_args_ |= bit(key);
      at = read_id(value, depth, *id);
    }
    if (at == nullptr) return nullptr;
    const char c = text[*at++];
    if (c == ',') continue;
    return c == '}' ? at : grammar_.fail(at - 1, "',' or '}'");
  }
}

bool EventReader::finish(Row& row, Position where) {
  if (!has_phase_) {
    tally_.count(Oddity::kNoPhase, where);
    return false;
  }
  CategoryName& category = category_names_[category_];
  row.category = static_cast<std::uint8_t>(category.category);
  if (category.category == Category::kUnknown && !category.counted) {
    category.counted = true;
    tally_.count_category(category.name, where);
  }
  if (row.phase == 'X') {
    if (row.dur == kNoTime) note(Oddity::kMissingDur);
    if (!(seen_ & bit(Key::kTs))) note(Oddity::kMissingTs);
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
