// SPDX-License-Identifier: BSD-3-Clause
// replay/model.cpp: what a trace has, then the edges between, rule by rule.
#include "replay/model.h"

#include <algorithm>

#include "replay/draft.h"

namespace tta::replay {

std::vector<std::int64_t> Model::recorded() const {
  std::vector<std::int64_t> out;
  out.reserve(points.size());
  for (const auto& p : points) out.push_back(p.recorded);
  return out;
}

std::uint32_t Model::pageable_copy_of(std::uint32_t call) const {
  const auto it = std::ranges::lower_bound(sync_calls, call, {}, &SyncCall::call);
  if (it == sync_calls.end() || it->call != call || it->copy == kNone) return kNone;
  const auto kind = tasks.all[it->copy].copy;
  const bool pageable = kind != CopyKind::kNotToHost && kind != CopyKind::kFromPinned;
  return pageable ? it->copy : kNone;
}

std::vector<std::int64_t> Model::weights_by_rules(KindSet without) const {
  auto out = graph.weights(without);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& e = graph.edges()[i];
    if (e.delayed && out[i] != kAbsent) out[i] -= late[e.to];
  }
  return out;
}

std::vector<std::int64_t> residuals(const std::vector<Point>& points,
                                    const std::vector<Edge>& edges) {
  std::vector<std::int64_t> out(points.size(), kAbsent);
  for (const auto& e : edges) {
    out[e.to] = std::max(out[e.to], points[e.from].recorded + e.weight);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] == kAbsent ? 0 : points[i].recorded - out[i];
  }
  return out;
}

Model make_model(const timeline::Timeline& t, const timeline::EventArgs& args,
                 const ModelOptions& options) {
  Model m;
  m.timeline = &t;
  m.begin = t.span.begin;
  m.calls = find_calls(t);
  m.tasks = find_tasks(t, args, m.calls);
  const auto constants = options.constants.value_or(constants_of(t, m.calls));
  const auto sync_rows = find_sync_rows(t, m.calls, m.tasks);
  m.sync_calls = find_sync_calls(t, constants, m.calls, m.tasks, sync_rows);
  m.calibration = options.calibrate ? Calibration(t, constants, m.calls, m.tasks,
                                                  m.sync_calls, options.keep_anomalies)
                                    : Calibration(constants);
  Draft d{m, args, options, Issued(t, m.calls, m.tasks), sync_rows, {}};
  d.add_point(PointKind::kOrigin, timeline::kNoLane, timeline::kNoRow, m.begin);
  for (const auto add : {add_threads, add_tasks, add_waits, add_queue, add_stream_waits,
                         add_anchors, add_anomalies, add_late_anchors}) {
    options.checkpoint();
    if (add != add_anomalies || options.keep_anomalies) add(d);
  }
  options.checkpoint();
  m.late.assign(m.points.size(), 0);
  if (options.keep_anomalies) keep_delays(d);
  m.graph = Graph(m.points.size(), std::move(d.edges));
  return m;
}

}  // namespace tta::replay
