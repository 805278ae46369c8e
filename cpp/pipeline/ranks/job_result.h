// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/job_result.h: the rows of a job: its ranks, collectives, who was late
// and why.
//
// Moments are on the job's common clock, counted from the first event of any rank. Time
// that was waited is summed over ranks: GPU time, where they are GPUs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/report.h"
#include "replay/job.h"

namespace tta::pipeline {

#define TTA_RANK_ROW(FIELD)                                                            \
  FIELD(std::int64_t, rank, -1, "Its number; -1: unknown.")                            \
  FIELD(std::string, path, {}, "Of its trace.")                                        \
  FIELD(std::string, host, {}, "\"\" if unknown.")                                     \
  FIELD(std::string, device, {},                                                       \
        "Where it computes: \"NVIDIA H100 80GB HBM3\"; \"CPU\" without device work.")  \
  FIELD(Verdict, verdict, Verdict::kOk, "Of its trace.")                               \
  FIELD(std::optional<std::int64_t>, stage, {},                                        \
        "Of a pipeline; None: no pipeline, or unknown.")                               \
  FIELD(std::uint64_t, steps, 0, "Number of its steps.")                               \
  FIELD(std::int64_t, begin_ns, 0, "First moment of its recording.")                   \
  FIELD(std::int64_t, end_ns, 0, "Last moment.")                                       \
  FIELD(std::int64_t, span_ns, 0, "From begin to end; 0 if it is not joined.")         \
  FIELD(std::int64_t, busy_ns, 0,                                                      \
        "Busy time of its devices; without a device, of its process in operators.")    \
  FIELD(std::int64_t, waited_ns, 0,                                                    \
        "In collectives, from its own start until all had started.")                   \
  FIELD(std::int64_t, transfer_ns, 0, "In collectives, from then on.")                 \
  FIELD(std::int64_t, exposed_ns, 0, "In collectives, with no computation beside.")    \
  FIELD(std::int64_t, caused_ns, 0, "Waiting of other ranks for this one.")            \
  FIELD(std::uint64_t, last, 0, "Collectives in which it arrived last.")               \
  FIELD(std::optional<double>, gain_us, {},                                            \
        "How much shorter a step of the job would be if this rank ran at the others' " \
        "speed; None: not replayed, as 16 ranks caused more waiting.")                 \
  FIELD(std::int64_t, clock_shift_ns, 0, "Added to its clock for the common one.")     \
  FIELD(std::int64_t, clock_residual_ns, 0,                                            \
        "Uncertainty of that: median distance of its collectives' ends from those of " \
        "the others.")
TTA_RECORD(RankRow, TTA_RANK_ROW, "One rank, compared with the others.")

#define TTA_RANK_FINDING(FIELD)                                                      \
  FIELD(std::string, id, {}, "As in the rank's own report.")                         \
  FIELD(std::string, pattern, {}, "Name of the pattern.")                            \
  FIELD(std::string, kind, {}, "The pattern, with its sub-type if it has one.")      \
  FIELD(PatternSide, side, PatternSide::kCpu,                                        \
        "\"cpu\" or \"gpu\": whose code has to change.")                             \
  FIELD(std::optional<Location>, location, {}, "None: no Python frames are known.")  \
  FIELD(std::string, operator_, {}, "Deepest operator above the evidence; or \"\".") \
  FIELD(std::uint64_t, count, 0, "Occurrences.")                                     \
  FIELD(std::int64_t, wasted_ns, 0, "Idle and excess time.")                         \
  FIELD(std::optional<std::int64_t>, recoverable_ns, {},                             \
        "Gain of a fix in the rank's own replay; None if that is unreliable.")       \
  FIELD(std::string, message, {}, "One sentence with figures.")                      \
  FIELD(std::string, advice, {}, "How to fix it.")
TTA_RECORD(RankFinding, TTA_RANK_FINDING,
           "A finding of one rank's own report, as far as a job needs it.")

/// One rank's trace, analyzed and reduced to what its job needs.
struct RankRecord {
  RankRow row;                        ///< All that does not depend on other ranks.
  std::vector<RankFinding> findings;  ///< Of its report, in order.
  /// None if nothing in the trace could be scheduled: it is listed, but not joined.
  std::optional<replay::RankWork> work;
};

#define TTA_LATE(FIELD)                                                                \
  FIELD(std::int64_t, rank, -1, "The rank that was late.")                             \
  FIELD(std::string, kind, {},                                                         \
        "Kind of its work: \"host\", \"runtime_calls\", \"compute\" or \"copies\"; "   \
        "\"\" if nothing that was recorded explains it.")                              \
  FIELD(std::optional<Location>, location, {}, "The line of that work, if known.")     \
  FIELD(std::string, name, {}, "Operator or kernel, where no line is known; or \"\".") \
  FIELD(std::optional<RankFinding>, finding, {},                                       \
        "The finding of its own report that claims most of that time; None: no "       \
        "finding does, or only one about collectives, which explains no lateness.")    \
  FIELD(std::int64_t, late_ns, 0, "The largest excess over the others' time.")         \
  FIELD(std::int64_t, waited_ns, 0, "By all others together, in `count` collectives.") \
  FIELD(std::uint64_t, count, 0, "Collectives in which others waited for it.")         \
  FIELD(std::string, collective, {}, "Where others waited longest for it.")            \
  FIELD(std::optional<std::int64_t>, sequence, {},                                     \
        "Number of that collective in its process group.")                             \
  FIELD(std::uint64_t, waiting, 0, "Ranks that waited there.")                         \
  FIELD(                                                                               \
      std::optional<double>, gain_us, {},                                              \
      "How much shorter a step would be without it, on average; None: not replayed.")  \
  FIELD(                                                                               \
      std::optional<double>, gain_low_us, {},                                          \
      "The range of that average, by how steps differ (at a confidence of 90 %) and "  \
      "how far the replay is off; None: of a single step.")                            \
  FIELD(std::optional<double>, gain_high_us, {}, "Its end.")                           \
  FIELD(bool, culprit, false,                                                          \
        "Not chance: a step would gain 2 % and a quarter of the spread between steps " \
        "(their middle half), and others wait for it in three of four steps. Never "   \
        "if nothing explains it.")
TTA_RECORD(Late, TTA_LATE,
           "The cause that made one rank late, and the others' waiting for it.")

#define TTA_LATE_RANK(FIELD)                                                         \
  FIELD(std::int64_t, rank, -1, "The rank.")                                         \
  FIELD(std::int64_t, caused_ns, 0, "Waiting of other ranks for it.")                \
  FIELD(double, share, 0, "Of all that ranks waited for each other.")                \
  FIELD(double, host_share, 0,                                                       \
        "Share of `caused` for which its host was late: in Python, operators and "   \
        "calls of the runtime.")                                                     \
  FIELD(double, unexplained_share, 0,                                                \
        "Share for which nothing recorded is the cause.")                            \
  FIELD(std::optional<RankFinding>, finding, {},                                     \
        "The finding of its own report that claims most of it, if a fifth or more.") \
  FIELD(std::optional<double>, gain_us, {},                                          \
        "How much shorter a step would be if this rank alone worked at the others' " \
        "speed.")
TTA_RECORD(LateRank, TTA_LATE_RANK,
           "A rank that is late, alone or in turn with others.")

#define TTA_SHARED_FINDING(FIELD)                                                 \
  FIELD(std::string, pattern, {}, "Name of the pattern.")                         \
  FIELD(std::uint64_t, ranks, 0, "Ranks whose own report has it.")                \
  FIELD(std::uint64_t, of, 0, "The number of ranks analyzed.")                    \
  FIELD(double, share, 0, "Of a rank's recording, in the mean over those ranks.") \
  FIELD(double, least, 0, "The smallest share.")                                  \
  FIELD(double, most, 0, "The largest share.")
TTA_RECORD(SharedFinding, TTA_SHARED_FINDING,
           "A pattern that most ranks have, with its idle and excess time.")

#define TTA_DECODE_SKEW(FIELD)                                                         \
  FIELD(std::string, kind, {}, "Of the steps: \"decode\" or \"verify\".")              \
  FIELD(std::uint64_t, steps, 0, "The number compared.")                               \
  FIELD(std::uint64_t, ranks, 0, "Those that are in their collectives together.")      \
  FIELD(std::vector<std::int64_t>, members, {}, "These.")                              \
  FIELD(std::optional<std::int64_t>, rank, {},                                         \
        "The rank that comes last in most of them; None: none does, or it costs less " \
        "than 2 % of the steps.")                                                      \
  FIELD(std::uint64_t, last, 0,                                                        \
        "Steps in which it comes last; without one, the rank that does most often.")   \
  FIELD(                                                                               \
      std::int64_t, waited_ns, 0,                                                      \
      "By all ranks together: in each collective, longer than the one that is in it "  \
      "for the shortest time, as it comes last.")                                      \
  FIELD(std::int64_t, step_wait_ns, 0,                                                 \
        "Of that, a step and waiting rank, on average.")                               \
  FIELD(std::int64_t, device_ns, 0,                                                    \
        "Of all ranks together: from the first start to the last end in each step.")   \
  FIELD(double, share, 0, "`waited` of `device`.")
TTA_RECORD(DecodeSkew, TTA_DECODE_SKEW,
           "How long tensor-parallel ranks of a serving engine wait for each other in "
           "their steps of one kind.")

#define TTA_COLLECTIVE_WAIT(FIELD)                                                     \
  FIELD(std::uint32_t, collective, 0, "Place in `JobReport.joined_collectives`.")      \
  FIELD(std::int64_t, rank, -1, "The rank that was waited for.")                       \
  FIELD(std::optional<std::uint32_t>, late, {},                                        \
        "Its cause: place in `JobReport.late`; None: too little to have a row there.") \
  FIELD(std::int64_t, late_ns, 0, "Excess over the others' time.")                     \
  FIELD(std::int64_t, waited_ns, 0, "By all others together.")
TTA_RECORD(CollectiveWait, TTA_COLLECTIVE_WAIT,
           "Waiting in one collective because of one rank.")

#define TTA_STEP_OF_RANK(FIELD)                     \
  FIELD(std::int64_t, rank, -1, "The rank.")        \
  FIELD(std::int64_t, number, 0, "Of the step.")    \
  FIELD(std::int64_t, begin_ns, 0, "First moment.") \
  FIELD(std::int64_t, end_ns, 0, "Last moment.")
TTA_RECORD(StepOfRank, TTA_STEP_OF_RANK, "A step of one rank.")

#define TTA_ARRIVAL(FIELD)                           \
  FIELD(std::int64_t, rank, -1, "The rank.")         \
  FIELD(std::int64_t, begin_ns, 0, "Its own start.") \
  FIELD(std::int64_t, end_ns, 0, "Its own end.")     \
  FIELD(std::int64_t, wait_ns, 0, "From its own start until all had started.")
TTA_RECORD(Arrival, TTA_ARRIVAL, "A rank in a collective.")

#define TTA_JOINED_COLLECTIVE(FIELD)                                           \
  FIELD(std::string, name, {}, "\"allreduce\", as the operator is called.")    \
  FIELD(std::string, group, {}, "Name of its process group; \"\" if unknown.") \
  FIELD(std::optional<std::int64_t>, sequence, {}, "Its number in the group.") \
  FIELD(std::optional<std::int64_t>, step, {},                                 \
        "N of the ProfilerStep#N, by one count for all ranks.")                \
  FIELD(std::optional<std::int64_t>, bytes, {}, "Its size, if recorded.")      \
  FIELD(std::int64_t, transfer_ns, 0, "From the last start to the first end.") \
  FIELD(std::int64_t, wait_ns, 0, "Of all ranks together, before that.")       \
  FIELD(std::int64_t, last, -1, "The rank that arrived last.")                 \
  FIELD(std::vector<Arrival>, arrivals, {}, "By rank.")
TTA_RECORD(JoinedCollective, TTA_JOINED_COLLECTIVE,
           "A collective, or a message, that two ranks or more recorded.")

#define TTA_COLLECTIVE_ROW(FIELD)                                                \
  FIELD(std::string, name, {}, "Name of the collective.")                        \
  FIELD(std::optional<std::int64_t>, bytes, {}, "Size of each, if recorded.")    \
  FIELD(std::uint64_t, count, 0, "How many there are.")                          \
  FIELD(std::int64_t, wait_ns, 0,                                                \
        "Of all ranks together: from their own start until all had started.")    \
  FIELD(std::int64_t, transfer_ns, 0, "Of all ranks together: from then on.")    \
  FIELD(std::int64_t, exposed_ns, 0,                                             \
        "Of all ranks together, with no computation beside.")                    \
  FIELD(std::optional<double>, bus_gb_s, {},                                     \
        "Bus bandwidth over the transfer, as NCCL's tests count it; None: size " \
        "or kind unknown.")                                                      \
  FIELD(bool, small, false,                                                      \
        "Less than 1 MiB, and more than one: starting them costs more than sending.")
TTA_RECORD(CollectiveRow, TTA_COLLECTIVE_ROW, "All collectives of one name and size.")

#define TTA_CULPRIT(FIELD)                                                          \
  FIELD(std::string, what, {}, "\"rank\", \"stage\" or \"kind\" of work.")          \
  FIELD(std::string, name, {},                                                      \
        "The rank, the stage, or the kind of work: \"host\", \"runtime_calls\", "   \
        "\"compute\", \"copies\", or a collective.")                                \
  FIELD(double, gain_us, 0, "How much shorter a step would be, on average.")        \
  FIELD(std::optional<double>, gain_low_us, {}, "The range of that, as in `late`.") \
  FIELD(std::optional<double>, gain_high_us, {}, "Its end.")                        \
  FIELD(double, share, 0, "Share of all losses; above 1 if other parts make up for it.")
TTA_RECORD(Culprit, TTA_CULPRIT,
           "How much shorter a step would be if one part of the work took its usual "
           "time.")

#define TTA_JOB_FACTS(FIELD)                                                          \
  FIELD(std::string, source, {},                                                      \
        "As given: a folder, a pattern, a file, or \"the list\".")                    \
  FIELD(std::string, recording, {}, "The recording there.")                           \
  FIELD(std::uint64_t, ranks, 0, "Those with a trace that could be read.")            \
  FIELD(std::optional<std::int64_t>, world_size, {}, "None if no trace has it.")      \
  FIELD(std::vector<std::int64_t>, missing, {}, "Ranks without a trace.")             \
  FIELD(std::vector<std::int64_t>, unjoined, {},                                      \
        "Ranks whose trace could not be joined with those of others: it cannot be "   \
        "scheduled, or has no collective in common.")                                 \
  FIELD(std::uint64_t, steps, 0, "Steps that were recorded.")                         \
  FIELD(                                                                              \
      double, step_us, 0,                                                             \
      "Mean length of a step of all ranks together, recorded; without steps, of the " \
      "whole recording.")                                                             \
  FIELD(double, replayed_us, 0, "The same in the replay of the unchanged job.")       \
  FIELD(double, even_us, 0,                                                           \
        "The same with each rank's work at the others' median, and that of pipeline " \
        "stages shared evenly.")                                                      \
  FIELD(double, even_ranks_us, 0, "As `even_us`, but with transfers as recorded.")    \
  FIELD(double, replay_error, 0,                                                      \
        "Mean over the steps of how far the replay is off, as a share of the step.")  \
  FIELD(double, slowdown, 1, "replayed_us / even_us; 1: no stragglers.")              \
  FIELD(std::int64_t, waited_ns, 0, "Of all ranks together.")                         \
  FIELD(std::uint64_t, joined_collectives, 0,                                         \
        "Collectives and messages that two ranks or more recorded.")                  \
  FIELD(std::uint64_t, unmatched, 0, "Collectives that only one rank recorded.")      \
  FIELD(std::uint64_t, contradicted, 0,                                               \
        "Collectives whose ranks were not in them at the same time: not joined.")     \
  FIELD(std::int64_t, clock_residual_ns, 0, "Of the worst rank.")                     \
  FIELD(std::optional<std::int64_t>, culprit, {},                                     \
        "Rank of the first culprit in `late`; None: there is none.")                  \
  FIELD(std::optional<double>, late_gain_us, {},                                      \
        "How much shorter a step would be if all of `late_ranks` worked at the "      \
        "others' speed, on average; None: there are none.")                           \
  FIELD(std::optional<double>, late_gain_low_us, {},                                  \
        "The range of that, as in `late`.")                                           \
  FIELD(std::optional<double>, late_gain_high_us, {}, "Its end.")                     \
  FIELD(std::optional<std::int64_t>, sometimes_late, {},                              \
        "The rank for which there was four fifths of the waiting, though not in "     \
        "three of four steps; None: there is none.")                                  \
  FIELD(std::vector<Note>, notes, {}, "On the ranks, and on how they were joined.")
TTA_RECORD(JobFacts, TTA_JOB_FACTS, "The job as a whole.")

// How a job stands: `unknown` without a common collective, `even` if it loses less than
// healthy steps differ by, else slow by late ranks or by transfers, whichever costs
// more.
enum class JobVerdict : std::uint8_t { kUnknown, kEven, kRanks, kTransfers };
constexpr auto words_of(JobVerdict) {
  return std::array<std::string_view, 4>{"unknown", "even", "ranks", "transfers"};
}

enum class JobRowOf : std::uint8_t { kLate, kLateRanks, kCulprits, kShared, kDecode };
constexpr auto words_of(JobRowOf) {
  return std::array<std::string_view, 5>{"late", "late_ranks", "culprits", "shared",
                                         "decode_skew"};
}

#define TTA_JOB_ANSWER_ROW(FIELD)                                                     \
  FIELD(JobRowOf, of, JobRowOf::kLate,                                                \
        "The list of `JobReport` that it is about; \"late_ranks\": all of its rows "  \
        "together.")                                                                  \
  FIELD(std::uint32_t, index, 0, "Place in that list.")                               \
  FIELD(std::string, fix, {}, "What to do, in a few words; \"\" if that is unknown.") \
  FIELD(std::optional<double>, observed_fraction, {},                                 \
        "Share of the time of all ranks: of a shared pattern its own, of late ranks " \
        "and decode steps what others waited. None: not a time in the traces.")       \
  FIELD(std::optional<double>, middle_fraction, {},                                   \
        "Share of a step that is saved on average if this alone took the time that "  \
        "it takes on other ranks. None: unknown.")                                    \
  FIELD(std::optional<double>, low_fraction, {},                                      \
        "The range of that, as in `late`. None: of a single step.")                   \
  FIELD(std::optional<double>, high_fraction, {}, "Its end.")
TTA_RECORD(JobAnswerRow, TTA_JOB_ANSWER_ROW, "A reason why a job is slow.")

#define TTA_JOB_ANSWER(FIELD)                                                         \
  FIELD(JobVerdict, verdict, JobVerdict::kUnknown,                                    \
        "\"ranks\" or \"transfers\": what makes it slow; \"even\": neither does, by " \
        "2 % of a step; \"unknown\": no collective in common.")                       \
  FIELD(double, middle_fraction, 0,                                                   \
        "Share of a step that is saved on average if all transfers took their usual " \
        "time (\"transfers\"), or all ranks (else).")                                 \
  FIELD(std::optional<double>, low_fraction, {},                                      \
        "The range of that, as in `late`. None: of a single step.")                   \
  FIELD(std::optional<double>, high_fraction, {}, "Its end.")                         \
  FIELD(std::vector<JobAnswerRow>, rows, {},                                          \
        "Five at most, of 3 % or more except for the first, the cause of what is "    \
        "lost; what saves most comes first, shared patterns last.")                   \
  FIELD(std::string, caveat, {}, "Why the figures are rough; or \"\".")
TTA_RECORD(JobAnswer, TTA_JOB_ANSWER, "What to do about a job, in a few rows.")

/// An end of a replay::StepGain, as the rows of a job have it.
inline std::optional<double> in_us(std::optional<double> ns) {
  return ns ? std::optional(*ns / 1000) : std::nullopt;
}

struct JobResult {
  JobFacts facts;              ///< Without the source, its recording, ranks and notes.
  std::vector<RankRow> ranks;  ///< In the order given.
  std::vector<Late> late;      ///< Culprits first, unexplained last; most waited first.
  std::vector<LateRank> late_ranks;     ///< Most waited for first.
  std::vector<SharedFinding> shared;    ///< Largest share first.
  std::vector<DecodeSkew> decode_skew;  ///< By kind of step.
  std::vector<CollectiveWait> causes;
  std::vector<StepOfRank> steps;                     ///< By rank.
  std::vector<JoinedCollective> joined_collectives;  ///< By time.
  std::vector<CollectiveRow> collectives;            ///< Most time first.
  std::vector<Culprit> culprits;                     ///< Largest gain first.
  JobAnswer answer;
};

/// Replays with one rank, or one cause, at its usual time: of those that others waited
/// for most, so that the work stays linear in the ranks.
constexpr std::size_t kMostReplayed = 16;

/// Joins ranks into one job (replay/job.h) and writes down who waited for whom and why.
///
/// Takes what joining takes, and a replay of the job for each of at most 16 ranks and
/// 16 causes, those that are late together, each stage and each kind of work: O(n) each
/// in the work of all ranks. Throws CycleError if ranks contradict each other's order.
JobResult join_ranks(std::vector<RankRecord> ranks);

}  // namespace tta::pipeline
