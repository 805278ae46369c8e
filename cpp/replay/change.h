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

// The weights of a model's edges while a change is made to them.

/// Edits that take away, each of one thread or one piece of device work; of rows and
/// threads that the model does not have, they do nothing. Refers to the model.
class WeightEdits {
 public:
  explicit WeightEdits(const Model& model)
      : weights(model.graph.weights()), m_(model) {}

  /// A thread does without its own work in these times (trace's clock), and if
  /// `waits_too` without the waits that lie in them.
  void hide(std::uint32_t lane, const timeline::IntervalSet& set, bool waits_too);
  /// A thread's calls that begin in these times wait for no device work; those of
  /// `pageable` copies only if these are of `gone`, rows in ascending order.
  void drop_waits(std::uint32_t lane, const timeline::IntervalSet& set,
                  const std::set<std::uint32_t>& gone);
  /// As drop_waits, those of copies as well.
  void pin(std::uint32_t lane, const timeline::IntervalSet& set);
  /// Work does without its time in `parts` (trace's clock).
  void shorten(std::uint32_t row, const timeline::IntervalSet& parts);
  /// Work waits for no other stream.
  void untie(std::uint32_t row);
  /// Work takes no time, has no gap before it and no launch.
  void drop(std::uint32_t row);
  /// Work begins where the work before it ends, whenever it was launched. The first of
  /// a stream stays: it would be at the begin of time without its launch.
  void merge(std::uint32_t row);
  /// The work behind one that it overlapped starts no sooner than that one does,
  /// however short it has become.
  void keep_order(std::uint32_t row);

  std::vector<std::int64_t> weights;

 private:
  // A stretch of a thread, from the point before `end`; in the recording.
  struct Stretch {
    PointId end;
    timeline::Interval time;
  };
  void hide(const Stretch& stretch, timeline::Interval part, bool waits_too);
  // Those of a thread that meet `part`.
  std::vector<Stretch> stretches(std::uint32_t lane, timeline::Interval part) const;
  const Task* find(std::uint32_t row) const;
  std::uint32_t edge_into(PointId point, EdgeKind kind) const;
  // Edits all edges of a kind into a point.
  void lessen(PointId point, EdgeKind kind, std::int64_t ns);
  void remove(PointId point, EdgeKind kind);
  // Whether something else than its launch keeps the work in its place.
  bool unlaunch(const Task& task);

  const Model& m_;
};

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
  /// they did is not known to be waiting. A copy from or to pageable memory still waits
  /// if it is made: the driver has no other way to move it (a loop of such copies
  /// without its synchronizations took as long as with them).
  void drop_waits(std::uint32_t lane, timeline::Interval time);
  /// The same, and copies wait no more: their memory is pinned.
  void pin(std::uint32_t lane, timeline::Interval time);
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
      pinned_, shortened_;
  std::set<std::uint32_t> untied_, dropped_, merged_;
};

}  // namespace tta::replay
