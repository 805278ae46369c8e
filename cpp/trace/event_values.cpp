// SPDX-License-Identifier: BSD-3-Clause
// trace/event_values.cpp: single values of an event, whatever type the file gave them.
#include <algorithm>

#include "trace/escapes.h"
#include "trace/event_reader.h"

namespace tta::trace {
namespace {

bool starts_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }

bool has_escape(std::string_view raw) { return raw.find('\\') != raw.npos; }

// ROCm writes a stream as the address of its handle: "0x0".
bool text_is_hex(std::string_view text, std::int64_t& value) {
  if (!text.starts_with("0x") || text.size() < 3 || text.size() > 17) return false;
  std::uint64_t number = 0;
  for (const char c : text.substr(2)) {
    const char lower = static_cast<char>(c | 0x20);
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (lower < 'a' || lower > 'f')) return false;
    number = number * 16 + static_cast<unsigned>(digit ? c - '0' : lower - 'a' + 10);
  }
  value = static_cast<std::int64_t>(number);  // 15 digits at most: fits
  return true;
}

}  // namespace

Place EventReader::read_odd_time(Place value, int depth, std::int64_t& nanos) {
  const Tokens& tokens = grammar_.tokens();
  const char* const p = tokens.text + *value;
  nanos = kNoTime;
  if (starts_number(*p)) {
    const Number number = read_micros(p, tokens.limit());
    if (number.kind == NumberKind::kInvalid) return grammar_.skip(value, depth);
    if (number.kind == NumberKind::kOk) nanos = number.value;
    return value + 1;
  }
  std::int64_t read;
  if (*p == '"' && text_is_micros(plain_text(value), read)) {
    nanos = read;
    note(Anomaly::kTextNumber);
  }
  return grammar_.skip(value, depth);
}

// Any scalar is an identity: numbers as they are, the rest by its text.
Place EventReader::read_odd_identity(Place value, int depth, std::int64_t& identity) {
  const Tokens& tokens = grammar_.tokens();
  const char* const p = tokens.text + *value;
  std::int64_t number;
  if (starts_number(*p)) {
    const Number read = read_integer(p, tokens.limit());
    if (read.kind == NumberKind::kOk && read.value < kTextIdentity) {
      identity = read.value;
      return value + 1;
    }
  } else if (*p == '"') {
    // In 2021 files one thread is 25738 in some events and "25738" in others.
    if (text_is_integer(plain_text(value), number) && number < kTextIdentity) {
      identity = number;
    } else {
      identity = kTextIdentity + name_id(tokens.string_at(value));
    }
    return value + 1;
  }
  identity = kNoId;
  const std::uint32_t bad_values = grammar_.bad_values().count;
  const Place after = grammar_.skip(value, depth);
  if (after == nullptr || grammar_.bad_values().count != bad_values) return after;
  if (*p == '{' || *p == '[') {
    note(Anomaly::kBadIdentity);
  } else {
    identity = kTextIdentity + name_id(tokens.value_text(value, after));
  }
  return after;
}

Place EventReader::read_odd_id(Place value, int depth, std::int64_t& id) {
  const Tokens& tokens = grammar_.tokens();
  const char* const p = tokens.text + *value;
  id = kNoId;
  if (starts_number(*p)) {
    const Number number = read_integer(p, tokens.limit());
    switch (number.kind) {
      case NumberKind::kOk:
        id = number.value;
        break;
      case NumberKind::kOutOfRange:
        note(Anomaly::kIdOutOfRange);
        break;
      case NumberKind::kFraction:
        note(Anomaly::kBadId);
        break;
      case NumberKind::kInvalid:
        return grammar_.skip(value, depth);
    }
    return value + 1;
  }
  if (*p == '"') {
    const std::string text = plain_text(value);
    std::int64_t number;
    if (text_is_integer(text, number)) {
      id = number;
      note(Anomaly::kTextNumber);
    } else if (text_is_hex(text, number)) {
      id = number;
    } else {
      note(Anomaly::kBadId);
    }
    return value + 1;
  }
  // Kineto writes null for a missing id; NaN and the like count as bad values.
  if (*p == '{' || *p == '[' || *p == 't' || *p == 'f') note(Anomaly::kBadId);
  return grammar_.skip(value, depth);
}

std::string EventReader::plain_text(Place value) const {
  const std::string_view raw = grammar_.tokens().string_at(value);
  return has_escape(raw) ? unescape(raw) : std::string(raw);
}

bool EventReader::unescape_key(Place key, std::string& token) const {
  const std::string_view raw = grammar_.tokens().string_at(key);
  if (!has_escape(raw)) return false;
  token = '"' + unescape(raw) + '"';
  token.resize(std::max(token.size(), kKeyBytes));
  return true;
}

ArgKey EventReader::escaped_arg_key(Place key) const {
  std::string token;
  return unescape_key(key, token) ? arg_key(token.data()) : ArgKey::kOther;
}

std::int64_t& EventReader::id_of(ArgKey key, Row& row) {
  switch (key) {
    case ArgKey::kDevice:
      return device_;
    case ArgKey::kStream:
      return row.stream;
    case ArgKey::kCorrelation:
      return row.correlation;
    case ArgKey::kExternalId:
      return row.external_id;
    case ArgKey::kPythonId:
      return row.python_id;
    case ArgKey::kPythonParentId:
      return row.python_parent_id;
    case ArgKey::kOriginalStream:
      return original_stream_;
    default:
      return row.sequence;
  }
}

// nullptr for a key that holds an id.
std::string_view* EventReader::word_of(ArgKey key) {
  switch (key) {
    case ArgKey::kCopyKind:
      return &words_.kind;
    case ArgKey::kSourceKind:
      return &words_.source;
    case ArgKey::kTargetKind:
      return &words_.target;
    case ArgKey::kMemoryKind:
      return &words_.memory;
    default:
      return nullptr;
  }
}

char EventReader::odd_phase(std::string_view raw) {
  const std::string text = unescape(raw);
  if (text.size() == 1 && text[0] > ' ' && text[0] < 0x7f) return text[0];
  note(Anomaly::kOddPhase);
  return '?';
}

std::uint32_t EventReader::name_id(std::string_view raw) {
  if (grammar_.tokens().bad_utf8) {
    return strings_.intern(unescape(replace_bad_utf8(raw)));
  }
  if (!grammar_.tokens().escapes || !has_escape(raw)) return strings_.intern(raw);
  const std::uint32_t id = raw_names_.intern(raw);
  if (id == names_.size()) names_.push_back(strings_.intern(unescape(raw)));
  return names_[id];
}

std::uint32_t EventReader::category_id(std::string_view raw) {
  const std::uint32_t id = raw_categories_.intern(raw);
  if (id == categories_.size()) {
    categories_.push_back({category_of(unescape(raw)), false});
  }
  return id;
}

}  // namespace tta::trace
