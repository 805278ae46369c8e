// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/gc_pause.cpp: Python's garbage collector stopped the thread.
//
// Recorded: "Python GC" events (recent torch with record_python_gc_info and
// with_stack), or a frame of gc.collect. Conjectured: a builtin that only puts an
// element into a container, where only a collection that it triggered can take long. A
// long gap without any event proves nothing: anything may have happened in it.
#include <array>

#include "patterns/marks.h"
#include "patterns/thread_time.h"

namespace tta::patterns {
namespace gc_pause {
namespace {

enum : std::size_t { kMinShare, kMinPause, kMinGuess };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_pause", 100, "us",
              "collections of the youngest generation take 10-100 µs and are part of "
              "running Python (msprof lists those above 1000 µs)"},
    Threshold{"min_guess", 100'000, "us",
              "where the collector was not recorded: far more than a thread waits for "
              "its processor (msprof: 200 ms)"},
};

enum Kind : std::uint8_t { kRecorded, kConjectured };

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Mark> marks;
  bool recorded = false;  // then nothing has to be guessed
  for (const auto& lane : t.lanes.threads()) {
    auto covered = t.span.begin;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (!t.named(row, Name::kCollects)) continue;
      recorded |= t.trace->name(row) == "Python GC";
      const auto end = t.tree.end(c, row);
      if (end <= covered || end - c.ts[row] < context.limits.ns(kMinPause)) continue;
      covered = end;
      marks.push_back({{c.ts[row], end}, row, kRecorded});
    }
  }
  if (!recorded) {
    for (const auto lane : working_lanes(t)) {
      for (const auto& s : python_self_time(t, lane, context.limits.ns(kMinGuess))) {
        if (!t.named(s.frame, Name::kStores) ||
            s.time.length() < context.limits.ns(kMinGuess)) {
          continue;
        }
        marks.push_back({s.time, s.frame, kConjectured});
      }
    }
  }
  return claim_marks(context, PatternId::kGcPause, std::move(marks));
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const std::string who = t.devices.empty() ? "the program" : devices_text(f, false);
  const std::string waited = who + " waited " + duration_text(f.wasted_ns);
  if (f.subtype == kRecorded) {
    return count_text(f.count, "collection", "collections") +
           " of Python's garbage: " + waited + ".";
  }
  return "Storing one element took as long as a garbage collection, " +
         count_text(f.count, "time", "times") + ": " + waited +
         " (record_python_gc_info=True would confirm it).";
}

}  // namespace
}  // namespace gc_pause

const Rule kGcPauseRule{PatternId::kGcPause, gc_pause::kThresholds, gc_pause::propose,
                        gc_pause::describe};

}  // namespace tta::patterns
