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
#include "trace/part.h"
#include "trace/rows.h"
#include "trace/tally.h"
#include "trace/text_windows.h"
#include "trace/trace.h"

namespace tta::trace {

/// Damage to the text itself, after which a recovery may go on.
struct Damaged : TraceError {
  Damaged(const TraceError& error, std::uint64_t item_offset, bool is_cut,
          bool is_event)
      : TraceError(error), item(item_offset), cut(is_cut), event(is_event) {}

  std::uint64_t item;  ///< Offset of the item that could not be taken.
  bool cut;            ///< Nothing is wrong but that the text ends in it.
  bool event;          ///< What of it could be read is an event.
};

class Document {
 public:
  /// What a walk may do besides reading sound text.
  struct Limits {
    bool recover = false;  ///< Reads on after a second list of events.
    /// Takes a list of objects among the events for damage if it is longer than
    /// kMaxList, or seems to end where the list of events does.
    bool split_lists = false;
    /// Row numbers are 32 bits, and the last two of them have other uses.
    std::uint64_t rows = 0xFFFF'FFFE;
  };

  /// After damage, this many elements are looked at to tell the list of events from a
  /// list in args: more than such a list of objects has.
  static constexpr int kFollowers = 16;

  /// Bytes. Far more than an event has, and little to search again.
  static constexpr std::uint32_t kMaxList = 1 << 20;

  /// The parts of a text, which differ in what can be done about damage.
  enum class Region : std::uint8_t { kBegin, kHeader, kEvents, kTail, kDone };

  /// Fills `trace`, which must outlive the document.
  Document(Trace& trace, const RowFilter& keep) : Document(trace, keep, Limits{}) {}
  Document(Trace& trace, const RowFilter& keep, const Limits& limits);

  /// Goes on as if after a comma of traceEvents, wherever it was before.
  void resume(bool list_form);

  /// Takes the whole items of a window. Returns their size in bytes. Throws Damaged, at
  /// the last window also if the text ends too early; a plain TraceError if it is not a
  /// trace, or beyond a limit.
  std::size_t walk(const TextWindow& window);

  /// Where the walk is, or was when it threw.
  Region region() const;

  // For a recovery, after Damaged was thrown.

  /// Continues where an event may begin, or the list of events may end. The text there
  /// is accepted only if it is a whole event, or all of the text to its end; otherwise
  /// walk() throws again. If it is accepted, `events` were lost from `offset` on.
  void probe(std::uint64_t offset, std::int64_t events);
  /// Goes on where a member of the outermost object may begin. It is taken only if all
  /// is sound from there to the end of the text, or to a list of events. If no events
  /// were lost, other members were.
  void probe_member(std::uint64_t offset, std::int64_t events);
  bool probing() const { return probing_; }
  /// Goes on after the '[' of traceEvents.
  void enter_events();
  /// Counts events that were lost between two offsets; the next ones are numbered
  /// accordingly.
  void lose_events(std::uint64_t begin, std::uint64_t end, std::int64_t events);
  /// Takes what was read as all there is, with the text cut at `offset`. Throws
  /// TraceError if it is something else than a trace.
  void accept_cut(std::uint64_t offset);
  /// Counts what was found at a byte.
  void count(Anomaly anomaly, std::uint64_t offset, std::uint64_t bytes = 0,
             std::uint64_t times = 1) {
    tally_.count(anomaly, {offset, -1}, times, bytes);
  }

  /// Counts what the windows themselves found odd, when there will be no more of them.
  void count_anomalies(TextWindowReader& windows);

  /// What a thread has handed over before: names and texts of args.
  struct Known {
    std::size_t names = 0, texts = 0;
  };
  /// Hands over what was read since the last part; `known` moves on.
  void take_part(Part& part, Known& known);

  /// The ids here of the names and texts that the thread which reads a part has handed
  /// over, in its order.
  struct Ids {
    std::vector<std::uint32_t> names, texts;
  };
  /// Adds the part that follows; the ids of what is new are added. The text before it
  /// has `offset` bytes.
  void add_part(const Part& part, Ids& ids, std::uint64_t offset);

  /// Moves the last rows and the warnings into the trace, after the last window.
  void finish(std::uint64_t text_bytes);

  /// Makes room for the rows of the whole text, `fraction` of which was read.
  void expect_rows(double fraction);

  /// How many elements of traceEvents were taken so far.
  std::int64_t elements() const { return elements_; }
  /// Tells whether what was taken ends at a comma of traceEvents.
  bool between_events() const { return state_ == State::kEvent && !probing_; }
  bool list_form() const { return list_form_; }

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
  Place skip_list(Place list, int depth);
  Place check_list_end(Place bracket);
  Place check_followers(Place after, bool has_name);
  Place check_members(Place key);
  Place check_close(Place place);
  Place end_of_list(Place at);
  void end_probe();
  void keep_args(const Row& row, const Position& where);
  void add_metadata(std::string key, std::string_view value);
  void end_of_text(bool inside_item);
  bool runs_into_end(Place at) const;
  bool begins_events(Place key) const;
  // Nothing can be seen past a fault or the end of the text.
  bool has_more() const { return !window_->last && window_->fault.kind == nullptr; }
  int element_depth() const { return list_form_ ? 1 : 2; }
  bool in_events() const { return region() == Region::kEvents; }
  Position position(Place at) const;
  void count_bad_values();
  void check_rows() const;

  [[noreturn]] void fail_grammar(const Mistake& mistake) const;
  [[noreturn]] void fail_fault() const;
  [[noreturn]] void fail_truncated() const;
  [[noreturn]] void fail_two_lists() const;
  [[noreturn]] void fail_no_events() const;
  [[noreturn]] void fail_events_type(Place value) const;
  [[noreturn]] void fail_trailing(Place at) const;
  [[noreturn]] void fail(const char* kind, const std::string& cause,
                         const std::string& hint, std::uint64_t offset) const;
  TraceError error(const char* kind, const std::string& cause, const std::string& hint,
                   std::uint64_t offset) const;

  Trace& trace_;
  const RowFilter keep_;
  const Limits limits_;
  Tally tally_;
  Grammar grammar_;
  EventReader events_;
  Rows rows_;
  State state_ = State::kStart;
  bool list_form_ = false;
  bool has_events_ = false;
  std::int64_t elements_ = 0;  // of traceEvents, so far
  bool probing_ = false;
  std::uint64_t lost_at_ = 0;  // as given to probe()
  std::int64_t lost_ = 0;
  const TextWindow* window_ = nullptr;
  Place item_ = nullptr;  // the one being read
  StringPool metadata_keys_;
  std::vector<std::size_t> metadata_index_;  // in Trace::metadata, by id in there
};

}  // namespace tta::trace
