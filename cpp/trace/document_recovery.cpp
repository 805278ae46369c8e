// SPDX-License-Identifier: BSD-3-Clause
// trace/document_recovery.cpp: what a document takes, and what not, to recover.
#include <algorithm>

#include "trace/document.h"

namespace tta::trace {

void Document::enter_events() {
  state_ = State::kFirstEvent;
  has_events_ = true;
}

void Document::probe(std::uint64_t offset, std::int64_t events) {
  state_ = State::kEvent;
  probing_ = true;
  lost_at_ = offset;
  lost_ = events;
}

void Document::probe_member(std::uint64_t offset, std::int64_t events) {
  probe(offset, events);
  state_ = State::kMember;
}

void Document::end_probe() {
  probing_ = false;
  const std::uint64_t end = window_->offset + *item_;
  if (lost_ > 0) return lose_events(lost_at_, end, lost_);
  count(Anomaly::kDamagedMetadata, lost_at_, end - lost_at_);
}

void Document::lose_events(std::uint64_t begin, std::uint64_t end,
                           std::int64_t events) {
  tally_.count(Anomaly::kDamagedEvent, {begin, elements_},
               static_cast<std::uint64_t>(events), end - begin);
  elements_ += events;
}

void Document::accept_cut(std::uint64_t offset) {
  const auto has = [&](const char* key) { return metadata_keys_.find(key) > 0; };
  const bool no_events = rows_.size() == 0 && trace_.left_out == 0;
  const bool other = list_form_ ? elements_ > 0 && no_events
                                : !has_events_ && (has("nodes") || has("segments") ||
                                                   has("device_traces") || has("ph"));
  if (other) fail_no_events();
  count(Anomaly::kTruncated, offset);
}

// Taken for the end of the list, a bracket must be followed by sound members and
// nothing else: in the args of a damaged event there are many brackets.
Place Document::end_of_list(Place at) {
  if (check_close(at + 1) == nullptr) return nullptr;
  end_probe();
  state_ = list_form_ ? State::kDone : State::kAfterEvents;
  return at + 1;
}

// Tells whether all that follows the bracket of the list before `place` is sound, to
// the end of the text or to a further list of events.
Place Document::check_close(Place place) {
  const Tokens& tokens = grammar_.tokens();
  if (!list_form_) {
    if (tokens.at(place) == ',') return check_members(place + 1);
    if (tokens.at(place) != '}') return grammar_.fail(place, "',' or '}'");
    ++place;
  }
  const bool at_end = place == tokens.end && window_->last;
  return at_end ? place : grammar_.fail(place, "the end of the text");
}

// The same from a member on.
Place Document::check_members(Place key) {
  const Tokens& tokens = grammar_.tokens();
  for (;;) {
    if (tokens.at(key) != '"' || tokens.at(key + 1) != ':') {
      return grammar_.fail_member(key);
    }
    if (begins_events(key)) return key;
    constexpr int kDepth = 1;
    const Place after = grammar_.skip(key + 2, kDepth);
    if (after == nullptr) return nullptr;
    if (tokens.at(after) != ',') return check_close(after);
    key = after + 1;
  }
}

bool Document::begins_events(Place key) const {
  const Tokens& tokens = grammar_.tokens();
  const Place value = key + 2;
  if (tokens.at(value) != '[' || tokens.string_at(key) != "traceEvents") return false;
  const char first = tokens.at(value + 1);
  return first == '{' || first == ']';
}

// Decides whether an event after damage, which ends before `after`, may be in the list
// of events. An event in a list in args is followed by few others, and then by a
// bracket that does not end the list of events. If damage or the end of the text hides
// that, an event must have a name, unlike objects in args. Returns `after`, or nullptr
// and a mistake.
Place Document::check_followers(Place after, bool has_name) {
  const Tokens& tokens = grammar_.tokens();
  Place at = after;
  for (int i = 0; i < kFollowers && tokens.at(at) == ','; ++i) {
    at = grammar_.skip(at + 1, element_depth());
    if (at == nullptr) {
      const bool hidden = has_more() && grammar_.mistake().at == tokens.end;
      return hidden || !has_name ? nullptr : after;
    }
  }
  if (at == tokens.end && has_more()) return grammar_.fail(at, "',' or ']'");
  if (tokens.at(at) != ']') {
    const bool taken = tokens.at(at) == ',' || has_name;
    return taken ? after : grammar_.fail(at, "',' or ']'");
  }
  if (check_list_end(at) == nullptr) {
    // An event follows the bracket, or the window is over.
    return at != after && grammar_.mistake().at == at ? after : nullptr;
  }
  if (check_close(at + 1) != nullptr) return after;
  // If the text ends there, nothing but a lack of a name speaks against it.
  const bool cut = window_->last ||
                   (window_->fault.kind != nullptr && window_->fault.hint == nullptr);
  return has_name && cut && runs_into_end(grammar_.mistake().at) ? after : nullptr;
}

// Tells whether a ']' may be the end of the list: an event that
// follows makes it a comma gone wrong. Returns the bracket, or nullptr and a mistake.
Place Document::check_list_end(Place bracket) {
  const Tokens& tokens = grammar_.tokens();
  const bool more = has_more();
  const Place next = bracket + (tokens.at(bracket + 1) == ',' ? 2 : 1);
  if (next == tokens.end) return more ? grammar_.fail(next, "an event") : bracket;
  if (tokens.at(next) != '{') return bracket;
  Row row;
  if (events_.read(next, element_depth(), window_->offset, row) == nullptr) {
    return more && grammar_.mistake().at == tokens.end ? nullptr : bracket;
  }
  return events_.has_phase() ? grammar_.fail(bracket, "','") : bracket;
}

// Reads over a list among the elements. One that holds objects and is longer than any
// event has swallowed the events after a bracket too many, and so has one after which
// the members of the outermost object go on.
Place Document::skip_list(Place list, int depth) {
  const Tokens& tokens = grammar_.tokens();
  const Place after = grammar_.skip(list, depth);
  if (!limits_.split_lists || tokens.at(list + 1) != '{') return after;
  const Place far = std::lower_bound(list, tokens.end, *list + kMaxList);
  const Place reached = after != nullptr ? after : grammar_.mistake().at;
  if (far != tokens.end && reached > far) return grammar_.fail(far, "','");
  if (after == nullptr) return nullptr;
  // Where the text ends, the format lets the list of events lack its bracket.
  if (after == tokens.end) return grammar_.fail(after, "','");
  if (tokens.at(after) != ',') return after;
  const bool more = has_more();
  const Place key = after + 1;
  if (key == tokens.end) return more ? grammar_.fail(key, "an event") : after;
  if (tokens.at(key) != '"') return after;
  const Place colon = key + 1;
  if (colon == tokens.end) return more ? grammar_.fail(colon, "','") : after;
  return tokens.at(colon) == ':' ? grammar_.fail(colon, "','") : after;
}

}  // namespace tta::trace
