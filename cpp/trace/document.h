// SPDX-License-Identifier: BSD-3-Clause
// trace/document.h: walks a trace from its first bracket to its last, item by item.
//
// Items are the members of the outermost object and the elements of traceEvents. An
// item is either wholly in a window or left for the next one, so that no state has to
// survive in the middle of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/event_reader.h"
#include "trace/grammar.h"
#include "trace/rows.h"
#include "trace/tally.h"
#include "trace/trace.h"
#include "trace/windows.h"

namespace tta::trace {

class Document {
 public:
  /// Fills `trace`, which must outlive the document.
  explicit Document(Trace& trace);

  /// Takes the whole items of a window. Returns how many bytes they are. Throws
  /// TraceError; at the last window also if the text ends too early.
  std::size_t walk(const Window& window);

  /// Moves the last rows and the warnings into the trace, after the last window.
  void finish(const WindowReader& windows);

  Rows& rows() { return rows_; }
  /// How many elements of traceEvents were taken so far.
  std::int64_t elements() const { return elements_; }

 private:
  enum class State : std::uint8_t {
    kStart,        // before the outermost bracket
    kFirstMember,  // after '{'
    kMember,       // after a comma of the outermost object
    kFirstEvent,   // after '[' of traceEvents
    kEvent,        // after a comma of traceEvents
    kAfterEvents,  // after ']' of traceEvents
    kDone,         // after the outermost bracket
  };

  Place step(Place at);
  Place start(Place at);
  Place member(Place at);
  Place element(Place at);
  Place after_events(Place at);
  void add_metadata(std::string_view raw_key, std::string_view value, Place at);
  void end_of_text(bool inside_item);
  bool runs_into_end(Place at) const;
  Position position(Place at) const;

  [[noreturn]] void fail_grammar(const Mistake& mistake) const;
  [[noreturn]] void fail_fault() const;
  [[noreturn]] void fail_truncated() const;
  [[noreturn]] void fail_no_events() const;
  [[noreturn]] void fail_events_type(Place value) const;
  [[noreturn]] void fail_trailing(Place at) const;
  [[noreturn]] void fail(const char* kind, const std::string& cause,
                         const std::string& hint, std::uint64_t offset) const;

  Trace& trace_;
  Tally tally_;
  Grammar grammar_;
  EventReader events_;
  Rows rows_;
  State state_ = State::kStart;
  bool list_form_ = false;
  bool has_events_ = false;
  std::int64_t elements_ = 0;  // of traceEvents, so far
  const Window* window_ = nullptr;
  StringPool metadata_keys_;
  std::vector<std::size_t> metadata_index_;  // in Trace::metadata, by id in there
};

}  // namespace tta::trace
