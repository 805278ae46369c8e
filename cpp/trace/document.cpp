// SPDX-License-Identifier: BSD-3-Clause
// trace/document.cpp: the states of the walk.
#include "trace/document.h"

#include "trace/escapes.h"

namespace tta::trace {

Document::Document(Trace& trace)
    : trace_(trace), events_(grammar_, trace.strings, tally_), rows_(trace.columns) {}

std::size_t Document::walk(const Window& window) {
  window_ = &window;
  grammar_.set_tokens(window.tokens);
  const Place end = window.tokens.end;
  Place at = window.tokens.begin;
  bool inside_item = false;
  while (at != end && !inside_item) {
    const Place after = step(at);
    if (after != nullptr) {
      at = after;
    } else if (runs_into_end(grammar_.mistake().at)) {
      inside_item = true;
    } else {
      fail_grammar(grammar_.mistake());
    }
  }
  if (window.fault.kind != nullptr) fail_fault();
  if (window.last) end_of_text(inside_item);
  return *at;
}

Place Document::step(Place at) {
  switch (state_) {
    case State::kEvent:
      return element(at);
    case State::kFirstEvent:
      if (grammar_.tokens().at(at) != ']') return element(at);
      state_ = list_form_ ? State::kDone : State::kAfterEvents;
      return at + 1;
    case State::kStart:
      return start(at);
    case State::kFirstMember:
      if (grammar_.tokens().at(at) != '}') return member(at);
      state_ = State::kDone;
      return at + 1;
    case State::kMember:
      return member(at);
    case State::kAfterEvents:
      return after_events(at);
    case State::kDone:
      break;
  }
  fail_trailing(at);
}

Place Document::start(Place at) {
  const char c = grammar_.tokens().at(at);
  if (c != '{' && c != '[') return grammar_.fail(at, "'{' or '['");
  list_form_ = has_events_ = c == '[';
  state_ = list_form_ ? State::kFirstEvent : State::kFirstMember;
  return at + 1;
}

Place Document::member(Place at) {
  const Tokens& tokens = grammar_.tokens();
  if (tokens.at(at) != '"' || tokens.at(at + 1) != ':') return grammar_.fail_member(at);
  const std::string_view raw_key = tokens.string_at(at);
  const Place value = at + 2;
  if (tokens.at(value) == '[' && unescape(raw_key) == "traceEvents") {
    if (has_events_) {
      fail("two_event_lists", "there are two lists called traceEvents",
           "Two traces may have been merged by hand; keep one list.",
           position(at).offset);
    }
    has_events_ = true;
    state_ = State::kFirstEvent;
    return value + 1;
  }
  constexpr int kDepth = 1;
  const Place after = grammar_.skip(value, kDepth);
  if (after == nullptr) return nullptr;
  const char c = tokens.at(after);
  if (c != ',' && c != '}') return grammar_.fail(after, "',' or '}'");
  if (unescape(raw_key) == "traceEvents") fail_events_type(value);
  add_metadata(raw_key, tokens.value_text(value, after), at);
  state_ = c == ',' ? State::kMember : State::kDone;
  return after + 1;
}

void Document::add_metadata(std::string_view raw_key, std::string_view value,
                            Place at) {
  const std::string key = unescape(raw_key);
  const std::uint32_t id = metadata_keys_.intern(key);
  if (id >= metadata_index_.size())
    metadata_index_.resize(std::size_t{id} + 1, kNowhere);
  if (metadata_index_[id] == kNowhere) {
    metadata_index_[id] = trace_.metadata.size();
    trace_.metadata.emplace_back(key, value);
  } else {
    trace_.metadata[metadata_index_[id]].second = value;
    tally_.count(Oddity::kDuplicateKey, position(at));
  }
}

Place Document::element(Place at) {
  const Tokens& tokens = grammar_.tokens();
  const int depth = list_form_ ? 1 : 2;
  const bool is_object = tokens.at(at) == '{';
  Row row;
  Place after = is_object ? events_.read(at, depth, window_->offset, row)
                          : grammar_.skip(at, depth);
  if (after == nullptr) return nullptr;
  const char c = tokens.at(after);
  if (c == ',') {
    state_ = State::kEvent;
    ++after;
  } else if (c == ']') {
    state_ = list_form_ ? State::kDone : State::kAfterEvents;
    ++after;
  } else if (list_form_ && window_->last && after == tokens.end) {
    state_ = State::kEvent;
  } else {
    return grammar_.fail(after, "',' or ']'");
  }
  const Position where = position(at);
  ++elements_;
  if (!is_object) {
    tally_.count(Oddity::kSkippedElement, where);
  } else if (events_.finish(row, where)) {
    rows_.append(row);
  }
  return after;
}

Place Document::after_events(Place at) {
  const char c = grammar_.tokens().at(at);
  if (c != ',' && c != '}') return grammar_.fail(at, "',' or '}'");
  state_ = c == ',' ? State::kMember : State::kDone;
  return at + 1;
}

void Document::end_of_text(bool inside_item) {
  const bool open_list = list_form_ && state_ == State::kEvent && !inside_item;
  if (open_list) {
    // The Chrome trace format lets a writer that was interrupted leave it open.
    tally_.count(Oddity::kUnclosedList, position(window_->tokens.end));
  } else if (state_ != State::kDone) {
    fail_truncated();
  }
  if (!has_events_ || (list_form_ && elements_ > 0 && rows_.size() == 0)) {
    fail_no_events();
  }
}

void Document::finish(const WindowReader& windows) {
  rows_.flush();
  if (windows.lone_surrogates() > 0) {
    tally_.count(Oddity::kLoneSurrogate, {windows.first_lone_surrogate(), -1},
                 windows.lone_surrogates());
  }
  trace_.warnings = tally_.warnings();
  trace_.text_bytes = windows.text_end();
}

// Tells whether a mistake is only that the window is over. At the end of the text a
// scalar may have been cut as well: "tru", "12.".
bool Document::runs_into_end(Place at) const {
  const Tokens& tokens = grammar_.tokens();
  if (at == tokens.end) return true;
  if (!window_->last || at + 1 != tokens.end || tokens.at(at) == '"') return false;
  const char* p = tokens.text + *at;
  while (p != tokens.limit() && !detail::ends_scalar(*p)) ++p;
  return p == tokens.limit();
}

Position Document::position(Place at) const {
  const bool in_events = state_ == State::kFirstEvent || state_ == State::kEvent;
  return {window_->offset + *at, in_events ? elements_ : -1};
}

}  // namespace tta::trace
