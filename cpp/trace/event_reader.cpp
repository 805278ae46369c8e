// SPDX-License-Identifier: BSD-3-Clause
// trace/event_reader.cpp: the members of an event and of its args, in one pass.
#include "trace/event_reader.h"

#include <limits>

#include "trace/args_kept.h"
#include "trace/escapes.h"
#include "trace/keys.h"

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
    tally_.count(Anomaly::kNoPhase, where);
    return false;
  }
  CategoryName& category = categories_[category_];
  row.category = static_cast<std::uint8_t>(category.category);
  if (category.category == Category::kUnknown && !category.counted) {
    category.counted = true;
    tally_.count_category(unescape(raw_categories_.view(category_)), where);
  }
  if (row.phase == 'X') {
    if (row.dur == kNoTime) note(Anomaly::kMissingDur);
    if (!has_ts_) note(Anomaly::kMissingTs);
    if (is_far(row.ts) || is_far(row.dur)) note(Anomaly::kFarTime);
  } else if (row.phase == 's' || row.phase == 't' || row.phase == 'f') {
    row.correlation = flow_id_;
  }
  if (row.dur < 0 && row.dur != kNoTime) note(Anomaly::kNegativeDur);
  if (!words_.kind.empty() || !words_.memory.empty()) {
    const std::string name = kineto_name(strings_.view(row.name), words_);
    if (!name.empty()) row.name = strings_.intern(name);
  }
  place_on_device(row);
  tally_.count_bits(odd_, where);
  return true;
}

// Decides device and stream, which only rows of the device side have: runtime calls
// name a stream too, but do not run there.
void EventReader::place_on_device(Row& row) {
  const CategoryInfo& kind = info(static_cast<Category>(row.category));
  if (kind.side != Side::kDevice) {
    row.stream = kNoId;
    return;
  }
  if (kind.device_work && original_stream_ != kNoId) {
    row.stream = row.tid = original_stream_;  // moved for display
  }
  if (device_ == kNoId && row.pid < kTextIdentity) device_ = row.pid;
  using Device = decltype(row.device);
  if (device_ < -1 || device_ > std::numeric_limits<Device>::max()) {
    note(Anomaly::kIdOutOfRange);
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

namespace {

constexpr ShortKey kPhase("ph", 0);
constexpr ShortKey kCategory("cat", 1);
constexpr ShortKey kName("name", 2);
constexpr ShortKey kPid("pid", 3);
constexpr ShortKey kTid("tid", 4);
constexpr ShortKey kTs("ts", 5);
constexpr ShortKey kDur("dur", 6);
constexpr ShortKey kArgs("args", 7);
constexpr ShortKey kId("id", 8);

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

inline char EventReader::read_phase(Place value) {
  const char* const p = grammar_.tokens().text + *value;
  const bool usual = p[1] > ' ' && p[1] < 0x7f && p[1] != '\\' && p[2] == '"';
  return usual ? p[1] : odd_phase(grammar_.tokens().string_at(value));
}

// Keys are tried in the order in which Kineto writes them, each on the member after
// the one that matched before: an event laid out as usual takes one round, in which
// every branch is easy to predict. Any other order only takes more rounds.
Place EventReader::read(Place at, int depth, std::uint64_t window_offset, Row& row) {
  const Tokens& tokens = grammar_.tokens();
  const char* const text = tokens.text;
  row = kEmptyRow;
  row.args_offset = window_offset + *at;
  odd_ = category_ = 0;
  has_phase_ = has_ts_ = false;
  flow_id_ = device_ = original_stream_ = kNoId;
  words_ = {};
  kept_.clear();
  ++depth;

  std::uint64_t key = 0;  // the first bytes of the token at `at`
  std::uint32_t seen = 0;
  bool matched = false;
  const auto start_member = [&] {
    if (text[at[0]] != '"' || text[at[1]] != ':') {
      at = grammar_.fail_member(at);
      return false;
    }
    key = detail::load8(text + *at);
    return true;
  };
  // Moves on from a value; false if the event ends there or breaks the grammar.
  const auto next_member = [&] {
    if (at == nullptr) return false;
    const char c = text[*at++];
    if (c == ',') return start_member();
    if (c != '}') at = grammar_.fail(at - 1, "',' or '}'");
    return false;
  };
  // Reads the value if the key is this one; true if there is no further member.
  const auto ends_with = [&](const ShortKey& known, auto read) {
    if (!known.is(key)) return false;
    matched = true;
    if (seen & known.bit) note(Anomaly::kDuplicateKey);
    seen |= known.bit;
    at = read(at + 2);
    return !next_member();
  };

  if (text[*++at] == '}') return at + 1;
  if (!start_member()) return at;
  std::string plain_key;
  for (;;) {
    matched = false;
    if (ends_with(kPhase, [&](Place value) {
          has_phase_ = text[*value] == '"';
          if (has_phase_) row.phase = read_phase(value);
          return grammar_.skip(value, depth);
        })) {
      return at;
    }
    if (ends_with(kCategory, [&](Place value) {
          const bool is_text = text[*value] == '"';
          category_ = is_text ? category_id(tokens.string_at(value)) : 0;
          if (!is_text) note(Anomaly::kBadCategory);
          return grammar_.skip(value, depth);
        })) {
      return at;
    }
    if (ends_with(kName, [&](Place value) {
          const bool is_text = text[*value] == '"';
          row.name = is_text ? name_id(tokens.string_at(value)) : 0;
          if (!is_text) note(Anomaly::kBadName);
          return grammar_.skip(value, depth);
        })) {
      return at;
    }
    if (ends_with(kPid,
                  [&](Place value) { return read_identity(value, depth, row.pid); })) {
      return at;
    }
    if (ends_with(kTid,
                  [&](Place value) { return read_identity(value, depth, row.tid); })) {
      return at;
    }
    if (ends_with(kTs, [&](Place value) {
          has_ts_ = true;
          const Place after = read_time(value, depth, row.ts);
          if (row.ts == kNoTime) note(Anomaly::kBadTs);
          return after;
        })) {
      return at;
    }
    if (ends_with(kDur,
                  [&](Place value) { return read_time(value, depth, row.dur); })) {
      return at;
    }
    if (ends_with(kArgs, [&](Place value) {
          row.args_offset = window_offset + *value;
          return read_args(value, depth, row);
        })) {
      return at;
    }
    if (ends_with(kId, [&](Place value) { return read_id(value, depth, flow_id_); })) {
      return at;
    }
    if (matched) {
      plain_key.clear();
      continue;
    }
    if (tokens.escapes && plain_key.empty() && unescape_key(at, plain_key)) {
      key = detail::load8(plain_key.data());
      continue;
    }
    plain_key.clear();
    at = grammar_.skip(at + 2, depth);
    if (!next_member()) return at;
  }
}

Place EventReader::read_args(Place at, int depth, Row& row) {
  const Tokens& tokens = grammar_.tokens();
  const char* const text = tokens.text;
  const Place object = at;
  device_ = original_stream_ = row.stream = row.correlation = row.external_id = kNoId;
  row.python_id = row.python_parent_id = row.sequence = kNoId;
  row.args_length = 0;
  words_ = {};
  kept_.clear();
  if (text[*at] != '{') {
    const std::uint32_t bad_values = grammar_.bad_values().count;
    at = grammar_.skip(at, depth);
    const bool missing =
        text[*object] == 'n' || grammar_.bad_values().count != bad_values;
    if (!missing) note(Anomaly::kBadArgs);
    return at;
  }
  ++depth;
  std::uint32_t seen = 0;
  ++at;
  for (char c = text[*at] == '}' ? '}' : ','; c != '}';) {
    if (text[at[0]] != '"' || text[at[1]] != ':') return grammar_.fail_member(at);
    ArgKey key = arg_key(text + *at);
    if (key == ArgKey::kOther && tokens.escapes) key = escaped_arg_key(at);
    const Place member = at;
    at += 2;
    if (key == ArgKey::kOther) {
      at = grammar_.skip(at, depth);
      if (at != nullptr && is_kept(text + *member)) keep(member, at);
    } else {
      const std::uint32_t bit = std::uint32_t{1} << static_cast<int>(key);
      if (seen & bit) note(Anomaly::kDuplicateKey);
      seen |= bit;
      if (std::string_view* const word = word_of(key)) {
        const Place value = at;
        at = grammar_.skip(value, depth);
        if (at != nullptr) *word = tokens.value_text(value, at);
      } else {
        at = read_id(at, depth, id_of(key, row));
      }
    }
    if (at == nullptr) return nullptr;
    c = text[*at];
    if (c == ',') {
      ++at;
    } else if (c != '}') {
      return grammar_.fail(at, "',' or '}'");
    }
  }
  row.args_length = *at + 1 - *object;
  return at + 1;
}

void EventReader::keep(Place key, Place after) {
  kept_ += kept_.empty() ? '{' : ',';
  kept_ += grammar_.tokens().value_text(key, after);
}

}  // namespace tta::trace
