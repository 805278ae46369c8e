// SPDX-License-Identifier: BSD-3-Clause
// replay/weight_edits.h: the weights of a model's edges while a change is made to them.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"

namespace tta::replay {

/// Edits that take away, each of one thread or one piece of device work; of rows and
/// threads that the model does not have, they do nothing. Refers to the model.
class WeightEdits {
 public:
  explicit WeightEdits(const Model& model)
      : weights(model.graph.weights()), m_(model) {}

  /// A thread does without its own work in these times (trace's clock), and if
  /// `waits_too` without the waits that lie in them.
  void hide(std::uint32_t lane, const timeline::IntervalSet& set, bool waits_too);
  /// A thread's calls that begin in these times wait for no device work.
  void drop_waits(std::uint32_t lane, const timeline::IntervalSet& set);
  /// Work does without its time in `parts` (trace's clock).
  void shorten(std::uint32_t row, const timeline::IntervalSet& parts);
  /// Work waits for no other stream.
  void untie(std::uint32_t row);
  /// Work takes no time, there is no gap before it, nobody launches it.
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

}  // namespace tta::replay
