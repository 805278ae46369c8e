// SPDX-License-Identifier: BSD-3-Clause
// trace/document.cpp: the states of the walk.
#include "trace/document.h"

#include <utility>

#include "trace/escapes.h"
#include "trace/recovery.h"

namespace tta::trace {

Document::Document(Trace& trace, const RowFilter& keep, const Limits& limits)
    : trace_(trace),
      keep_(keep),
      limits_(limits),
      events_(grammar_, trace.strings, tally_),
      rows_(trace.columns) {}

std::size_t Document::walk(const TextWindow& window) {
  window_ = &window;
  grammar_.set_tokens(window.tokens);
  const Place end = window.tokens.end;
  item_ = window.tokens.begin;
  bool inside_item = false;
  while (item_ != end && !inside_item) {
    grammar_.start_item();
    const Place after = step(item_);
    if (after != nullptr) {
      item_ = after;
    } else if (runs_into_end(grammar_.mistake().at)) {
      inside_item = true;
    } else {
      fail_grammar(grammar_.mistake());
    }
  }
  check_rows();
  if (window.fault.kind != nullptr) fail_fault();
  if (window.last) end_of_text(inside_item);
  return *item_;
}

Place Document::step(Place at) {
  switch (state_) {
    case State::kEvent:
      return element(at);
    case State::kFirstEvent:
      if (grammar_.tokens().at(at) != ']') return element(at);
      if (limits_.recover && check_list_end(at) == nullptr) return nullptr;
      trace_.events_end = window_->offset + *at;
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

Document::Region Document::region() const {
  switch (state_) {
    case State::kStart:
      return Region::kBegin;
    case State::kFirstMember:
    case State::kMember:
      return has_events_ ? Region::kTail : Region::kHeader;
    case State::kFirstEvent:
    case State::kEvent:
      return Region::kEvents;
    case State::kAfterEvents:
      return Region::kTail;
    case State::kDone:
      break;
  }
  return Region::kDone;
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
  if (probing_) {
    if (check_members(at) == nullptr) return nullptr;
    end_probe();
    grammar_.start_item();
  }
  std::string key = unescape(tokens.string_at(at));
  const Place value = at + 2;
  if (tokens.at(value) == '[' && key == "traceEvents") {
    if (has_events_ && !limits_.recover) fail_two_lists();
    if (has_events_) tally_.count(Anomaly::kTwoEventLists, position(at));
    enter_events();
    return value + 1;
  }
  metadata_keys_.intern(key);  // known even if the text is cut in its value
  constexpr int kDepth = 1;
  const Place after = grammar_.skip(value, kDepth);
  if (after == nullptr) return nullptr;
  const char c = tokens.at(after);
  if (c != ',' && c != '}') return grammar_.fail(after, "',' or '}'");
  if (key == "traceEvents") fail_events_type(value);
  add_metadata(std::move(key), tokens.value_text(value, after));
  state_ = c == ',' ? State::kMember : State::kDone;
  return after + 1;
}

void Document::add_metadata(std::string key, std::string_view value) {
  const bool bad_utf8 = grammar_.tokens().bad_utf8;
  if (bad_utf8) key = replace_bad_utf8(key);
  std::string json(value);
  if (bad_utf8 || grammar_.bad_values().count > 0) json = mended(value);
  count_bad_values();
  const std::uint32_t id = metadata_keys_.intern(key);
  if (id >= metadata_index_.size())
    metadata_index_.resize(std::size_t{id} + 1, kNowhere);
  if (metadata_index_[id] == kNowhere) {
    metadata_index_[id] = trace_.metadata.size();
    trace_.metadata.emplace_back(std::move(key), std::move(json));
  } else {
    trace_.metadata[metadata_index_[id]].second = std::move(json);
    tally_.count(Anomaly::kDuplicateKey, position(item_));
  }
}

Place Document::element(Place at) {
  const Tokens& tokens = grammar_.tokens();
  const int depth = element_depth();
  if (probing_ && tokens.at(at) == ']') return end_of_list(at);
  const bool is_object = tokens.at(at) == '{';
  Row row;
  const auto read = [&] {
    if (is_object) return events_.read(at, depth, window_->offset, row);
    return tokens.at(at) == '[' ? skip_list(at, depth) : grammar_.skip(at, depth);
  };
  const Place after = read();
  if (after == nullptr) return nullptr;
  State next = State::kEvent;
  const char c = tokens.at(after);
  if (c == ']') {
    next = list_form_ ? State::kDone : State::kAfterEvents;
  } else if (c != ',') {
    // An object that the text ends after is whole all the same.
    const bool at_end = window_->last && after == tokens.end;
    if (!at_end || !(is_object || list_form_)) {
      return grammar_.fail(after, "',' or ']'");
    }
  }
  if (probing_ && (!is_object || !events_.has_phase())) {
    return grammar_.fail(at, "an event");
  }
  if (limits_.recover && (probing_ || c == ']')) {
    const Place checked =
        probing_ ? check_followers(after, row.name != 0) : check_list_end(after);
    if (checked == nullptr) return nullptr;
    grammar_.start_item();
    read();  // again: another one may have been read since
    if (probing_) end_probe();
  }
  if (grammar_.bad_values().count > 0) count_bad_values();
  if (c == ']') trace_.events_end = window_->offset + *after;
  const Position where = position(at);
  state_ = next;
  ++elements_;
  if (!is_object) {
    tally_.count(Anomaly::kSkippedElement, where);
  } else if (events_.finish(row, where)) {
    if (keep_.keeps(row.phase, row.category, row.ts, row.dur, false)) {
      keep_args(row, where);
      rows_.append(row);
    } else {
      ++trace_.left_out;
    }
  }
  return after == tokens.end ? after : after + 1;
}

void Document::keep_args(const Row& row, const Position& where) {
  if (row.phase == 'i' && row.args_length > 0 &&
      trace_.strings.view(row.name) == kMemoryEvent) {
    const auto* const args = window_->tokens.text + (row.args_offset - window_->offset);
    trace_.memory.push_back(read_memory_args({args, row.args_length}));
    trace_.memory.back().offset = row.args_offset;
    return;
  }
  const auto object = events_.kept_args();
  if (object.empty()) return;
  const auto& kind = info(static_cast<Category>(row.category));
  const bool names = row.phase == 'M';  // metadata: processes and threads
  const bool ends = row.phase == 'E';   // what, is not known here
  if (!names && !ends && kind.id != Category::kCpuOp && !kind.runtime_api &&
      !kind.device_work) {
    return;
  }
  trace_.kept_args.add(static_cast<std::uint32_t>(rows_.size()), object, where.offset);
}

Place Document::after_events(Place at) {
  const char c = grammar_.tokens().at(at);
  if (c != ',' && c != '}') return grammar_.fail(at, "',' or '}'");
  state_ = c == ',' ? State::kMember : State::kDone;
  return at + 1;
}

void Document::end_of_text(bool inside_item) {
  const bool between = state_ == State::kEvent && !inside_item;
  if (list_form_ && between) {
    // The Chrome trace format lets a writer that was interrupted leave it open.
    tally_.count(Anomaly::kUnclosedList, position(window_->tokens.end));
  } else if (state_ != State::kDone) {
    fail_truncated();
  }
  const bool no_events = rows_.size() == 0 && trace_.left_out == 0;
  if (!has_events_ || (list_form_ && elements_ > 0 && no_events)) {
    fail_no_events();
  }
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
  return {window_->offset + *at, in_events() ? elements_ : -1};
}

void Document::count_bad_values() {
  const BadValues& bad = grammar_.bad_values();
  if (bad.count == 0) return;
  tally_.count(Anomaly::kBadValue,
               {window_->offset + bad.first, in_events() ? elements_ : -1}, bad.count);
}

}  // namespace tta::trace
