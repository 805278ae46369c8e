// SPDX-License-Identifier: BSD-3-Clause
// pipeline/ranks/job_result.h: the rows of a job: its ranks, collectives, who was late
// and why.
//
// Moments are on the job's common clock, counted from the first event of any rank. Time
// that was waited is summed over ranks: GPU time, where they are GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "replay/job.h"
#include "timeline/frames.h"

namespace tta::pipeline {

/// One rank, compared with the others.
struct RankRow {
  std::int64_t rank = -1;  ///< -1: unknown.
  std::string path;        ///< Of its trace.
  std::string host;        ///< "" if unknown.
  std::string device;      ///< What it computes on: "NVIDIA H100 80GB HBM3", "CPU".
  Verdict verdict = Verdict::kOk;     ///< Of its trace.
  std::optional<std::int64_t> stage;  ///< Of a pipeline; none: no pipeline, or unknown.
  std::uint64_t steps = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t span_ns = 0;  ///< From begin to end; 0 if not joined.
  std::int64_t busy_ns = 0;  ///< Its devices; without one, its processes in operators.
  std::int64_t waited_ns = 0;    ///< In collectives, until all members had started.
  std::int64_t transfer_ns = 0;  ///< In collectives, from then on.
  std::int64_t exposed_ns = 0;   ///< In collectives, with no computation beside.
  std::int64_t caused_ns = 0;    ///< Waiting of other ranks for this one.
  std::uint64_t last = 0;        ///< Collectives in which it arrived last.
  /// How much shorter a step of the job would be if this rank ran at the others' speed,
  /// in microseconds; none: not replayed, as 16 ranks caused more waiting.
  std::optional<double> gain_us;
  std::int64_t clock_shift_ns = 0;  ///< Added to its clock for the common one.
  /// Uncertainty of that: median distance of its collectives' ends from the others'.
  std::int64_t clock_residual_ns = 0;
};

/// One rank's trace, analyzed and reduced to what its job needs.
struct RankRecord {
  RankRow row;                        ///< All that does not depend on other ranks.
  std::vector<std::string> findings;  ///< Patterns of its report's findings, in order.
  /// None if nothing in the trace could be scheduled: it is listed, but not joined.
  std::optional<replay::RankWork> work;
};

/// What made one rank late, and the waiting of the others for it.
struct Late {
  std::int64_t rank = -1;
  /// Kind of its work: "host", "runtime_calls", "compute" or "copies"; "" if nothing
  /// that was recorded explains it.
  std::string kind;
  std::optional<timeline::Frame> location;
  std::string name;  ///< Operator or kernel, where there is no location; or "".
  /// Place in the rank's findings of the one that claims most of that time; none: no
  /// finding does, or only one about collectives, which explains no lateness.
  std::optional<std::uint32_t> finding;
  std::int64_t late_ns = 0;    ///< Longer than others took, at most.
  std::int64_t waited_ns = 0;  ///< By all others together, in `count` collectives.
  std::uint64_t count = 0;
  /// The collective in which others waited longest for it, its number in the process
  /// group, and how many ranks waited there.
  std::string collective;
  std::optional<std::int64_t> sequence;
  std::uint64_t waiting = 0;
  /// How much shorter a step would be without it, in microseconds; none: not replayed.
  std::optional<double> gain_us;
  /// Not chance: a step would gain 2 % and a quarter of the spread between steps (their
  /// middle half), and others wait for it in three of four steps. Never for what
  /// nothing explains.
  bool culprit = false;
};

/// Waiting in one collective because of one rank.
struct CollectiveWait {
  std::uint32_t collective = 0;       ///< Place in JobResult::joined_collectives.
  std::int64_t rank = -1;             ///< The rank that was waited for.
  std::optional<std::uint32_t> late;  ///< Place in JobResult::late; none: too little.
  std::int64_t late_ns = 0;           ///< Longer than others took.
  std::int64_t waited_ns = 0;         ///< By all others together.
};

/// A step of one rank.
struct StepOfRank {
  std::int64_t rank = -1, number = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// A rank in a collective.
struct Arrival {
  std::int64_t rank = -1;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t wait_ns = 0;  ///< From its own start until all had started.
};

/// A collective, or a message, that two ranks or more recorded.
struct JoinedCollective {
  std::string name, group;  ///< Group: of processes; "" if unknown.
  std::optional<std::int64_t> sequence, step, bytes;  ///< Sequence: in the group.
  std::int64_t transfer_ns = 0;   ///< From the last start to the first end.
  std::int64_t wait_ns = 0;       ///< Of all ranks together, before that.
  std::int64_t last = -1;         ///< The rank that arrived last.
  std::vector<Arrival> arrivals;  ///< By rank.
};

/// All collectives of one name and size.
struct CollectiveRow {
  std::string name;
  std::optional<std::int64_t> bytes;
  std::uint64_t count = 0;
  std::int64_t wait_ns = 0, transfer_ns = 0, exposed_ns = 0;  ///< Of all ranks.
  /// Less than 1 MiB, and more than one: starting them costs more than sending.
  bool small = false;
};

/// How much shorter a step would be if one part of the work took its usual time.
struct Culprit {
  std::string what;  ///< "rank", "stage" or "kind" of work.
  std::string name;
  double gain_us = 0;
  double share = 0;  ///< Of all that is lost; above 1 where others make up for it.
};

/// The job as a whole.
struct JobFacts {
  std::uint64_t steps = 0;
  /// Mean length of a step of all ranks together, recorded and in the unchanged replay,
  /// in microseconds; without steps, of the whole recording.
  double step_us = 0, replayed_us = 0;
  /// The same with each rank's work at the others' median, and that of pipeline stages
  /// shared evenly.
  double even_us = 0;
  double slowdown = 1;      ///< replayed_us / even_us; 1: no stragglers.
  double replay_error = 0;  ///< Mean of |replayed - recorded| / recorded over steps.
  std::int64_t waited_ns = 0;
  std::uint64_t joined_collectives = 0;
  std::uint64_t unmatched = 0;     ///< Collectives that only one rank recorded.
  std::uint64_t contradicted = 0;  ///< Members were not in it at one time: not joined.
  std::int64_t clock_residual_ns = 0;   ///< Of the worst rank.
  std::optional<std::int64_t> culprit;  ///< Rank of the first culprit in `late`.
};

struct JobResult {
  JobFacts facts;
  std::vector<RankRow> ranks;  ///< In the order given.
  std::vector<Late> late;      ///< Culprits first, unexplained last; most waited first.
  std::vector<CollectiveWait> causes;
  std::vector<StepOfRank> steps;                     ///< By rank.
  std::vector<JoinedCollective> joined_collectives;  ///< By time.
  std::vector<CollectiveRow> collectives;            ///< Most time first.
  std::vector<Culprit> culprits;                     ///< Largest gain first.
};

/// Replays with one rank, or one cause, at its usual time: of those that others waited
/// for most, so that the work stays linear in the ranks.
constexpr std::size_t kMostReplayed = 16;

/// Joins ranks into one job (replay/job.h) and writes down who waited for whom and why.
///
/// Takes what joining takes, and a replay of the job for each of at most 16 ranks and
/// 16 causes, each stage and each kind of work: O(n) each in the work of all ranks.
/// Throws CycleError if ranks contradict each other's order.
JobResult join_ranks(std::vector<RankRecord> ranks);

}  // namespace tta::pipeline
