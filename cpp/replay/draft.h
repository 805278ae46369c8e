// SPDX-License-Identifier: BSD-3-Clause
// replay/draft.h: a model while its edges are being found.
#pragma once

#include <algorithm>
#include <vector>

#include "replay/issued.h"
#include "replay/model.h"
#include "replay/sync_rows.h"

namespace tta::replay {

struct Draft {
  Model& model;
  const timeline::EventArgs& args;
  const ModelOptions& options;
  Issued issued;
  const std::vector<SyncRow>& sync_rows;
  std::vector<Edge> edges;

  const timeline::Timeline& timeline() const { return *model.timeline; }
  const Constants& constants() const { return model.calibration.constants(); }

  /// Adds a moment, `when` on the trace's clock.
  PointId add_point(PointKind kind, std::uint32_t lane, std::uint32_t row,
                    std::int64_t when) {
    model.points.push_back({kind, lane, row, when - model.begin});
    return static_cast<PointId>(model.points.size() - 1);
  }
  void add(PointId from, PointId to, std::int64_t weight, EdgeKind kind,
           Provenance provenance = Provenance::kRecorded) {
    edges.push_back({from, to, weight, kind, provenance, info(kind).source});
  }
  /// Adds an edge by a rule's length, or by the recorded one where that is less: then
  /// its length is copied.
  void add_least(PointId from, PointId to, std::int64_t by_rule, std::int64_t recorded,
                 EdgeKind kind, Provenance provenance = Provenance::kRecorded) {
    add(from, to, std::min(by_rule, recorded), kind, provenance);
    if (recorded < by_rule) edges.back().source = Source::kCopied;
  }
  /// Adds an edge of the recorded length, where no constant fits.
  void add_copied(PointId from, PointId to, EdgeKind kind) {
    add(from, to, apart(from, to), kind);
    edges.back().source = Source::kCopied;
  }
  /// Adds that work began when it did by another's end, whatever makes it wait.
  void add_contention(const Task& cause, const Task& late) {
    add(cause.end_point, late.start_point, late.begin - cause.end,
        EdgeKind::kContention, Provenance::kInferred);
  }
  std::int64_t recorded(PointId p) const { return model.points[p].recorded; }
  /// The length between two points as recorded.
  std::int64_t apart(PointId from, PointId to) const {
    return recorded(to) - recorded(from);
  }
};

// Each adds the points or edges of its name.
void add_threads(Draft& draft);       ///< Calls, steps, transfers, in order.
void add_tasks(Draft& draft);         ///< Device work, its order on streams, launches.
void add_anchors(Draft& draft);       ///< Work held up by what the trace lacks.
void add_waits(Draft& draft);         ///< What calls waited for.
void add_queue(Draft& draft);         ///< Places in the launch queue.
void add_stream_waits(Draft& draft);  ///< Work that waits for another stream.
void add_anomalies(Draft& draft);     ///< Late starts that no rule above explains.
void add_late_anchors(Draft& draft);  ///< Late starts of work from before the trace.
void keep_delays(Draft& draft);       ///< What is late after all of these stays late.

/// Returns how much later than the edges allow each point was recorded, where those
/// before it are taken as recorded; 0 for points without edges. Negative: an edge is
/// contradicted. Linear.
std::vector<std::int64_t> residuals(const std::vector<Point>& points,
                                    const std::vector<Edge>& edges);

}  // namespace tta::replay
