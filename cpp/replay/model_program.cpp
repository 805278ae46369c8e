// SPDX-License-Identifier: BSD-3-Clause
// replay/model_program.cpp: threads and their calls.
#include "replay/model_program.h"

#include <algorithm>
#include <stdexcept>

#include "replay/model_reader.h"

namespace tta::replay {

void ModelReader::add_work() {
  launched_.resize(m_.calls.all.size());
  std::vector<std::uint32_t> before;
  for (std::uint32_t s = 0; s < m_.tasks.streams.size(); ++s) {
    const auto& lane = m_.timeline->lanes.lanes[m_.tasks.streams[s]];
    p_.streams.push_back({0, lane.device, lane.stream});
    all_launched_.push_back(true);
    auto* list = &before;
    for (auto i = m_.tasks.first[s]; i < m_.tasks.first[s + 1]; ++i) {
      const auto& task = m_.tasks.all[i];
      if (task.call != kNone)
        list = &launched_[task.call];
      else
        all_launched_.back() = false;
      list->push_back(i);
      p_.work.push_back(work(task));
    }
  }
  if (before.empty()) return;
  const auto thread = p_.add_thread(-1, "before the trace");
  Operation op{OpKind::kCall, 0, "queued before the trace"};
  op.work = std::move(before);
  p_.threads[thread].operations.push_back(std::move(op));
}

DeviceWork ModelReader::work(const Task& task) const {
  const auto& of = args_.work(task.row);
  DeviceWork w;
  w.name = m_.timeline->trace->name(task.row);
  w.kind = task.kind;
  w.stream = task.stream;
  w.copy = task.copy;
  w.blocks_per_sm = of.blocks_per_sm;
  w.bytes = of.bytes;
  w.held = !m_.timeline->is_communication(task.row);
  w.follows = true;
  each_into(task.end_point, [&](const Edge& e) {
    if (e.kind == EdgeKind::kWork) w.ns = e.weight;
  });
  w.held = w.held && w.ns > 0;  // what is left out needs no room
  each_into(task.start_point, [&](const Edge& e) {
    if (e.kind == EdgeKind::kFifo) w.gap = e.weight;
    if (e.kind == EdgeKind::kAnchor) w.not_before = e.weight;
    if (e.kind == EdgeKind::kStreamWait) {
      w.after.push_back({task_of_end_[e.from], e.weight, false});
    }
    if (e.kind == EdgeKind::kContention) {
      const auto cause = task_of_end_[e.from];
      const auto blocks = args_.work(m_.tasks.all[cause].row).blocks_per_sm;
      const bool by_rule = options_.contention && blocks >= p_.contention.full &&
                           task.kind == TaskKind::kKernel && w.held;
      if (!by_rule) w.after.push_back({cause, e.weight, true});
    }
    if (e.kind == EdgeKind::kLaunch) {
      w.follows = false;
      w.latency = e.weight;
      w.from_end = e.from == m_.calls.all[task.call].end_point;
    }
  });
  return w;
}

void ModelReader::add_signals() {
  const auto& edges = m_.graph.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    auto e = edges[i];
    if (e.kind != EdgeKind::kHandOver && e.kind != EdgeKind::kBatch) continue;
    if (!options_.weights.empty()) e.weight = options_.weights[i];
    if (e.weight == kAbsent) continue;
    auto from = e.from;
    auto latency = e.weight;
    each_into(from, [&](const Edge& inner) {
      if (inner.kind != EdgeKind::kThink) return;
      const auto& p = m_.points[inner.from];
      const auto& lane = m_.sequences[p.lane];
      const bool hangs = p.kind == PointKind::kCallBegin && !in(lane, e.from);
      if (!hangs) return;
      from = inner.from;
      latency += inner.weight;
    });
    const auto [it, is_new] = given_.try_emplace(from, p_.signals);
    if (is_new) p_.add_signal();
    awaited_[e.to] = {it->second, latency};
  }
}
bool ModelReader::in(const std::vector<PointId>& sequence, PointId p) const {
  const auto it = std::lower_bound(sequence.begin(), sequence.end(), p);
  return it != sequence.end() && *it == p;
}

ModelReader::ModelReader(const Model& m, const timeline::EventArgs& args,
                         const ModelProgramOptions& options)
    : m_(m), args_(args), options_(options) {
  p_.constants = m.calibration.constants();
  if (m.queue_places > 0) p_.constants.queue_places = m.queue_places;
  if (!options.contention) p_.contention.full = 0;
  if (!options.weights.empty() && options.weights.size() != m.graph.edges().size()) {
    throw std::invalid_argument("weights of another model");
  }
  places_.resize(m.points.size());
  call_of_end_.assign(m.points.size(), kNone);
  task_of_end_.assign(m.points.size(), kNone);
  for (std::uint32_t i = 0; i < m.calls.all.size(); ++i) {
    call_of_end_[m.calls.all[i].end_point] = i;
  }
  for (std::uint32_t i = 0; i < m.tasks.all.size(); ++i) {
    task_of_end_[m.tasks.all[i].end_point] = i;
  }
  wait_of_.assign(m.calls.all.size(), nullptr);
  for (const auto& w : m.sync_calls) wait_of_[w.call] = &w;
  for (std::size_t i = 1; i < m.calls.threads.size(); ++i) {
    one_process_ = one_process_ && pid(m.calls.threads[i]) == pid(m.calls.threads[0]);
  }
}

Program ModelReader::run() {
  add_work();
  add_signals();
  thread_begin_.assign(p_.threads.size(), 0);
  for (std::uint32_t lane = 0; lane < m_.sequences.size(); ++lane) {
    if (!m_.sequences[lane].empty()) add_thread(lane);
  }
  return std::move(p_);
}

void ModelReader::add_thread(std::uint32_t lane) {
  const auto& s = m_.sequences[lane];
  const auto id =
      p_.add_thread(m_.timeline->lanes.lanes[lane].tid, "lane " + std::to_string(lane));
  auto& thread = p_.threads[id];
  // A step may begin before the first call, and programs begin at 0.
  std::int64_t begin = 0, early = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto last = [&] {
      return static_cast<std::uint32_t>(thread.operations.size()) - 1;
    };
    if (call_of_end_[s[i]] != kNone) {  // its begin was the one before
      places_[s[i]] = {id, last(), true};
      continue;
    }
    std::int64_t think = 0;
    each_into(s[i], [&](const Edge& e) {
      if (e.kind == EdgeKind::kAnchor) {
        begin = e.weight;
        thread.begin = std::max<std::int64_t>(0, begin);
        early = thread.begin - begin;
      }
      if (e.kind == EdgeKind::kThink) think = e.weight;
    });
    const auto passed = std::min(early, think);
    think -= passed;
    early -= passed;
    think -= insert_before(id, lane, i, think);
    if (think > 0) thread.operations.push_back({OpKind::kHost, think, ""});
    if (const auto it = awaited_.find(s[i]); it != awaited_.end()) {
      p_.wait(id, it->second.first, it->second.second);
    }
    if (const auto it = given_.find(s[i]); it != given_.end()) {
      p_.signal(id, it->second);
    }
    places_[s[i]] = {id, last(), true};
    if (m_.points[s[i]].kind == PointKind::kCallBegin && i + 1 < s.size()) {
      thread.operations.push_back(operation(call_of_end_[s[i + 1]]));
    }
  }
  thread_begin_.push_back(begin);
}

std::vector<std::int64_t> ModelReader::times(const Schedule& schedule) const {
  std::vector<std::int64_t> out(m_.points.size(), kAbsent);
  for (std::size_t i = 0; i < m_.tasks.all.size(); ++i) {
    out[m_.tasks.all[i].start_point] = schedule.work[i].begin;
    out[m_.tasks.all[i].end_point] = schedule.work[i].end;
  }
  out[kOrigin] = 0;
  // Where another thread's part depends on no point of its own: same distance as
  // recorded.
  for (const auto p : m_.graph.order()) {
    if (out[p] != kAbsent) continue;
    const auto& at = places_[p];
    if (at.thread == kNone) {
      out[p] = 0;
      each_into(
          p, [&](const Edge& e) { out[p] = std::max(out[p], out[e.from] + e.weight); });
    } else if (at.operation == kNone) {
      out[p] = thread_begin_[at.thread];
    } else {
      const auto& time = schedule.operations[at.thread][at.operation];
      out[p] = at.at_end ? time.end : time.begin;
    }
  }
  return out;
}

Operation ModelReader::operation(std::uint32_t id) {
  const auto& call = m_.calls.all[id];
  Operation op{OpKind::kCall, 0, std::string(m_.timeline->trace->name(call.row))};
  op.work = std::move(launched_[id]);
  each_into(call.end_point, [&](const Edge& e) {
    if (e.kind == EdgeKind::kCall || e.kind == EdgeKind::kWaitCost) op.ns = e.weight;
    if (e.kind != EdgeKind::kSync) return;
    op.back = e.weight;
    op.until.push_back({task_of_end_[e.from], e.weight, false});
  });
  name_wait(id, op);
  return op;
}

void ModelReader::name_wait(std::uint32_t id, Operation& op) const {
  const auto& call = m_.calls.all[id];
  const auto* wait = wait_of_[id];
  if (wait == nullptr || op.until.size() < wait->targets.size() || op.until.empty() ||
      wait->copied || wait->contradicted || wait->provenance == Provenance::kInferred ||
      wait->copy != kNone || !one_process_) {
    return;
  }
  const bool sound = std::all_of(op.until.begin(), op.until.end(), [&](auto& a) {
    return all_launched_[m_.tasks.all[a.work].stream];
  });
  if (!sound) return;
  if (call.kind == CallKind::kStreamSync) op.kind = OpKind::kStreamSync;
  if (call.kind == CallKind::kDeviceSync) op.kind = OpKind::kDeviceSync;
  if (op.kind == OpKind::kCall) return;
  op.stream = m_.tasks.all[op.until.front().work].stream;
  op.until.clear();
}

Program program_of(const Model& model, const timeline::EventArgs& args,
                   const ModelProgramOptions& options) {
  return ModelReader(model, args, options).run();
}

std::vector<std::int64_t> schedule_by_events(const Model& model,
                                             const timeline::EventArgs& args,
                                             const ModelProgramOptions& options) {
  ModelReader reader(model, args, options);
  return reader.times(schedule(reader.run(), options.checkpoint));
}

}  // namespace tta::replay
