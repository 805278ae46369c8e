// SPDX-License-Identifier: BSD-3-Clause
// pipeline/records.h: the records of a report, as Python, JSON and tables have them.
// It has over 400 lines: it is one table, a row for each field of each record.
// To add a column, add a row here (record/record.h) and fill it where the record is
// made; `make stubs` rewrites the stubs and the JSON schema.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/finding.h"
#include "patterns/pattern.h"
#include "record/record.h"

namespace tta::pipeline {

using record::Figure;
using record::Figures;
using record::Identity;
using record::Process;
using record::SharesByName;
using record::TimesByName;

/// How far a trace can be trusted.
enum class Verdict : std::uint8_t {
  kOk,
  kDegraded,  ///< Something is missing; the notes say which figures suffer.
  kUnusable,  ///< Device time cannot be judged: no balance and no device findings.
};
constexpr auto words_of(Verdict) {
  return std::array<std::string_view, 3>{"ok", "degraded", "unusable"};
}

/// Who found something; kDryRun: a rule, in a simulated trace.
enum class Origin : std::uint8_t { kRule, kDryRun, kModel };
constexpr auto words_of(Origin) {
  return std::array<std::string_view, 3>{"rule", "dry-run", "model"};
}

/// What a finding's figures rest on.
enum class Basis : std::uint8_t { kMeasured, kSimulated, kEstimate, kModel };
constexpr auto words_of(Basis) {
  return std::array<std::string_view, 4>{"measured", "simulated", "estimate", "model"};
}

using patterns::PatternSide;
using patterns::Severity;
using timeline::LineOf;

// --- Places and events
// ----------------------------------------------------------------

#define TTA_LOCATION(FIELD)                                                          \
  FIELD(std::string, file, {},                                                       \
        "As in the trace, often relative to a folder of sys.path.")                  \
  FIELD(std::optional<std::int64_t>, line, {},                                       \
        "Line of the call: as in the trace, else as found in the source file; None " \
        "if neither has it, or if several lines match.")                             \
  FIELD(std::string, function, {}, "Name of the function.")                          \
  FIELD(bool, user, true, "False if only library code was there.")                   \
  FIELD(std::optional<std::int64_t>, recorded_line, {},                              \
        "The line in the trace; by default `line`.")                                 \
  FIELD(LineOf, recorded_at, LineOf::kCall,                                          \
        "Position of the recorded line: \"call\"; \"function\", where the function " \
        "begins; or \"start\", where it was when recording began, which says "       \
        "nothing about a finding.")
TTA_RECORD(Location, TTA_LOCATION, "A function of Python code.")

/// Gives a location made by Python the default of its recorded line.
inline void finish(Location& made) {
  if (!made.recorded_line) made.recorded_line = made.line;
}

#define TTA_EVENT(FIELD)                                           \
  FIELD(std::uint32_t, index, 0, "Row in `Trace.columns`.")        \
  FIELD(std::string, name, {}, "Name in the trace.")               \
  FIELD(std::int64_t, start_ns, 0, "Start, on the trace's clock.") \
  FIELD(std::int64_t, duration_ns, 0, "Length.")
TTA_RECORD(Event, TTA_EVENT, "An event of the trace that takes time.")

#define TTA_UNEXPLAINED(FIELD)                                               \
  FIELD(std::optional<std::int32_t>, device, {},                             \
        "None: of a process in a trace without device work.")                \
  FIELD(std::int64_t, start_ns, 0, "Start, on the trace's clock.")           \
  FIELD(std::int64_t, end_ns, 0, "End, on the trace's clock.")               \
  FIELD(std::optional<Event>, during, {},                                    \
        "The host event that covers most of it. None: nothing is recorded.") \
  FIELD(Process, pid, {}, "The process, or the one that feeds the device.")
TTA_RECORD(Unexplained, TTA_UNEXPLAINED,
           "A long stretch of idle time that no pattern accounts for.")

// --- Windows
// --------------------------------------------------------------------------

#define TTA_LABEL(FIELD)                                                             \
  FIELD(std::string, pattern, {}, "Name of the pattern.")                            \
  FIELD(PatternSide, side, PatternSide::kCpu,                                        \
        "\"cpu\" or \"gpu\": whose code has to change.")                             \
  FIELD(double, wasted_fraction, 0,                                                  \
        "Its own part of the window, 0 to 1: `wasted_us` as a share. Those of a "    \
        "window add up to at most 1.")                                               \
  FIELD(double, saved_fraction, 0,                                                   \
        "Share of the window that a fix of this pattern alone saves, 0 to 1, by "    \
        "replay. Several fixes may save the same time, so those of a window may "    \
        "add up to more than 1. Where nothing could be replayed, the same as "       \
        "`wasted_fraction`; of the model, its guess.")                               \
  FIELD(Origin, origin, Origin::kRule,                                               \
        "\"rule\": exact; \"dry-run\": the same in a simulated trace; \"model\": "   \
        "the learned detector, which claims no time (`wasted_us` is 0).")            \
  FIELD(std::int64_t, wasted_ns, 0, "Its own part of the window, each moment once.") \
  FIELD(std::optional<double>, probability, {},                                      \
        "Probability that this side's patterns cost 5 % and more; None for a rule.")
TTA_RECORD(Label, TTA_LABEL, "A pattern that a window shows.")

#define TTA_WINDOW(FIELD)                                                             \
  FIELD(std::uint32_t, index, 0, "Place in `Report.windows`.")                        \
  FIELD(std::int64_t, start_ns, 0, "Start, on the trace's clock.")                    \
  FIELD(std::int64_t, end_ns, 0, "End, on the trace's clock.")                        \
  FIELD(std::optional<std::int64_t>, step, {}, "N of the ProfilerStep#N it lies in.") \
  FIELD(std::optional<std::int32_t>, device, {},                                      \
        "Number of the device; None in a trace without device work.")                 \
  FIELD(Process, pid, {}, "The process, or the one that feeds the device.")           \
  FIELD(std::uint32_t, events, 0,                                                     \
        "Operators, annotations, calls and device work that start in it.")            \
  FIELD(std::int64_t, busy_ns, 0, "Busy time of the device; 0 without one.")          \
  FIELD(std::vector<Label>, labels, {},                                               \
        "Largest saving first; those of the model last.")                             \
  FIELD(double, cpu_wasted_fraction, 0,                                               \
        "Share wasted by patterns of the CPU side, 0 to 1.")                          \
  FIELD(double, gpu_wasted_fraction, 0, "The same for the GPU side.")                 \
  FIELD(std::optional<double>, cpu_probability, {},                                   \
        "The learned detector's probability that CPU-side patterns cost 5 % and "     \
        "more; where the window is unlike its training data, that of the rules "      \
        "alone. None: it was not run.")                                               \
  FIELD(std::optional<double>, gpu_probability, {},                                   \
        "The same for the GPU side; None also without a device.")
TTA_RECORD(Window, TTA_WINDOW,
           "A half-open stretch of one device's time. The windows of a device do not "
           "overlap and cover the analyzed span; without device work those of each "
           "process do.")

// --- Findings
// -------------------------------------------------------------------------

#define TTA_FINDING(FIELD)                                                             \
  FIELD(std::string, id, {},                                                           \
        "Equal for the same pattern at the same place of another trace.")              \
  FIELD(std::string, pattern, {},                                                      \
        "Name of the pattern; \"unexplained\" for the model's.")                       \
  FIELD(std::optional<std::string>, subtype, {},                                       \
        "None if the pattern has no sub-types.")                                       \
  FIELD(PatternSide, side, PatternSide::kCpu,                                          \
        "\"cpu\" or \"gpu\": whose code has to change.")                               \
  FIELD(Severity, severity, Severity::kLow,                                            \
        "\"low\", \"medium\" (3 % of the span and more), \"high\" (10 %).")            \
  FIELD(std::uint64_t, count, 0, "Occurrences.")                                       \
  FIELD(std::optional<std::uint64_t>, waits, {},                                       \
        "Of `sync_stall`, in a trace that lists the waits of a dry run: how often "    \
        "the host waits here, regardless of the cost.")                                \
  FIELD(std::int64_t, wasted_ns, 0,                                                    \
        "Idle and excess time; no moment is in two findings.")                         \
  FIELD(Basis, basis, Basis::kMeasured,                                                \
        "\"measured\"; \"simulated\" in a simulated trace; \"estimate\": mostly an "   \
        "upper bound, the saving of faster work; \"model\": claims no time.")          \
  FIELD(std::int64_t, idle_ns, 0,                                                      \
        "The part of `wasted_us` in which the device was idle.")                       \
  FIELD(std::optional<std::int64_t>, recoverable_ns, {},                               \
        "Time that a fix is expected to save: the middle of its range. None if the "   \
        "replay is unreliable; `Report.recovery` says why.")                           \
  FIELD(std::optional<std::int64_t>, recoverable_low_ns, {},                           \
        "The low end of the range.")                                                   \
  FIELD(std::optional<std::int64_t>, recoverable_high_ns, {},                          \
        "The high end of the range.")                                                  \
  FIELD(std::optional<double>, recoverable_fraction, {},                               \
        "`recoverable_us` as a share of the span.")                                    \
  FIELD(std::string, edit, {},                                                         \
        "The edit that models the fix in the replay, see docs/replay.md.")             \
  FIELD(std::vector<std::string>, shares_gain_with, {},                                \
        "Patterns of other findings whose fixes save a quarter of the same idle time " \
        "and more, largest first: do not add up gains of findings that share.")        \
  FIELD(std::optional<Location>, location, {},                                         \
        "None: no Python frames, or several places.")                                  \
  FIELD(std::string, operator_, {},                                                    \
        "Deepest operator above the evidence; of a line, the one with over half of "   \
        "the time; or \"\".")                                                          \
  FIELD(std::string, message, {}, "One sentence with figures.")                        \
  FIELD(std::string, advice, {}, "How to fix it.")                                     \
  FIELD(std::vector<std::uint32_t>, windows, {}, "Indices into `Report.windows`.")     \
  FIELD(std::vector<Event>, events, {}, "Costliest first, at most eight.")             \
  FIELD(std::vector<Identity>, processes, {},                                          \
        "The processes whose time it is, or that feed the devices, if known.")         \
  FIELD(Origin, origin, Origin::kRule,                                                 \
        "\"rule\": found in a recording; \"dry-run\": by the same rules in a "         \
        "simulated trace; \"model\": windows that the learned detector flags and no "  \
        "rule explains. This is not proof; `events` are those it attended to most.")   \
  FIELD(std::optional<Location>, deepest, {},                                          \
        "Deepest function below `location` with four fifths of the time and more.")    \
  FIELD(std::string, docs, {},                                                         \
        "The page that explains the pattern, in torchtraceap's repository.")
TTA_RECORD(Finding, TTA_FINDING, "One anti-pattern at one place, with its cost.")

// --- The trace
// ------------------------------------------------------------------------

#define TTA_DEVICE(FIELD)                                                 \
  FIELD(std::int32_t, id, 0, "Its number.")                               \
  FIELD(std::string, name, {}, "From deviceProperties; \"\" if unknown.") \
  FIELD(std::uint64_t, events, 0, "Kernels, copies and memsets recorded on it.")
TTA_RECORD(Device, TTA_DEVICE, "A device that the trace lists or that worked in it.")

#define TTA_SIMULATED(FIELD)                                                 \
  FIELD(std::string, gpu, {},                                                \
        "The GPU whose kernels were estimated; \"\" if the trace has none.") \
  FIELD(std::optional<double>, host_us_per_op, {},                           \
        "Assumed host time of an operator, in microseconds.")
TTA_RECORD(Simulated, TTA_SIMULATED,
           "The assumptions of a simulated trace: no time in it was measured.")

#define TTA_TRACE_FACTS(FIELD)                                                         \
  FIELD(std::string, path, {},                                                         \
        "As given; \"<bytes>\" for a trace from memory, \"<dry run>\" for a dry run.") \
  FIELD(std::uint64_t, events, 0, "Objects with a phase in traceEvents.")              \
  FIELD(std::int64_t, start_ns, 0, "Start of the analyzed span, on its own clock.")    \
  FIELD(std::int64_t, end_ns, 0, "End of the analyzed span.")                          \
  FIELD(std::vector<Device>, devices, {}, "In order of their numbers.")                \
  FIELD(std::optional<std::int64_t>, rank, {}, "From distributedInfo.")                \
  FIELD(std::optional<std::int64_t>, world_size, {}, "From distributedInfo.")          \
  FIELD(std::uint64_t, processes, 0,                                                   \
        "In a trace without device work: how many processes worked, each with a "      \
        "balance.")                                                                    \
  FIELD(std::optional<Simulated>, simulated, {}, "None: a profiler recorded it.")
TTA_RECORD(TraceFacts, TTA_TRACE_FACTS, "Basic facts about a trace.")

#define TTA_NOTE(FIELD)                                                         \
  FIELD(std::string, kind, {},                                                  \
        "Stable word, such as \"launches_without_work\"; see docs/reading.md.") \
  FIELD(std::uint64_t, count, 0, "How often.")                                  \
  FIELD(std::string, detail, {}, "A sentence or more.")                         \
  FIELD(Verdict, verdict, Verdict::kOk, "Verdict on the trace from this note alone.")
TTA_RECORD(Note, TTA_NOTE, "A remark on how to read the figures.")

#define TTA_QUALITY(FIELD)                                                           \
  FIELD(Verdict, verdict, Verdict::kOk,                                              \
        "\"ok\", \"degraded\" or \"unusable\": the worst of the warnings.")          \
  FIELD(std::vector<Note>, warnings, {}, "Reasons, and the loader's warnings.")      \
  FIELD(bool, incomplete, false,                                                     \
        "Device work is missing: busy time is understated, idle time overstated, "   \
        "and a device without findings is not a healthy one.")                       \
  FIELD(std::optional<double>, linking_rate, {},                                     \
        "Of the device events with an id, those whose launch is in the trace, 0 to " \
        "1; None if no event carries one.")
TTA_RECORD(Quality, TTA_QUALITY, "How far the trace can be trusted.")

// --- Where time went
// ------------------------------------------------------------------

#define TTA_BALANCE(FIELD)                                                             \
  FIELD(std::optional<std::int32_t>, device, {},                                       \
        "None: no device worked, or several did in the step.")                         \
  FIELD(std::int64_t, span_ns, 0, "Of a step: its length, once for each device.")      \
  FIELD(std::int64_t, busy_ns, 0, "In a trace without device work: inside operators.") \
  FIELD(TimesByName, idle_ns, {}, "Idle time of each pattern.")                        \
  FIELD(std::int64_t, unattributed_ns, 0, "Idle time that no pattern explains.")       \
  FIELD(TimesByName, excess_ns, {}, "Part of `busy_us` that a pattern wastes.")        \
  FIELD(std::uint32_t, devices, 1,                                                     \
        "Number of devices added up; 0 without device work.")                          \
  FIELD(std::int64_t, delay_ns, 0,                                                     \
        "Of a device, part of `unattributed_us`: gaps under 3 us between kernels "     \
        "that were queued, its own delay from one to the next. 0 for a step.")         \
  FIELD(Process, pid, {}, "The process whose time it is, or that feeds the device.")   \
  FIELD(std::int64_t, pause_start_ns, 0,                                               \
        "Start of the longest time between two pieces of a device's work.")            \
  FIELD(std::int64_t, pause_end_ns, 0, "End of it; the start if there is none.")       \
  FIELD(std::optional<std::uint32_t>, pause_finding, {},                               \
        "Index of the finding to which most of that pause is attributed.")
TTA_RECORD(Balance, TTA_BALANCE,
           "Where time went: span = busy + idle by pattern + unattributed. Of one "
           "device; of a step, of all devices that its process feeds, whose times are "
           "added up. Without device work it is the time of one process.")

#define TTA_STEP(FIELD)                                                        \
  FIELD(std::int64_t, number, 0, "N of ProfilerStep#N.")                       \
  FIELD(std::int64_t, start_ns, 0, "Start, on the trace's clock.")             \
  FIELD(std::int64_t, end_ns, 0, "End, on the trace's clock.")                 \
  FIELD(std::int64_t, busy_ns, 0, "Of its process's devices together.")        \
  FIELD(std::optional<Balance>, balance, {},                                   \
        "None: the trace is unusable, or the step's process feeds no device.") \
  FIELD(Process, pid, {}, "The process whose step it is.")
TTA_RECORD(Step, TTA_STEP, "One ProfilerStep#N.")

#define TTA_STAGE(FIELD)                                                              \
  FIELD(std::string, id, {}, "busy, idle, limit, work, overlap or gain.")             \
  FIELD(std::string, question, {}, "For people.")                                     \
  FIELD(std::string, answer, {}, "Sentences; names in them are from the trace.")      \
  FIELD(std::string, verdict, {},                                                     \
        "The answer in a stable word: the side (host, device or turns), the pattern " \
        "or the kind of work that comes first; \"\" if the figures are the answer, "  \
        "or if there is none.")                                                       \
  FIELD(bool, known, true,                                                            \
        "False: the trace does not allow an answer, and `answer` gives the reason.")  \
  FIELD(std::optional<Severity>, severity, {},                                        \
        "By the cost as a share of the time of all devices, as of a finding; None: "  \
        "no cost.")                                                                   \
  FIELD(Figures, figures, {}, "Times end in `_us`; the rest are counts.")
TTA_RECORD(Stage, TTA_STAGE, "One question about the trace, answered in figures.")

#define TTA_ANSWER_ROW(FIELD)                                                         \
  FIELD(std::string, pattern, {}, "Name of the pattern.")                             \
  FIELD(std::optional<std::string>, subtype, {},                                      \
        "None if the pattern has no sub-types.")                                      \
  FIELD(std::string, problem, {}, "What happened, without a full stop.")              \
  FIELD(std::string, fix, {}, "What to do, in a few words: `advice` has the rest.")   \
  FIELD(Basis, basis, Basis::kMeasured, "As of a finding.")                           \
  FIELD(std::uint64_t, count, 0, "Occurrences.")                                      \
  FIELD(double, observed_fraction, 0,                                                 \
        "What its rule saw, as a share of the time of all devices, or of all "        \
        "processes in a trace without device work: without what a pattern of higher " \
        "precedence explains, but, unlike `wasted_us`, not divided by replay.")       \
  FIELD(std::optional<double>, low_fraction, {},                                      \
        "Share of the span that fixing all of them saves at least. None: unknown.")   \
  FIELD(std::optional<double>, middle_fraction, {}, "The share to expect.")           \
  FIELD(std::optional<double>, high_fraction, {}, "The share that it saves at most.") \
  FIELD(std::vector<std::uint32_t>, findings, {},                                     \
        "Indices into `Report.findings`, in their order.")
TTA_RECORD(AnswerRow, TTA_ANSWER_ROW,
           "A pattern that matters, in all places of one sub-type.")

#define TTA_ANSWER(FIELD)                                                              \
  FIELD(std::vector<AnswerRow>, rows, {},                                              \
        "Five at most: what costs 3 % of the time or more, or whose fix is expected "  \
        "to save that; what to fix first comes first.")                                \
  FIELD(std::string, otherwise, {},                                                    \
        "Without rows: where the time goes, or why that is unknown; else \"\".")       \
  FIELD(std::optional<double>, busy_fraction, {},                                      \
        "Busy share of the time of all devices, or in operators without device work. " \
        "None: unusable.")                                                             \
  FIELD(std::string, caveat, {}, "Why the figures of the rows are rough; or \"\".")    \
  FIELD(std::string, kernels, {},                                                      \
        "Which operator loses most on the device, where kernels far below its peaks "  \
        "lose a fifth of the busy time and no row says so; or \"\".")                  \
  FIELD(                                                                               \
      std::string, steps, {},                                                          \
      "Times of a serving engine's decode steps, else of its most frequent ones, in "  \
      "a sentence; or \"\".")                                                          \
  FIELD(std::string, memory, {},                                                       \
        "Memory that grows in each step, or for which the allocator empties its "      \
        "cache, in a sentence or two; or \"\".")                                       \
  FIELD(std::uint32_t, rest, 0, "Findings that are in no row.")
TTA_RECORD(Answer, TTA_ANSWER, "What to do about a trace, in a few rows.")

// --- The replay
// -----------------------------------------------------------------------

#define TTA_GAIN(FIELD)                                                             \
  FIELD(std::int64_t, low_ns, 0,                                                    \
        "A fix gains at least this, as far as measured pairs and the trace say: 0 " \
        "if it may gain nothing.")                                                  \
  FIELD(std::int64_t, middle_ns, 0, "The figure to expect.")                        \
  FIELD(std::int64_t, high_ns, 0, "A fix gains at most this.")                      \
  FIELD(std::int64_t, replayed_ns, 0,                                               \
        "What the replay itself saves, from which the range is made.")              \
  FIELD(std::optional<double>, recomputed_share, {},                                \
        "Share of the gain that comes from shorter waits, not from removed work: "  \
        "it depends on the rules of the replay. None: scheduled by events.")        \
  FIELD(std::optional<double>, inferred_share, {},                                  \
        "Share of the critical path afterwards on inferred dependencies.")
TTA_RECORD(Gain, TTA_GAIN, "Time that a fix takes off the trace, and its evidence.")

#define TTA_RECOMPUTED(FIELD)                                 \
  FIELD(std::uint64_t, count, 0, "How many.")                 \
  FIELD(std::int64_t, recorded_ns, 0, "Their recorded time.") \
  FIELD(std::int64_t, error_ns, 0, "Sum of the differences, call by call.")
TTA_RECORD(Recomputed, TTA_RECOMPUTED,
           "Waits that the replay computes instead of copying them.")

#define TTA_FIDELITY(FIELD)                                                         \
  FIELD(bool, replayable, false, "Whether gains are given.")                        \
  FIELD(std::vector<std::string>, refusals, {},                                     \
        "The reasons against it, in sentences.")                                    \
  FIELD(std::int64_t, span_ns, 0, "As recorded.")                                   \
  FIELD(std::int64_t, replayed_span_ns, 0, "Replayed unchanged.")                   \
  FIELD(std::int64_t, span_by_rules_ns, 0,                                          \
        "Replayed without the delays that no rule explains: what the rules alone "  \
        "make of the trace.")                                                       \
  FIELD(std::int64_t, null_span_ns, 0,                                              \
        "Replayed without any wait: if it is near `span_us`, a correct span is "    \
        "little evidence.")                                                         \
  FIELD(bool, informative, false, "They are over 2 % of `span_us` apart.")          \
  FIELD(Recomputed, long_waits, {},                                                 \
        "Synchronizations and blocking copies over 100 us.")                        \
  FIELD(Recomputed, queue_waits, {}, "Launches that found the queue full.")         \
  FIELD(Recomputed, hand_overs, {}, "Gaps of threads that waited for another one.") \
  FIELD(std::int64_t, copied_waits_ns, 0,                                           \
        "Long calls without known work to wait for.")                               \
  FIELD(double, explained_share, 1,                                                 \
        "Share of launched device work that starts when its predecessors allow.")   \
  FIELD(std::int64_t, unexplained_ns, 0, "Sum of the delays of the rest.")          \
  FIELD(std::int64_t, delayed_ns, 0,                                                \
        "Part of the critical path in delays that no rule explains.")               \
  FIELD(SharesByName, shares, {},                                                   \
        "The critical path by source, 0 to 1: copied, recomputed, anchored.")       \
  FIELD(std::int64_t, anchored_ns, 0,                                               \
        "Part of the critical path before work from before the trace had begun.")
TTA_RECORD(Fidelity, TTA_FIDELITY,
           "How close the unchanged replay is to the recording.")

#define TTA_STEP_TIMES(FIELD)                                            \
  FIELD(std::int64_t, number, 0, "N of ProfilerStep#N.")                 \
  FIELD(std::int64_t, span_ns, 0, "As recorded.")                        \
  FIELD(std::int64_t, replayed_span_ns, 0, "Replayed without a change.") \
  FIELD(std::optional<std::int64_t>, changed_span_ns, {},                \
        "With the edits; None if the replay is unreliable.")
TTA_RECORD(StepTimes, TTA_STEP_TIMES, "Length of one step, replayed with edits.")

#define TTA_PATH_PLACE(FIELD)                                                    \
  FIELD(std::optional<Location>, location, {}, "None: no frame is known.")       \
  FIELD(std::string, name, {}, "The operator or event where there is no frame.") \
  FIELD(double, us, 0, "Its part, in microseconds.")
TTA_RECORD(PathPlace, TTA_PATH_PLACE,
           "A line's part of a critical path. No event counts with more than its "
           "length: time between events, or in a queue, belongs to no place.")

#define TTA_CRITICAL_PATH(FIELD)                                                       \
  FIELD(std::optional<std::int64_t>, step, {}, "None: the whole trace.")               \
  FIELD(std::int64_t, span_ns, 0, "Length; the categories add up to it.")              \
  FIELD(TimesByName, by_category, {}, "Microseconds by category, see docs/replay.md.") \
  FIELD(std::vector<PathPlace>, places, {}, "Ten at most, the longest first.")
TTA_RECORD(CriticalPath, TTA_CRITICAL_PATH,
           "The critical path of a step, or of the whole trace: chained work that "
           "sets its length.")

#define TTA_RECOVERY(FIELD)                                                    \
  FIELD(std::optional<Fidelity>, fidelity, {},                                 \
        "None: there is no schedule; `refusal` gives the reason.")             \
  FIELD(std::string, refusal, {}, "\"\" if the trace is replayable.")          \
  FIELD(std::vector<std::optional<Gain>>, gains, {},                           \
        "Of each finding, in their order.")                                    \
  FIELD(std::vector<std::string>, doubts, {},                                  \
        "For each finding why it has no gain in a replayable trace; or \"\".") \
  FIELD(std::optional<Gain>, together, {},                                     \
        "All findings fixed at once. Not their sum: one may hide another.")    \
  FIELD(std::string, together_doubt, {},                                       \
        "Why that is missing although findings have gains; or \"\".")          \
  FIELD(std::vector<double>, windows, {},                                      \
        "Share of each window that fixing all of them saves; or empty.")
TTA_RECORD(Recovery, TTA_RECOVERY, "The replay of a report's trace.")

#define TTA_RULE_OUTCOME(FIELD)                                                     \
  FIELD(std::string, rule, {}, "Name of the rule.")                                 \
  FIELD(std::uint64_t, claims, 0, "How many it made.")                              \
  FIELD(std::int64_t, asked_ns, 0, "Claimed together, inside the span.")            \
  FIELD(std::int64_t, claimed_ns, 0,                                                \
        "Lost time in it that no rule had claimed before, each moment once.")       \
  FIELD(std::int64_t, taken_ns, 0, "Lost time in it that rules before it claimed.") \
  FIELD(bool, counted, false,                                                       \
        "False: too little, so it is in no finding and no balance.")
TTA_RECORD(RuleOutcome, TTA_RULE_OUTCOME,
           "Claims of a user's own rule, and the time credited to it.")

// --- What ran
// -------------------------------------------------------------------------
//
// Work on several streams overlaps, and so do launches of one kernel. So each row has
// both: `total_us` adds durations up as recorded, and may exceed the time there was;
// `union_us` counts each moment of a device inside the span once, and never does.

#define TTA_WORK_TIMES(FIELD)                                                         \
  FIELD(std::uint64_t, count, 0, "How often it ran.")                                 \
  FIELD(std::int64_t, total_ns, 0, "Sum of the durations as recorded.")               \
  FIELD(std::int64_t, union_ns, 0, "Time in which at least one ran, of each device.") \
  FIELD(double, mean_us, 0, "Mean duration.")                                         \
  FIELD(std::int64_t, min_ns, 0, "Shortest duration.")                                \
  FIELD(std::int64_t, max_ns, 0, "Longest duration.")

#define TTA_KERNEL(FIELD)                                                      \
  FIELD(std::string, name, {}, "Name of the kernel.")                          \
  FIELD(bool, communication, false, "Of NCCL, RCCL and similar libraries.")    \
  TTA_WORK_TIMES(FIELD)                                                        \
  FIELD(double, busy_share, 0,                                                 \
        "`union_us` as a share of the busy time of all devices.")              \
  FIELD(std::optional<std::int64_t>, blocks, {},                               \
        "Of the grid: the most frequent launch, of equally frequent ones the " \
        "smallest. None: not recorded.")                                       \
  FIELD(std::optional<std::int64_t>, block_threads, {},                        \
        "Threads of a block, of the same launch.")                             \
  FIELD(std::optional<double>, occupancy, {},                                  \
        "Estimated, in percent, weighted by duration; None: not recorded.")
TTA_RECORD(Kernel, TTA_KERNEL, "All launches of one kernel, on all devices together.")

#define TTA_COPY(FIELD)                                                               \
  FIELD(                                                                              \
      std::string, direction, {},                                                     \
      "\"HtoD\", \"DtoH\", \"DtoD\", \"PtoP\", \"HtoH\", \"memset\"; \"\": unknown.") \
  FIELD(std::string, memory, {},                                                      \
        "Of the host: \"pageable\", \"pinned\"; \"\": not recorded, or none.")        \
  TTA_WORK_TIMES(FIELD)                                                               \
  FIELD(std::optional<std::int64_t>, bytes, {},                                       \
        "Of those with a recorded size; None: there are none.")                       \
  FIELD(std::optional<std::int64_t>, median_bytes, {}, "Of those; the lower of two.") \
  FIELD(std::optional<double>, bandwidth, {},                                         \
        "Bytes over the sum of their durations, in GB/s.")
TTA_RECORD(Copy, TTA_COPY,
           "All copies of one direction and kind of host memory, or all memsets.")

#define TTA_OPERATOR(FIELD)                                                            \
  FIELD(std::string, name, {}, "Name of the operator.")                                \
  FIELD(std::uint64_t, count, 0, "How many calls.")                                    \
  FIELD(std::int64_t, total_ns, 0,                                                     \
        "Host time. Of calls inside a call of the same operator, only the outer one.") \
  FIELD(std::int64_t, self_ns, 0, "Outside of the operators it called.")               \
  FIELD(std::int64_t, min_ns, 0, "Shortest call, with all that it called.")            \
  FIELD(std::int64_t, max_ns, 0, "Longest call.")                                      \
  FIELD(std::int64_t, device_ns, 0,                                                    \
        "Sum of the device work launched inside it, which may overlap.")               \
  FIELD(std::int64_t, self_device_ns, 0,                                               \
        "Of that, the part that no operator inside it launched.")                      \
  FIELD(std::uint64_t, work, 0, "Kernels, copies and memsets in `device_us`.")
TTA_RECORD(Operator, TTA_OPERATOR, "All calls of one operator, on all threads.")

#define TTA_ROOFLINE_ROW(FIELD)                                                       \
  FIELD(std::string, name, {}, "Name of the operator.")                               \
  FIELD(                                                                              \
      std::string, kind, {},                                                          \
      "\"product\", \"convolution\", \"attention\", \"elementwise\", \"reduction\", " \
      "\"norm\" or \"move\".")                                                        \
  FIELD(std::string, inputs, {}, "Sizes of its tensors: \"[64, 128] [128, 256]\".")   \
  FIELD(std::string, data_type, {}, "Of the first of them, as torch names it.")       \
  FIELD(std::string, kernel, {}, "Its kernel with the most time.")                    \
  FIELD(std::int32_t, device, 0, "Where it ran.")                                     \
  FIELD(std::uint64_t, count, 0, "Calls with device work of their own.")              \
  FIELD(std::int64_t, device_ns, 0,                                                   \
        "Time in which work of a call ran, without that of operators inside it; of "  \
        "all calls.")                                                                 \
  FIELD(double, flops, 0,                                                             \
        "Of one call: two for a multiplication with addition; 0 also where strides "  \
        "or masks are not recorded.")                                                 \
  FIELD(double, bytes, 0, "Of one call: inputs and outputs, each moved once.")        \
  FIELD(double, tflop_s, 0, "Achieved: flops of all calls over their device time.")   \
  FIELD(double, gb_s, 0, "Achieved, of the least bytes.")                             \
  FIELD(double, intensity, 0, "FLOPs a byte.")                                        \
  FIELD(std::optional<double>, peak_tflop_s, {},                                      \
        "The device's peak for its type; None: no arithmetic, or unknown.")           \
  FIELD(std::optional<double>, peak_gb_s, {}, "That of its memory; None: unknown.")   \
  FIELD(                                                                              \
      std::optional<double>, roofline_us, {},                                         \
      "The least time of all calls by the device's data sheet; None: no peak of the " \
      "device is known for its type.")                                                \
  FIELD(std::string, bound, {}, "What sets it: \"compute\" or \"memory\"; or \"\".")  \
  FIELD(std::optional<double>, efficiency, {},                                        \
        "roofline / device time; None: unknown, or above 1.05: then sizes, type or "  \
        "peak are not those of the run, or its data was in the cache.")               \
  FIELD(std::optional<double>, reachable, {},                                         \
        "The efficiency that good kernels of its class reach, of its bound; None: "   \
        "without an efficiency.")                                                     \
  FIELD(std::optional<double>, lost_us, {},                                           \
        "Device time beyond that, at most what a better kernel saves.")               \
  FIELD(bool, slow, false, "It does less than 0.6 of what is reachable.")             \
  FIELD(std::string, reason, {},                                                      \
        "Why it is slow (under 0.6 of reachable): \"misaligned\", \"precision\", "    \
        "\"few_blocks\", \"format\", \"old_kernel\", \"waves\", \"tiles\", "          \
        "\"head_size\", \"depthwise\", \"few_channels\", \"dilated\", "               \
        "\"transposed\", \"pointwise\", \"strided\", \"low_intensity\" (also where "  \
        "it is not slow), \"short\" or \"unknown\"; \"\": it is not, or not judged.") \
  FIELD(std::string, evidence, {}, "The figures that show the reason; or \"\".")      \
  FIELD(bool, in_graph, false,                                                        \
        "Run by replays of a graph: the operator is that of its capture.")
TTA_RECORD(RooflineRow, TTA_ROOFLINE_ROW,
           "Calls of one operator with the same inputs, against the device's peaks.")

#define TTA_COLLECTIVE_RATE(FIELD)                                                     \
  FIELD(std::string, name, {}, "Name of the collective.")                              \
  FIELD(std::string, data_type, {}, "As torch.distributed names it: \"BFloat16\".")    \
  FIELD(std::int64_t, bytes, 0, "Of its larger side.")                                 \
  FIELD(std::int64_t, ranks, 0, "Size of the group.")                                  \
  FIELD(std::int32_t, device, 0, "Where it ran.")                                      \
  FIELD(std::uint64_t, count, 0, "How many there are.")                                \
  FIELD(std::int64_t, total_ns, 0, "Time of their kernels, waiting for others in it.") \
  FIELD(std::int64_t, min_ns, 0, "Of the shortest: nearly the transfer alone.")        \
  FIELD(double, gb_s, 0,                                                               \
        "Bus bandwidth of the median one, as NCCL's tests count it: of all-reduce "    \
        "2 (n-1)/n of the bytes, of others (n-1)/n, over its time.")                   \
  FIELD(double, best_gb_s, 0, "The same of the shortest.")                             \
  FIELD(std::optional<double>, link_gb_s, {},                                          \
        "Peak of the link between the machine's devices; None: unknown, or the group " \
        "spans several machines.")                                                     \
  FIELD(std::optional<double>, efficiency, {}, "best_gb_s / link_gb_s.")               \
  FIELD(                                                                               \
      std::string, reason, {},                                                         \
      "\"latency\": less than 1 MiB; \"set_up\": 16 MiB and more, at a constant rate " \
      "under 30 % of the link; \"waiting\": the usual one takes twice the time of "    \
      "the "                                                                           \
      "best; or \"\".")
TTA_RECORD(CollectiveRate, TTA_COLLECTIVE_RATE,
           "Collectives of one name, type, size and group, against their link.")

#define TTA_RECORDING_CHECK(FIELD)                                               \
  FIELD(std::string, name, {},                                                   \
        "\"steps\", \"decode_steps\", \"graphs\", \"graph_work\", \"in_time\", " \
        "\"complete\", \"shapes\" or \"no_stacks\".")                            \
  FIELD(bool, passed, false, "Whether the trace has it.")                        \
  FIELD(std::string, detail, {}, "What is missing, and how to record it; or \"\".")
TTA_RECORD(RecordingCheck, TTA_RECORDING_CHECK,
           "Something that a trace of a serving engine should have.")

#define TTA_ENGINE_STEP(FIELD)                                                        \
  FIELD(                                                                              \
      std::string, kind, {},                                                          \
      "\"extend\" (prompts), \"decode\", \"mixed\" (both), \"verify\", \"draft\" or " \
      "\"other\".")                                                                   \
  FIELD(std::string, engine, {}, "\"vLLM\", \"SGLang\" or \"ATOM\".")                 \
  FIELD(std::string, name, {}, "Of its annotation.")                                  \
  FIELD(Process, pid, {}, "The process.")                                             \
  FIELD(std::int64_t, begin_ns, 0, "Begin of its annotation.")                        \
  FIELD(std::int64_t, host_ns, 0, "Length of its annotation: the host's time.")       \
  FIELD(std::optional<std::int64_t>, period_ns, {},                                   \
        "To the begin of the next step; None: it is the last.")                       \
  FIELD(std::optional<std::int64_t>, batch, {}, "Requests; None: not in its name.")   \
  FIELD(std::optional<std::int64_t>, padded_batch, {},                                \
        "Those that were computed: by its name, or by the capture of its graph.")     \
  FIELD(std::optional<std::int64_t>, tokens, {}, "For all requests.")                 \
  FIELD(std::optional<std::int64_t>, context_tokens, {}, "Keys that they attend to.") \
  FIELD(std::int64_t, device_ns, 0,                                                   \
        "From the begin of the pass on the device, behind the copies of its inputs, " \
        "to the last end of its work, which is what its period launched.")            \
  FIELD(std::int64_t, busy_ns, 0, "In which any of it ran.")                          \
  FIELD(std::optional<std::int64_t>, draft_ns, {},                                    \
        "Of it, work of the draft model, whose passes are part of the one that "      \
        "verifies; None: there are none.")                                            \
  FIELD(std::optional<std::int64_t>, gap_ns, {},                                      \
        "Idle from its last device work to the forward pass of the next step, whose " \
        "inputs may be copied meanwhile; 0 if they overlap; None: it is the last.")   \
  FIELD(std::uint64_t, launches, 0, "Calls that launch kernels or graphs.")           \
  FIELD(std::uint64_t, graph_launches, 0, "Those that launch graphs.")                \
  FIELD(std::uint64_t, work, 0,                                                       \
        "Kernels, copies and memsets, those of graphs "                               \
        "included.")
TTA_RECORD(EngineStep, TTA_ENGINE_STEP, "One forward pass of a serving engine.")

#define TTA_ENGINE_KIND(FIELD)                                                         \
  FIELD(std::string, kind, {}, "As of EngineStep.")                                    \
  FIELD(std::string, engine, {}, "As of EngineStep.")                                  \
  FIELD(std::uint64_t, count, 0, "Steps of the kind.")                                 \
  FIELD(std::uint64_t, skipped, 0,                                                     \
        "Of them, not in the medians: the first two of five and more, which warm up.") \
  FIELD(std::optional<std::int64_t>, batch, {}, "Median of requests.")                 \
  FIELD(std::optional<double>, padding, {},                                            \
        "Share of the computed requests that are padding, of all steps.")              \
  FIELD(std::optional<std::int64_t>, tokens, {}, "Median.")                            \
  FIELD(std::optional<std::int64_t>, period_ns, {}, "Median.")                         \
  FIELD(std::int64_t, host_ns, 0, "Median.")                                           \
  FIELD(std::int64_t, device_ns, 0, "Median.")                                         \
  FIELD(std::int64_t, busy_ns, 0, "Median.")                                           \
  FIELD(std::optional<std::int64_t>, draft_ns, {}, "Median.")                          \
  FIELD(std::optional<std::int64_t>, gap_ns, {}, "Median.")                            \
  FIELD(TimesByName, gap_parts_ns, {},                                                 \
        "Mean gap a step, without pauses of the server, by what the thread of the "    \
        "next step did: \"scheduling\", \"preparation\", \"sampling\" (reading the "   \
        "tokens), \"output\" (detokenization), \"waiting\" (for another process of "   \
        "the engine), \"launch\" (the next pass's first), \"other\", \"unrecorded\"; " \
        "by the names of frames and ranges.")                                          \
  FIELD(std::uint64_t, prompt_waits, 0,                                                \
        "Of steps that make tokens: how often the prompts of others came between two " \
        "of them, or into one, for more than three periods.")                          \
  FIELD(std::int64_t, prompt_wait_ns, 0, "By how much tokens were late then: sum.")    \
  FIELD(std::int64_t, longest_prompt_wait_ns, 0, "The longest of these.")              \
  FIELD(std::uint64_t, launches, 0, "Median.")                                         \
  FIELD(std::uint64_t, graph_launches, 0, "Median.")                                   \
  FIELD(std::uint64_t, work, 0, "Median.")                                             \
  FIELD(                                                                               \
      TimesByName, sum_ns, {},                                                         \
      "Mean device time a step by category: \"attention\", \"product\", \"experts\", " \
      "\"collective\", \"norm_elementwise\", \"sampling\", \"copy\", \"other\"; by "   \
      "kernels' names.")                                                               \
  FIELD(TimesByName, exposed_ns, {},                                                   \
        "The same in which nothing of another category ran: at most what is gained "   \
        "without it.")
TTA_RECORD(EngineKind, TTA_ENGINE_KIND, "Steps of one kind of a serving engine.")
#define TTA_GRAPH_PART(FIELD)                           \
  FIELD(std::string, name, {}, "The annotation.")       \
  FIELD(std::uint64_t, nodes, 0, "Nodes that have it.") \
  FIELD(std::int64_t, total_ns, 0, "Sum of their work, of all replays.")
TTA_RECORD(GraphPart, TTA_GRAPH_PART, "The nodes of a graph with one annotation.")

#define TTA_GRAPH(FIELD)                                                               \
  FIELD(std::uint64_t, number, 0, "In order of the first launch, from 0.")             \
  FIELD(                                                                               \
      std::optional<std::int64_t>, id, {},                                             \
      "\"graph id\" of its kernels; None: not recorded, launches with the same work "  \
      "are one graph.")                                                                \
  FIELD(std::int32_t, device, 0, "Where it ran.")                                      \
  FIELD(std::optional<Location>, location, {},                                         \
        "The line of the program that launches it most; None: unknown.")               \
  FIELD(std::string, operator_, {}, "The operator around that launch; or \"\".")       \
  FIELD(std::string, annotation, {}, "The range around that launch; or \"\".")         \
  FIELD(std::uint64_t, launches, 0, "Launches with device work in the trace.")         \
  FIELD(std::uint64_t, nodes, 0, "Kernels, copies and memsets of one launch.")         \
  FIELD(std::int64_t, total_ns, 0, "Sum of the work of all launches.")                 \
  FIELD(std::int64_t, median_ns, 0, "Of one launch: time in which any of it ran.")     \
  FIELD(std::vector<GraphPart>, parts, {},                                             \
        "By annotation of the nodes, most time first: of torch's annotations of "      \
        "graphs, else the ranges around the launches of the capture.")                 \
  FIELD(                                                                               \
      std::optional<double>, captured_share, {},                                       \
      "Share of the work whose operator the capture tells; None: without a capture.")  \
  FIELD(std::string, joined_by, {},                                                    \
        "How the capture was found: \"sequence\" of kernels, \"count\" of kernels, "   \
        "\"alignment\"; \"\": there is none.")                                         \
  FIELD(std::string, capture, {}, "File of the capture; \"\": none, or this trace.")   \
  FIELD(std::optional<std::int64_t>, batch_size, {}, "Of the capture, if recorded.")   \
  FIELD(std::string, mode, {}, "Of vLLM's capture: \"FULL\", \"PIECEWISE\"; or \"\".") \
  FIELD(bool, sized, false, "The capture's inputs are those of the launches.")         \
  FIELD(std::string, note, {}, "Why no capture was found, or what is in doubt.")
TTA_RECORD(Graph, TTA_GRAPH, "All launches of one CUDA or HIP graph.")

#define TTA_GRAPH_NODE(FIELD)                                                  \
  FIELD(std::uint64_t, graph, 0, "`number` of its graph.")                     \
  FIELD(std::uint64_t, node, 0, "In order of time in the graph, from 0.")      \
  FIELD(std::string, kernel, {}, "Name of its kernel, copy or memset.")        \
  FIELD(std::string, annotation, {}, "As in Graph.parts; or \"\".")            \
  FIELD(std::string, operator_, {}, "Of the capture, the innermost; or \"\".") \
  FIELD(std::string, inputs, {}, "Sizes of its tensors; \"\": unknown.")       \
  FIELD(std::optional<Location>, location, {}, "The line of the capture.")     \
  FIELD(std::uint64_t, count, 0, "How often it ran.")                          \
  FIELD(std::int64_t, total_ns, 0, "Sum of its work.")
TTA_RECORD(GraphNode, TTA_GRAPH_NODE, "A node of a graph, of all its launches.")

#define TTA_UTILIZATION(FIELD)                                                        \
  FIELD(std::int32_t, device, 0, "Its number.")                                       \
  FIELD(Process, pid, {}, "The process that feeds it.")                               \
  FIELD(std::optional<std::int64_t>, step, {},                                        \
        "N of the ProfilerStep#N; None: all of the analyzed time.")                   \
  FIELD(std::int64_t, span_ns, 0, "Length of that time.")                             \
  FIELD(std::int64_t, busy_ns, 0, "In which the device worked.")                      \
  FIELD(double, known_share, 0,                                                       \
        "Share of the busy time whose operators' work is known. The other figures "   \
        "are theirs alone: of all work it is at least that much.")                    \
  FIELD(double, tflop_s, 0, "Flops over the span.")                                   \
  FIELD(double, gb_s, 0, "Bytes over the span, each input and output once.")          \
  FIELD(std::optional<double>, mfu, {},                                               \
        "Model flops utilization: time that products, convolutions and attention "    \
        "would take at the peak of their types, over the span. None: unknown, or "    \
        "known_share is below 0.5.")                                                  \
  FIELD(std::optional<double>, bandwidth_share, {},                                   \
        "`gb_s` over the peak of the device's memory.")                               \
  FIELD(double, tensor_core_share, 0,                                                 \
        "Share of the busy time in kernels on tensor (matrix) cores, by their names " \
        "or as matrix work in half precision and less.")
TTA_RECORD(Utilization, TTA_UTILIZATION,
           "How much of its peaks one device reached, in all or in one step.")
// --- Two traces, operator by operator
// ------------------------------------------------

/// Why one side of an aligned row is slower.
enum class SlowerBy : std::uint8_t {
  kCalls,
  kWork,
  kPrecision,
  kFusion,
  kKernels,
  kEfficiency,
  kBandwidth,
  kPeak,
  kKernel,
};
constexpr auto words_of(SlowerBy) {
  return std::array<std::string_view, 9>{"calls",     "work",    "precision",
                                         "fusion",    "kernels", "efficiency",
                                         "bandwidth", "peak",    "kernel"};
}

/// Which side takes longer; kSame: by no more than 5 %, or the row is on one side
/// alone.
enum class Slower : std::uint8_t { kSame, kBefore, kAfter };
constexpr auto words_of(Slower) {
  return std::array<std::string_view, 3>{"", "before", "after"};
}

#define TTA_REASON(FIELD)                                                              \
  FIELD(                                                                               \
      SlowerBy, kind, SlowerBy::kCalls,                                                \
      "\"calls\": more of them; \"work\": more flops or bytes a call; \"precision\": " \
      "wider numbers; \"fusion\": more operators with kernels of their own; "          \
      "\"kernels\": more kernels a call; \"efficiency\": further from the roofline; "  \
      "\"bandwidth\", \"peak\": its device has less; \"kernel\": another one.")        \
  FIELD(std::string, text, {}, "In words: the slower side against the faster one.")
TTA_RECORD(Reason, TTA_REASON, "A difference that makes one side slower.")

#define TTA_ALIGNED_SIDE(FIELD)                                                        \
  FIELD(                                                                               \
      std::string, name, {},                                                           \
      "The operator, or range; of several the first four, with how often each comes "  \
      "in a call: \"aten::bmm ×2 + aten::_softmax\". \"\": none.")                     \
  FIELD(double, calls, 0, "Of it; of several operators, of what called them.")         \
  FIELD(double, work, 0, "Kernels, copies and memsets.")                               \
  FIELD(                                                                               \
      std::int64_t, device_ns, 0,                                                      \
      "Its part of the busy time of the device: a moment of overlapping work is that " \
      "of what started first.")                                                        \
  FIELD(std::optional<double>, flops, {},                                              \
        "None: unknown of over a fifth of the time of its work.")                      \
  FIELD(std::optional<double>, efficiency, {},                                         \
        "Share of the roofline reached, by `RooflineRow` of the operators inside; "    \
        "None: as of `flops`.")                                                        \
  FIELD(std::string, inputs, {}, "Sizes of its costliest operator's; or \"\".")        \
  FIELD(std::string, data_type, {}, "Of the same, as torch names it; or \"\".")        \
  FIELD(std::string, kernel, {}, "Its kernel, copy or memset with the most time.")
TTA_RECORD(AlignedSide, TTA_ALIGNED_SIDE, "One side of an aligned row.")

#define TTA_ALIGNED_OPERATOR(FIELD)                                                   \
  FIELD(std::vector<std::string>, path, {},                                           \
        "The ranges, modules and operators around it, outermost first; where their "  \
        "names differ, \"before -> after\".")                                         \
  FIELD(std::optional<AlignedSide>, before, {}, "None: only after.")                  \
  FIELD(std::optional<AlignedSide>, after, {}, "None: only before.")                  \
  FIELD(std::int64_t, difference_ns, 0, "Device time after less that before.")        \
  FIELD(Slower, slower, Slower::kSame,                                                \
        "\"before\" or \"after\"; \"\": they differ by at most 5 %, or one is None.") \
  FIELD(std::vector<Reason>, because, {}, "Why that side is slower, as far as known.")
TTA_RECORD(AlignedOperator, TTA_ALIGNED_OPERATOR,
           "Device time of the same part of a program in two traces.")

#define TTA_ALIGNMENT(FIELD)                                                          \
  FIELD(bool, per_step, false,                                                        \
        "Figures are of one step of the profiler, on average; else of all that was "  \
        "recorded. With several devices, of one of them, on average.")                \
  FIELD(std::int64_t, before_ns, 0,                                                   \
        "Busy time of the device before: the sum of all rows.")                       \
  FIELD(std::int64_t, after_ns, 0, "The same after.")                                 \
  FIELD(std::optional<double>, same_kernels, {},                                      \
        "Share of the time of both sides' kernels in those that both have, by name; " \
        "None: there are none.")                                                      \
  FIELD(bool, kernels_differ, false, "That share is under 80 %.")                     \
  FIELD(std::vector<AlignedOperator>, rows, {}, "Largest difference first.")
TTA_RECORD(
    Alignment, TTA_ALIGNMENT,
    "The operators of two traces, aligned. Each moment in which a device was busy "
    "is in one row.")
// --- Memory
// ---------------------------------------------------------------------------

/// What a row of allocated memory is.
enum class HolderKind : std::uint8_t { kSite, kRest, kEarlier };
constexpr auto words_of(HolderKind) {
  return std::array<std::string_view, 3>{"site", "rest", "earlier"};
}

#define TTA_MEMORY_HOLDER(FIELD)                                                     \
  FIELD(HolderKind, kind, HolderKind::kSite,                                         \
        "\"site\": an operator at a line; \"rest\": all sites that are not listed; " \
        "\"earlier\": allocated before the recording.")                              \
  FIELD(std::string, operator_, {},                                                  \
        "The innermost one that does more than to allocate (aten::empty and the "    \
        "like); \"\" if none was running.")                                          \
  FIELD(std::optional<Location>, location, {}, "None: no Python frames.")            \
  FIELD(std::int64_t, bytes, 0, "Of all its allocations.")                           \
  FIELD(std::uint64_t, count, 0, "Allocations; 0 of \"earlier\".")
TTA_RECORD(MemoryHolder, TTA_MEMORY_HOLDER, "Memory by what allocated it.")

#define TTA_MEMORY_GROWTH(FIELD)                                                      \
  FIELD(std::int64_t, bytes, 0, "A step: the median.")                                \
  FIELD(std::uint64_t, steps, 0, "In how many steps, each after the one before.")     \
  FIELD(std::vector<MemoryHolder>, holders, {},                                       \
        "Sites that hold more after each of the steps, bytes and count a step, the "  \
        "largest first, at most five; empty where events have no addresses.")         \
  FIELD(std::string, message, {}, "One sentence with figures; names are printable.")  \
  FIELD(std::optional<std::uint64_t>, full_after, {},                                 \
        "Steps until the device is full, from the last one. None: its size, or what " \
        "was allocated before the recording, is unknown.")
TTA_RECORD(MemoryGrowth, TTA_MEMORY_GROWTH,
           "Memory that grows in each step: the level at its end, in at least four "
           "steps after the first, by 1 MiB and more in the median.")

#define TTA_MEMORY_POINT(FIELD)                                \
  FIELD(std::int64_t, at_ns, 0, "On the trace's clock.")       \
  FIELD(std::int64_t, allocated, 0, "From then on, in bytes.") \
  FIELD(std::optional<std::int64_t>, reserved, {}, "The same; None: unknown.")
TTA_RECORD(MemoryPoint, TTA_MEMORY_POINT, "A place on the line of a device's memory.")

#define TTA_MEMORY(FIELD)                                                             \
  FIELD(std::optional<std::int32_t>, device, {}, "Its number; None: the host.")       \
  FIELD(Process, pid, {}, "The process that allocated.")                              \
  FIELD(std::uint64_t, events, 0, "[memory] events of it.")                           \
  FIELD(bool, relative, false,                                                        \
        "True: the trace has no totals (before torch 1.10), so that amounts count "   \
        "from what was allocated when recording began.")                              \
  FIELD(std::int64_t, peak_bytes, 0, "Most allocated by tensors.")                    \
  FIELD(std::int64_t, peak_at_ns, 0, "When first, on the trace's clock.")             \
  FIELD(std::optional<std::int64_t>, peak_step, {}, "N of the ProfilerStep#N.")       \
  FIELD(std::string, peak_operator, {}, "As of a holder: what allocated then.")       \
  FIELD(std::optional<Location>, peak_location, {}, "The line; None: unknown.")       \
  FIELD(std::optional<std::int64_t>, reserved_bytes, {},                              \
        "Most that torch's allocator held; None: not recorded, as of the host.")      \
  FIELD(std::optional<std::int64_t>, unused_bytes, {},                                \
        "Of that, not allocated: free in the cache, and fragments.")                  \
  FIELD(std::optional<std::int64_t>, capacity_bytes, {},                              \
        "The device's memory; None: unknown.")                                        \
  FIELD(std::optional<std::int64_t>, first_step_bytes, {},                            \
        "Allocated at the end of the first step of its process; None: no steps.")     \
  FIELD(std::optional<std::int64_t>, last_step_bytes, {}, "Of the last step.")        \
  FIELD(std::optional<std::int64_t>, step_growth_bytes, {},                           \
        "By which the level at the end of a step differs from the one before: the "   \
        "median; None: fewer than two steps.")                                        \
  FIELD(std::optional<MemoryGrowth>, growth, {}, "None: it does not grow in each.")   \
  FIELD(std::uint64_t, driver_calls, 0,                                               \
        "In steps after the first of its process, on all its devices: calls that "    \
        "took memory from the driver or gave it back.")                               \
  FIELD(std::uint64_t, retries, 0,                                                    \
        "Likewise: allocations for which torch's allocator emptied its cache.")       \
  FIELD(                                                                              \
      std::vector<MemoryHolder>, alive, {},                                           \
      "Allocated at the peak: what is from before the recording, then 20 sites, the " \
      "largest first, and the rest. Empty where events have no addresses.")           \
  FIELD(std::vector<MemoryPoint>, line, {},                                           \
        "Over time, 500 points at most; of each 500th of the time the maximum.")
TTA_RECORD(Memory, TTA_MEMORY,
           "The memory of one device, or of the host, that one process allocated.")

#define TTA_COUNTS(FIELD)                   \
  FIELD(std::uint64_t, min, 0, "Smallest.") \
  FIELD(double, median, 0, "Median.")       \
  FIELD(std::uint64_t, max, 0, "Largest.")  \
  FIELD(std::vector<std::uint64_t>, each, {}, "In the report's order.")
TTA_RECORD(Counts, TTA_COUNTS, "Kernels in each of several parts of a trace.")

#define TTA_KERNEL_COUNTS(FIELD)                                                      \
  FIELD(std::optional<Counts>, steps, {},                                             \
        "Launched in each of `Report.steps` by its process, wherever they ran; of "   \
        "kernels without a known launch, those that start in it. None: there are no " \
        "steps or no device work.")                                                   \
  FIELD(std::optional<Counts>, windows, {},                                           \
        "Started in each of `Report.windows`, on its device.")
TTA_RECORD(KernelCounts, TTA_KERNEL_COUNTS, "Numbers of kernels, no copies.")

#define TTA_OVERLAP(FIELD)                                                         \
  FIELD(std::int32_t, device, 0, "Its number.")                                    \
  FIELD(Process, pid, {}, "The process that feeds it.")                            \
  FIELD(std::int64_t, compute_ns, 0, "Kernels except those of communication.")     \
  FIELD(std::int64_t, communication_ns, 0, "Kernels of collectives.")              \
  FIELD(std::int64_t, copy_ns, 0, "Copies, without memsets.")                      \
  FIELD(std::int64_t, communication_hidden_ns, 0, "While a computing kernel ran.") \
  FIELD(std::int64_t, copy_hidden_ns, 0, "While a computing kernel ran.")
TTA_RECORD(Overlap, TTA_OVERLAP,
           "One device's time by kind of work, each a union over all streams: work of "
           "two kinds at once counts for both.")

#define TTA_THREAD(FIELD)                                                        \
  FIELD(Process, pid, {}, "As in the file.")                                     \
  FIELD(Process, tid, {}, "As in the file.")                                     \
  FIELD(std::string, name, {}, "\"\" if the trace does not name it.")            \
  FIELD(std::uint64_t, events, 0, "Events on it.")                               \
  FIELD(std::int64_t, busy_ns, 0, "Sum of the next four.")                       \
  FIELD(std::int64_t, operators_ns, 0,                                           \
        "Inside operators, with everything they call except waits.")             \
  FIELD(std::int64_t, calls_ns, 0,                                               \
        "Inside calls of CUDA, HIP and similar runtimes, outside of operators.") \
  FIELD(std::int64_t, compile_ns, 0, "torch.compile or Triton compiling.")       \
  FIELD(std::int64_t, python_ns, 0,                                              \
        "In Python frames or ranges of the program, in none of the above.")      \
  FIELD(std::int64_t, waiting_ns, 0, "Sum of the next four.")                    \
  FIELD(std::int64_t, wait_loader_ns, 0, "Inside the data loader's marks.")      \
  FIELD(std::int64_t, wait_comm_ns, 0,                                           \
        "In collectives between CPU tensors: waiting for one, or running it.")   \
  FIELD(std::int64_t, wait_device_ns, 0, "In calls that wait for a device.")     \
  FIELD(std::int64_t, wait_other_ns, 0,                                          \
        "For locks, files, processes and autograd's threads, or asleep.")        \
  FIELD(std::int64_t, profiler_ns, 0, "Inside the profiler's own work.")         \
  FIELD(std::int64_t, idle_ns, 0, "Without any event except steps.")             \
  FIELD(double, busy_share, 0, "`busy_us` as a share of the span, 0 to 1.")
TTA_RECORD(Thread, TTA_THREAD,
           "One thread's time: busy, waiting, profiler and idle add up to the span. "
           "Each moment counts once, by the innermost event that has a meaning; inside "
           "a loader's mark, a compilation or a collective of the backend it counts as "
           "that, regardless of the events inside.")

}  // namespace tta::pipeline
