// SPDX-License-Identifier: BSD-3-Clause
// replay/ranks.h: the models of several ranks as one, joined where they meet.
//
// A rank alone cannot tell how long a collective took and how long it waited for the
// others: its kernel runs from its own arrival on. Of all ranks together, the last to
// arrive shows the transfer and the others the wait (dPRO, MLSys '22, aligns ranks by
// the same reasoning).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

/// A rank's model, and the args of its trace.
struct RankModel {
  const Model* model;
  const timeline::EventArgs* args;
};

struct JoinedCollective {
  struct Member {
    std::uint32_t rank;  ///< Place in the list of models.
    std::uint32_t task;  ///< Place in its Model::tasks.all.
  };
  std::string name, group;
  std::int64_t sequence;        ///< -1: matched by its place in the order.
  std::vector<Member> members;  ///< By rank.
  /// From the last arrival to the end: the shortest of the recorded kernels.
  std::int64_t transfer;
  PointId joined;  ///< The last arrival.
};

class Ranks {
 public:
  /// Joins models at the collectives that two or more of them have: those of one
  /// process group with the same sequence number, or where a trace has no numbers, at
  /// the same place among the group's collectives of that name. Messages between two
  /// ranks (send, recv) are not joined. Clocks are set by the collectives, as all
  /// members of one end together: by the median over those that two ranks share. O(n
  /// log n). Throws CycleError if ranks contradict each other's order,
  /// std::invalid_argument for no model.
  explicit Ranks(std::span<const RankModel> ranks);

  const Graph& graph() const { return graph_; }
  const std::vector<JoinedCollective>& collectives() const { return collectives_; }
  /// Collectives of the ranks that no other rank has: their lengths are copied.
  std::uint64_t unmatched() const { return unmatched_; }
  /// What is added to a rank's time to be on the common clock, at least 0.
  std::int64_t shift(std::uint32_t rank) const { return shift_[rank]; }
  /// The point of the joined graph that is a model's point.
  PointId point(std::uint32_t rank, PointId point) const {
    return point == kOrigin ? kOrigin : first_[rank] + point - 1;
  }

  /// Returns the weights of the joined graph, given each model's (Graph::weights or
  /// Change::weights of it, by rank). What a change takes off a collective's length is
  /// taken off its transfer.
  std::vector<std::int64_t> weights(
      std::span<const std::vector<std::int64_t>> of_ranks) const;
  /// Returns when each point of a rank's model comes to pass, on its own clock.
  std::vector<std::int64_t> times_of(std::uint32_t rank,
                                     std::span<const std::int64_t> times) const;

 private:
  void match(std::span<const RankModel> ranks);
  void set_clocks(std::span<const RankModel> ranks);
  void join(std::span<const RankModel> ranks);

  std::vector<const Model*> models_;
  std::vector<PointId> first_;
  std::vector<std::int64_t> shift_;
  std::vector<JoinedCollective> collectives_;
  std::uint64_t unmatched_ = 0;
  Graph graph_{1, {}};
};

}  // namespace tta::replay
