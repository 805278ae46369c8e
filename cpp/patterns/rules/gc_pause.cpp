// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/gc_pause.cpp: Python's garbage collector stopped the thread.
//
// Recorded: "Python GC" events (recent torch with record_python_gc_info and
// with_stack), or a frame of gc.collect. Conjectured: a builtin that only puts an
// element into a container, where nothing can take long but a collection that it set
// off. A long gap without any event is no evidence: anything may have happened in it.
#include <algorithm>
#include <array>
#include <string_view>

#include "patterns/marks.h"
#include "patterns/python_time.h"

namespace tta::patterns {
namespace gc_pause {
namespace {

enum : std::size_t { kMinShare, kMinPause, kMinGuess };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_pause", 100, "us",
              "collections of the youngest generation take 10-100 µs and are part of "
              "running Python (msprof lists those above 1000 µs)"},
    Threshold{"min_guess", 100'000, "us",
              "where the collector was not recorded: far more than a thread waits for "
              "its processor (msprof: 200 ms)"},
};

enum Kind : std::uint8_t { kRecorded, kConjectured };
constexpr int kOther = -1;

// Puts an element into a container in memory: no I/O, no lock, no code of others.
bool only_stores(std::string_view name) {
  constexpr std::string_view kMethod = "<built-in method ";
  if (!name.starts_with(kMethod)) return false;
  name.remove_prefix(kMethod.size());
  constexpr std::array<std::string_view, 6> kStoring = {
      "append of list object",
      "insert of list object",
      "append of collections.deque object",
      "appendleft of collections.deque object",
      "setdefault of dict object",
      "add of set object"};
  return std::any_of(kStoring.begin(), kStoring.end(),
                     [&](std::string_view known) { return name.starts_with(known); });
}

int kind_of(std::string_view name) {
  if (name == "Python GC" || name == "<built-in function collect>") return kRecorded;
  return only_stores(name) ? kConjectured : kOther;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<int> kinds;
  for (std::uint32_t id = 0; id < t.trace->strings.size(); ++id) {
    kinds.push_back(kind_of(t.trace->strings.view(id)));
  }
  std::vector<Mark> marks;
  bool recorded = false;  // then nothing has to be guessed
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream) continue;
    auto covered = t.span.begin;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (kinds[c.name[row]] != kRecorded) continue;
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
        if (kinds[c.name[s.frame]] != kConjectured ||
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
  return "Storing one element took as long as only a garbage collection does, " +
         count_text(f.count, "time", "times") + ": " + waited +
         " (record_python_gc_info=True would tell for sure).";
}

}  // namespace
}  // namespace gc_pause

const Rule kGcPauseRule{PatternId::kGcPause, gc_pause::kThresholds, gc_pause::propose,
                        gc_pause::describe};

}  // namespace tta::patterns
