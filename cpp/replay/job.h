// SPDX-License-Identifier: BSD-3-Clause
// replay/job.h: the ranks of a job as one graph, joined where they meet.
//
// One rank's trace does not show how long a collective took and how long it waited for
// the others: the kernel runs from the rank's own arrival on. Across all ranks, the
// last to arrive shows the transfer and the others the wait (dPRO, MLSys '22, aligns
// ranks by the same reasoning; DeepSpeed's logger calls the parts straggler and
// latency).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "replay/graph.h"
#include "replay/rank_work.h"

namespace tta::replay {

struct JoinedMember {
  std::uint32_t rank;        ///< Place in the list of ranks.
  std::uint32_t collective;  ///< In its RankWork::collectives.
  /// On the common clock, when it was there and when it went on.
  std::int64_t begin, end;
  /// From its own begin until all were there, 0 if it left before; without what it
  /// waited in another that it was in already, so that each moment counts once.
  std::int64_t wait;
  std::int64_t transfer;  ///< From then to its own end; of a message, that of both.
  bool waited;            ///< Left no sooner than all were there: a root may.
  std::int64_t sent = 0;  ///< Of `transfer`, what is in no wait and no other transfer.
};

/// A collective or message of which two ranks or more are known.
struct JoinedCollective {
  std::string name, group;
  std::int64_t sequence = -1, step = -1, bytes = -1;
  std::vector<JoinedMember> members;  ///< By rank.
  std::uint32_t last;                 ///< Of `members`: who came last.
  std::int64_t transfer;              ///< From the last arrival to the first end.
  PointId joined = kOrigin;           ///< The last arrival.
  std::int64_t wait() const {
    std::int64_t out = 0;
    for (const auto& m : members) out += m.wait;
    return out;
  }
};

/// What a part of the work usually takes, against which a rank's own is held.
enum class Usual : std::uint8_t {
  /// The median in the same stretch of the same step, for ranks of a stage that run one
  /// program: of a rank the others', of all the lower one of all; between stages, an
  /// even share of the work.
  kPeers,
  /// The mean of its kind over all ranks and steps, as if all work were shared evenly:
  /// "Understanding Stragglers in Large Model Training" (OSDI '25, arXiv 2505.05713).
  kKind,
};

/// Selects work of the job; fields left out match anything.
struct Selection {
  std::vector<std::uint32_t> ranks{};  ///< Places in the list of ranks; {}: all.
  std::optional<std::int64_t> stage{};
  std::optional<std::string> kind{};  ///< WorkPlace::kind, or the name of a collective.
  std::optional<std::uint32_t> place{};  ///< In Job::places().
  /// Whether transfers are work, too, where neither ranks nor a place are selected.
  bool transfers = true;
};

/// Returns the middle of a sorted list without one of its values, of an even number the
/// lower; the value itself, if there is no other.
std::int64_t median_of_others(const std::vector<std::int64_t>& sorted,
                              std::int64_t own);

/// How much shorter the steps of a job are.
struct StepGain {
  double ns = 0;  ///< The mean over the steps.
  /// The range of that mean at a confidence of 90 % (Student's t), wider on both sides
  /// by how far the replay of the unchanged job is off. Unknown of a single step.
  std::optional<double> low_ns{}, high_ns{};
};

/// How far the ranks' clocks are known to differ.
struct Clock {
  std::int64_t shift = 0;     ///< Added to a rank's time to be on the common clock.
  std::int64_t residual = 0;  ///< Median distance of its ends from those of others.
  std::uint32_t shared = 0;   ///< Ranks with one number here have one clock.
};

class Job {
 public:
  using Parts = std::map<std::uint32_t, std::int64_t>;  ///< Nanoseconds by place.

  /// Joins ranks at the collectives that two or more of them have: those of one process
  /// group with the same sequence number or, if a trace has no numbers, the same place
  /// among those of that name in their step. Messages are joined by their two ends, in
  /// order. Ranks of one host have one clock; hosts' clocks are set by collectives that
  /// no rank leaves before all have arrived, since all members of one end together: by
  /// the median over those that two hosts share. Members that did not overlap in time
  /// are separated again: their numbers mean different collectives. Transfers of one
  /// name and size are alike.
  ///
  /// O(n log n) in the passages, parts and collectives of all ranks. Throws CycleError
  /// if ranks contradict each other's order, std::invalid_argument for no rank or one
  /// that refers to nothing.
  Job(std::vector<RankWork> ranks, Usual usual);

  const std::vector<RankWork>& ranks() const { return ranks_; }
  const std::vector<JoinedCollective>& collectives() const {
    return collectives_;
  }  ///< By time.
  const std::vector<WorkPlace>& places() const { return places_; }  ///< Of all ranks.
  /// Returns the kinds of work, and the names of collectives.
  std::set<std::string> kinds() const;
  const std::vector<Clock>& clocks() const { return clocks_; }
  /// Collectives of one rank that no other has: their lengths are copied.
  std::uint64_t unmatched() const { return unmatched_; }
  /// Collectives joined by their numbers whose members were not there at one time.
  std::uint64_t contradicted() const { return contradicted_; }

  /// Whether a rank met another; all do if none did.
  bool is_joined(std::uint32_t rank) const { return joined_[rank] != 0; }

  /// Returns the mean length of the job's steps, of all ranks together: each from where
  /// the one before ended everywhere; without steps, of all that was recorded. Ranks
  /// that met no other do not count, if any did.
  double recorded_step_ns() const;
  /// The same of a replay: as it was, or with what is selected at what is usual.
  double replayed_step_ns(const std::optional<Selection>& usual = {}) const;
  /// Returns how much shorter steps are with `usual` at what is usual than with `from`.
  StepGain gain(const Selection& usual,
                const std::optional<Selection>& from = {}) const;
  /// Returns how far the replay is off, as a share of the step: the mean over them.
  double replay_error() const { return replay_error_; }
  /// Lengths of the steps, by number, recorded and replayed as they were.
  const std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>& steps() const {
    return steps_;
  }

  /// Returns the global place of a rank's.
  std::uint32_t place_of(std::uint32_t rank, std::uint32_t place) const {
    return place_of_[rank][place];
  }
  /// Returns the usual of each part of a passage, by global place, with those that only
  /// others have; and of the rest of it (delay), by kNoPlace. `even`: with the rank's
  /// own among the values, so that it is the same for all who have them; of others'
  /// alone, two ranks would only change places.
  Parts usual_parts(std::uint32_t rank, std::uint32_t passage, bool even) const;
  static constexpr std::uint32_t kNoPlace = 0xffffffff;
  /// Returns the finding of a rank's own report that claims most of its time at a
  /// place; -1 if none does.
  std::int32_t finding_of(std::uint32_t rank, std::uint32_t place) const;
  /// Returns a passage's own parts likewise.
  Parts own_parts(std::uint32_t rank, std::uint32_t passage) const;
  /// Returns the passage that a stop of a rank waited for, as recorded; kNoPlace if it
  /// waited for none.
  std::uint32_t binding(std::uint32_t rank, std::uint32_t stop) const;

 private:
  struct Cohort {
    std::size_t members = 0;
    std::map<std::uint32_t, std::vector<std::int64_t>> values;  // by place, sorted
  };

  void gather_places();
  void align_steps();
  void match();
  std::int64_t end_of(const JoinedMember& member) const;  // on its own clock
  std::vector<std::int64_t> shifts(const std::vector<std::uint32_t>& clock) const;
  std::vector<std::int64_t> residuals(const std::vector<std::int64_t>& shift) const;
  void set_clocks();
  void take_apart();
  void measure();
  void count_once();
  void join();
  void find_cohorts();
  static void add_to(Cohort& cohort, const Parts& parts);
  static void sort(Cohort& cohort);
  Parts whole_parts(std::uint32_t rank) const;
  void find_means();
  void share_between_stages();
  bool selects(const Selection& s, std::uint32_t rank, std::uint32_t place) const;
  std::vector<std::int64_t> weights(const std::optional<Selection>& usual) const;
  std::vector<double> lengths(const std::vector<std::int64_t>& times) const;
  std::vector<double> replayed(const std::optional<Selection>& usual) const;
  void find_steps(const std::vector<std::int64_t>& times);
  double find_error() const;
  PointId point(std::uint32_t rank, std::uint32_t stop) const {
    return first_[rank] + stop;
  }

  std::vector<RankWork> ranks_;
  Usual usual_;
  std::vector<WorkPlace> places_;
  std::vector<std::vector<std::uint32_t>> place_of_;
  std::vector<JoinedCollective> collectives_;
  std::vector<Clock> clocks_;
  std::uint64_t unmatched_ = 0, contradicted_ = 0;
  std::vector<Cohort> cohorts_;
  std::vector<std::vector<std::uint32_t>> cohort_of_;  // of each rank's passages
  // Of each rank the whole recording, along what it waited for; by stage, of its ranks.
  std::vector<Parts> own_whole_;
  std::map<std::int64_t, Cohort> stages_;
  std::map<std::string, double> means_;         // by kind, of kKind
  std::map<std::int64_t, double> stage_share_;  // even share / own, of kPeers
  std::vector<std::int64_t> usual_transfer_;    // of each collective
  std::vector<PointId> first_;                  // of each rank: its origin
  std::vector<char> joined_;                    // of each rank: it met another
  Graph graph_{1, {}};
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> steps_;
  std::vector<double> replayed_;  // Lengths of the steps of the unchanged job.
  double replay_error_ = 0;
};

}  // namespace tta::replay
