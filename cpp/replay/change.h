// SPDX-License-Identifier: BSD-3-Clause
// replay/change.h: what a fix would take away, as edits of a model's weights.
//
// Changes add up as sets: what two of them both take away is gone once, so the gain of
// several findings together is replayed and not added. All of them shorten or drop, so
// no moment ever comes later than before (max-plus: a theorem, and a test).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

class Change {
 public:
  /// The work of a thread in `time` (trace's clock) takes no time: launches captured in
  /// a graph, faster Python. What calls inside wait for, they wait for still.
  void hide(std::uint32_t lane, timeline::Interval time);
  /// What a thread does in `time` is not done: a loader that is ahead, a compilation
  /// done before. Calls wholly inside wait for nothing either, nor does it wait for
  /// another thread whose part ended in that time.
  void skip(std::uint32_t lane, timeline::Interval time);
  /// Calls of a thread that begin in `time` do not wait for the device: they return
  /// when they have done their own part. Those whose length was copied keep it: what
  /// they did is not known to be waiting.
  void drop_waits(std::uint32_t lane, timeline::Interval time);
  /// Device work of this row does without `part` of its time (trace's clock).
  void shorten(std::uint32_t row, timeline::Interval part);
  /// Device work of this row waits for no event of another stream; for room on the
  /// device it waits still. A collective on the host (HostCollective::row) begins as
  /// soon as it is ready and the link is free.
  void untie(std::uint32_t row);
  /// Device work of this row is not done at all, nor launched if its call launched
  /// nothing else.
  void drop(std::uint32_t row);

  /// Kernel of this row becomes part of the work before it on its stream: no launch to
  /// wait for and no gap between. The first of a stream stays as it is.
  void merge(std::uint32_t row);

  /// Takes in all that another change takes away.
  void add(const Change& other);
  bool empty() const;
  /// Rows of work that is not done, ascending, and of the calls that launched no other.
  std::vector<std::uint32_t> left_out(const Model& model) const;

  /// Returns the weights of the model's graph with this change made. O(edges), and a
  /// search for each item.
  std::vector<std::int64_t> weights(const Model& model) const;

 private:
  // Calls, by their places, that launched nothing but what is dropped.
  std::vector<std::uint32_t> needless_calls(const Model& model) const;

  std::map<std::uint32_t, std::vector<timeline::Interval>> hidden_, skipped_, unwaited_,
      shortened_;
  std::set<std::uint32_t> untied_, dropped_, merged_;
};

}  // namespace tta::replay
