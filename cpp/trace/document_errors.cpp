// SPDX-License-Identifier: BSD-3-Clause
// trace/document_errors.cpp: says what is wrong with a text, where, and what to do.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "trace/document.h"
#include "trace/printable.h"

namespace tta::trace {
namespace {

constexpr std::size_t kContext = 20;  // characters shown on each side

constexpr const char* kRecordAgain =
    "The file was cut: the run was killed, or the disk was full. Copy or record it "
    "again.";
constexpr const char* kExpectTrace =
    "Expected is what torch.profiler exports: an object with a list traceEvents.";
constexpr const char* kBrokenWriter =
    "The program that wrote the trace left something unescaped or unfinished there; "
    "newer versions of torch may not, or delete that event.";

// What stands where something else was expected, if it has a name.
const char* name_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 16> kNames = {{
      {"NaN", "NaN, which is not JSON"},
      {"nan", "nan, which is not JSON"},
      {"-nan", "-nan, which is not JSON"},
      {"Infinity", "Infinity, which is not JSON"},
      {"-Infinity", "-Infinity, which is not JSON"},
      {"inf", "inf, which is not JSON"},
      {"-inf", "-inf, which is not JSON"},
      {"N/A", "N/A without quotes"},
      {"None", "a Python word (this is Python, not JSON)"},
      {"True", "a Python word (this is Python, not JSON)"},
      {"False", "a Python word (this is Python, not JSON)"},
      {"undefined", "undefined, which is not JSON"},
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

void Document::fail(const char* kind, const std::string& cause, const std::string& hint,
                    std::uint64_t offset) const {
  const bool in_events = state_ == State::kFirstEvent || state_ == State::kEvent;
  throw TraceError(kind, trace_.path, cause, hint, static_cast<std::int64_t>(offset),
                   in_events ? elements_ : -1);
}

void Document::fail_grammar(const Mistake& mistake) const {
  const Tokens& tokens = grammar_.tokens();
  const std::size_t at = *mistake.at;
  const std::string_view text(tokens.text, *tokens.end);
  const std::uint64_t offset = window_->offset + at;
  if (mistake.expected == nullptr) {
    fail("too_deep",
         "brackets are nested more than " + std::to_string(kMaxDepth) + " deep",
         "This is hardly a profiler trace.", offset);
  }
  const std::string_view found = text.substr(at);
  const std::size_t before = std::min(at, kContext);
  std::string cause = "not valid JSON: expected " + std::string(mistake.expected);
  if (const char* name = name_of(found)) cause += ", found " + std::string(name);
  cause += ", near `" + printable(text.substr(at - before, before), 4 * kContext) +
           " >>>" + printable(found.substr(0, kContext), 4 * kContext) + "`";
  fail("invalid_json", cause, kBrokenWriter, offset);
}

void Document::fail_fault() const {
  const Fault& fault = window_->fault;
  const std::uint64_t offset = window_->offset + fault.at;
  if (fault.hint == nullptr) fail_truncated();
  fail(fault.kind, fault.cause, fault.hint, offset);
}

void Document::fail_truncated() const {
  const bool fault = window_->fault.kind != nullptr;
  const std::uint64_t end =
      window_->offset + (fault ? window_->fault.at : *window_->tokens.end);
  fail("truncated",
       "the text ends too early, after " + std::to_string(elements_) + " whole events",
       kRecordAgain, end);
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
  fail("not_a_trace", std::string("traceEvents is ") + type + ", not a list",
       kExpectTrace, window_->offset + *value);
}

void Document::fail_trailing(Place at) const {
  if (!has_events_) fail_no_events();
  const Tokens& tokens = grammar_.tokens();
  const std::string_view found =
      std::string_view(tokens.text, *tokens.end).substr(*at, kContext);
  fail("trailing_content",
       "something follows the end of the trace: `" + printable(found, 4 * kContext) +
           "`",
       "Two traces in one file, or two processes writing one path? Keep one of them.",
       window_->offset + *at);
}

}  // namespace tta::trace
