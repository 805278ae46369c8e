// SPDX-License-Identifier: BSD-3-Clause
// trace/document_errors.cpp: says what is wrong with a text, where, and what to do.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "trace/document.h"
#include "trace/printable.h"
#include "trace/recovery.h"

namespace tta::trace {

void Document::resume(bool list_form) {
  state_ = State::kEvent;
  list_form_ = list_form;
  has_events_ = true;
}

void Document::expect_rows(double fraction) {
  constexpr double kSlack = 2;  // later events are often shorter than the first ones
  const auto rows = static_cast<double>(rows_.size());
  rows_.expect(static_cast<std::size_t>(kSlack * rows / std::max(fraction, 1e-6)));
}

void Document::count_anomalies(TextWindowReader& windows) {
  windows.use_all();
  const auto add = [&](Anomaly anomaly, const OddBytes& bytes) {
    if (bytes.count > 0) tally_.count(anomaly, {bytes.first, -1}, bytes.count);
  };
  add(Anomaly::kLoneSurrogate, windows.lone_surrogates());
  add(Anomaly::kBadUtf8, windows.bad_utf8());
}

void Document::take_part(Part& part, Known& known) {
  rows_.flush();
  part.columns.clear();
  std::swap(part.columns, trace_.columns);
  part.new_names.clear();
  for (auto& id = known.names; id < trace_.strings.size(); ++id) {
    part.new_names.push_back(trace_.strings.view(static_cast<std::uint32_t>(id)));
  }
  trace_.kept_args.take_part(part.kept_args, known.texts);
  part.memory = std::exchange(trace_.memory, {});
  part.tally = std::exchange(tally_, {});
  part.elements = std::exchange(elements_, 0);
  part.left_out = std::exchange(trace_.left_out, 0);
}

void Document::add_part(const Part& part, Ids& ids, std::uint64_t offset) {
  for (const std::string_view name : part.new_names) {
    ids.names.push_back(trace_.strings.intern(name));
  }
  trace_.kept_args.add_part(part.kept_args, static_cast<std::uint32_t>(rows_.size()),
                            ids.texts, offset);
  trace_.memory.insert(trace_.memory.end(), part.memory.begin(), part.memory.end());
  rows_.append(part.columns, ids.names);
  tally_.add(part.tally, elements_);
  elements_ += part.elements;
  trace_.left_out += part.left_out;
  check_rows();
}

void Document::finish(std::uint64_t text_bytes) {
  rows_.flush();
  trace_.warnings = tally_.warnings();
  trace_.kept_args.finish(!needs_mending(trace_.warnings));
  trace_.text_bytes = text_bytes;
}

void Document::check_rows() const {
  if (rows_.size() <= limits_.rows) return;
  throw TraceError("too_many_events", trace_.path,
                   "there are more than " + std::to_string(limits_.rows) +
                       " events, the most one trace may have",
                   "Record fewer steps, or load fewer categories at a time.", -1,
                   static_cast<std::int64_t>(limits_.rows));
}

namespace {

constexpr const char* kTruncated = "truncated";
constexpr const char* kRecordAgain =
    "The file was cut: the run was killed, or the disk was full. Copy or record it "
    "again, or use recover (recover=True, --recover) to read the rest.";
constexpr const char* kExpectTrace =
    "torch.profiler exports an object with a list traceEvents.";
constexpr const char* kBrokenWriter =
    "The program that wrote the trace left something unescaped or unfinished there "
    "(newer versions of torch may not), or two processes wrote to this path at once "
    "(give each rank its own). Delete that event, or use recover (recover=True, "
    "--recover) to skip it.";

// What stands where something else was expected, if it has a name.
const char* name_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kNames = {{
      {"'", "single quotes, which are not JSON"},
      {"//", "a comment, which JSON does not have"},
      {"/*", "a comment, which JSON does not have"},
      {std::string_view("\0", 1), "a NUL byte"},
  }};
  for (const auto& [start, name] : kNames) {
    if (text.starts_with(start)) return name;
  }
  return nullptr;
}

}  // namespace

TraceError Document::error(const char* kind, const std::string& cause,
                           const std::string& hint, std::uint64_t offset) const {
  return {kind,
          trace_.path,
          cause,
          hint,
          static_cast<std::int64_t>(offset),
          in_events() ? elements_ : -1};
}

void Document::fail(const char* kind, const std::string& cause, const std::string& hint,
                    std::uint64_t offset) const {
  const bool cut = std::string_view(kind) == kTruncated;
  const bool event =
      in_events() && grammar_.tokens().at(item_) == '{' && events_.has_phase();
  // While probing, this is one of many trials whose message is never read.
  const auto at = static_cast<std::int64_t>(offset);
  throw Damaged(
      probing_ ? TraceError(kind, {}, {}, {}, at) : error(kind, cause, hint, offset),
      window_->offset + *item_, cut, event);
}

void Document::fail_grammar(const Mistake& mistake) const {
  const Tokens& tokens = grammar_.tokens();
  const std::size_t at = *mistake.at;
  const std::uint64_t offset = window_->offset + at;
  if (mistake.expected == nullptr) {
    fail("too_deep",
         "brackets are nested more than " + std::to_string(kMaxDepth) + " deep",
         "This is probably not a profiler trace. If it is, use recover (recover=True, "
         "--recover) to skip that event.",
         offset);
  }
  std::string cause = "not valid JSON: expected " + std::string(mistake.expected);
  const std::string_view found(tokens.text + at, *tokens.end - at);
  if (const char* name = name_of(found)) cause += ", found " + std::string(name);
  fail("invalid_json", cause, kBrokenWriter, offset);
}

void Document::fail_fault() const {
  const Fault& fault = window_->fault;
  if (fault.hint == nullptr) fail_truncated();
  const std::uint64_t offset = window_->offset + fault.at;
  if (fault.limit) throw error(fault.kind, fault.cause, fault.hint, offset);
  fail(fault.kind, fault.cause, fault.hint, offset);
}

void Document::fail_truncated() const {
  const bool fault = window_->fault.kind != nullptr;
  const std::uint64_t end =
      window_->offset + (fault ? window_->fault.at : *window_->tokens.end);
  fail(kTruncated,
       "the text ends too early, after " + std::to_string(elements_) + " whole events",
       kRecordAgain, end);
}

void Document::fail_two_lists() const {
  fail("two_event_lists", "there are two lists called traceEvents",
       "Two traces may have been merged by hand: keep one list, or use recover "
       "(recover=True, --recover) to read both.",
       position(item_).offset);
}

void Document::fail_no_events() const {
  const auto has = [&](const char* key) { return metadata_keys_.find(key) > 0; };
  std::string cause = "JSON, but no trace: there is no member traceEvents";
  std::string hint = kExpectTrace;
  if (list_form_) {
    cause = "a JSON list, but none of its elements is an event";
  } else if (has("nodes")) {
    cause = "this looks like an execution trace (it has nodes, but no traceEvents)";
    hint = "Give the profiler's trace of the same run. " + hint;
  } else if (has("cannot_know")) {
    cause = "this is the result of a dry run, not a trace";
    hint = "Give the trace that dryrun --trace-out writes (to_trace() of the run).";
  } else if (has("findings") && has("schema_version")) {
    cause = "this is a report of torchtraceap, not a trace";
    hint = "compare and check --baseline take a report; else give the trace itself.";
  } else if (has("segments") || has("device_traces")) {
    cause = "this looks like a memory snapshot, not a profiler trace";
  } else if (has("ph")) {
    cause = "a single event (one event a line?), not a trace";
    hint = "Put the events into one list. " + hint;
  }
  throw TraceError("not_a_trace", trace_.path, cause, hint);
}

void Document::fail_events_type(Place value) const {
  const Tokens& tokens = grammar_.tokens();
  const char c = tokens.at(value);
  const char* type = c == '{'   ? "an object"
                     : c == '"' ? "a text"
                     : c == 'n' ? "null"
                                : "a number or truth value";
  throw error("not_a_trace", std::string("traceEvents is ") + type + ", not a list",
              kExpectTrace, window_->offset + *value);
}

void Document::fail_trailing(Place at) const {
  if (!has_events_) fail_no_events();
  fail("trailing_content", "something follows the end of the trace",
       "Two traces in one file, or two processes writing one path? Keep one of them, "
       "or use recover (recover=True, --recover) to read the first.",
       window_->offset + *at);
}

}  // namespace tta::trace
