// SPDX-License-Identifier: BSD-3-Clause
// lab/write_perturbed.cpp: recorded rows where they came to be, then operations of
// insertions as Kineto's events.
#include "lab/cpp/write_perturbed.h"

#include <algorithm>
#include <optional>

#include "lab/cpp/perturbation_check.h"
#include "trace/args.h"
#include "write/json_text.h"
#include "write/output.h"
#include "write/write_rows.h"

namespace tta::lab {
namespace {

using timeline::Interval;
using trace::Category;
using trace::kNoId;
using write::EventList;
using write::json_string;
using write::microseconds;

std::string member(const char* key, std::int64_t value) {
  return std::string("\"") + key + "\": " + std::to_string(value);
}
void add(std::string& args, const std::string& more) {
  if (more.empty()) return;
  if (!args.empty()) args += ", ";
  args += more;
}

// Of each operation: when what it opens is closed.
std::vector<std::int64_t> ends_of(const Insertion& in, const InsertedTimes& times) {
  std::vector<std::int64_t> out;
  for (const auto& t : times.operations) out.push_back(t.end);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto kind = in.operations[i].kind;
    if (kind == OpKind::kOpen || kind == OpKind::kOpenSpan ||
        kind == OpKind::kOpenFrame) {
      open.push_back(i);
    }
    if (kind != OpKind::kClose) continue;
    out[open.back()] = times.operations[i].end;
    open.pop_back();
  }
  return out;
}

const char* kind_of_row(const DeviceWork& w) {
  return w.kind == TaskKind::kCopy     ? "gpu_memcpy"
         : w.kind == TaskKind::kMemset ? "gpu_memset"
                                       : "kernel";
}

// Writes operators, annotations, frames, calls and device work of insertions, numbered
// on from the recorded ones: correlation and External ids, frames with their parent;
// flows where the trace has flows. Operators have ids only if the trace's have.
class InsertedRows {
 public:
  // Linear in the rows. Refers to the model.
  explicit InsertedRows(const Model& model);
  void write(const Insertion& insertion, const InsertedTimes& times, EventList& list);

 private:
  struct Open {
    std::int64_t external, frame;  // its ids; kNoId if it has none
  };
  void host_row(const Insertion& insertion, std::size_t i, timeline::Interval time,
                EventList& list);
  void call(const Insertion& insertion, std::size_t i, const InsertedTimes& times,
            EventList& list);
  void complete(const char* category, const std::string& name, std::uint32_t lane,
                timeline::Interval time, const std::string& args, EventList& list);
  void flow(char phase, std::int64_t correlation, std::uint32_t lane, std::int64_t when,
            EventList& list) const;
  std::string identity(std::int64_t id) const;
  // The deepest frame of a thread around a moment.
  std::int64_t frame_around(std::uint32_t lane, std::int64_t at) const;
  std::int64_t external_of(const Insertion& insertion) const;

  const Model& m_;
  std::int64_t correlation_ = 0, external_ = trace::kNoId, frame_ = trace::kNoId;
  std::optional<std::string> flow_;  // what flows are called
  std::vector<Open> open_;
};

InsertedRows::InsertedRows(const Model& m) : m_(m) {
  const auto& c = m.timeline->columns();
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    correlation_ = std::max(correlation_, c.correlation[row]);
    external_ = std::max(external_, c.external_id[row]);
    frame_ = std::max(frame_, c.python_id[row]);
    if (!flow_ && c.phase[row] == 's' && c.cat(row) == Category::kAc2g) {
      flow_ = m.timeline->trace->name(row);
    }
  }
}

void InsertedRows::write(const Insertion& in, const InsertedTimes& times,
                         EventList& list) {
  const auto ends = ends_of(in, times);
  open_ = {{external_of(in), frame_around(in.lane, in.at)}};
  for (std::size_t i = 0; i < in.operations.size(); ++i) {
    const auto& op = in.operations[i];
    const Interval time{times.operations[i].begin, ends[i]};
    switch (op.kind) {
      case OpKind::kClose:
        open_.pop_back();
        break;
      case OpKind::kOpen:
      case OpKind::kOpenSpan:
      case OpKind::kOpenFrame:
        host_row(in, i, time, list);
        break;
      case OpKind::kHost:
        if (op.name.empty()) break;
        host_row(in, i, time, list);
        open_.pop_back();
        break;
      default:
        call(in, i, times, list);
    }
  }
}

void InsertedRows::host_row(const Insertion& in, std::size_t i, Interval time,
                            EventList& list) {
  const auto category = in.categories[i];
  auto of = open_.back();
  std::string args;
  if (category == Category::kPythonFunction) {
    if (of.frame != kNoId) add(args, member("Python parent id", of.frame));
    if (frame_ != kNoId) add(args, member("Python id", of.frame = ++frame_));
  } else if (external_ != kNoId) {
    add(args, member("External id", of.external = ++external_));
  }
  open_.push_back(of);
  add(args, in.operations[i].args);
  complete(std::string(info(category).name).c_str(), in.operations[i].name, in.lane,
           time, args, list);
}

void InsertedRows::call(const Insertion& in, std::size_t i, const InsertedTimes& times,
                        EventList& list) {
  const auto& op = in.operations[i];
  const auto correlation = ++correlation_;
  std::string ids;
  if (open_.back().external != kNoId) {
    add(ids, member("External id", open_.back().external));
  }
  add(ids, member("correlation", correlation));
  auto args = ids;
  add(args, op.args);
  complete(std::string(info(in.categories[i]).name).c_str(), op.name, in.lane,
           times.operations[i], args, list);
  if (!op.work.empty()) {
    flow('s', correlation, in.lane, times.operations[i].begin, list);
  }
  for (const auto w : op.work) {
    const auto& item = in.work[w];
    const auto lane = m_.tasks.streams[item.stream];
    const auto& stream = m_.timeline->lanes.lanes[lane];
    args = ids;
    add(args, member("device", stream.number));
    add(args, member("stream", stream.stream));
    if (item.bytes >= 0) add(args, member("bytes", item.bytes));
    add(args, item.args);
    complete(kind_of_row(item), item.name, lane, times.work[w], args, list);
    flow('f', correlation, lane, times.work[w].begin, list);
  }
}

void InsertedRows::complete(const char* category, const std::string& name,
                            std::uint32_t lane, Interval time, const std::string& args,
                            EventList& list) {
  const auto& of = m_.timeline->lanes.lanes[lane];
  list.row('X',
           "\"name\": " + json_string(name) + ", \"cat\": " + json_string(category) +
               ", \"pid\": " + identity(of.pid) + ", \"tid\": " + identity(of.tid) +
               ", \"ts\": " + microseconds(m_.begin + time.begin) + ", \"dur\": " +
               microseconds(time.end - time.begin) + ", \"args\": {" + args + "}");
}

void InsertedRows::flow(char phase, std::int64_t correlation, std::uint32_t lane,
                        std::int64_t when, EventList& list) const {
  if (!flow_) return;
  const auto& of = m_.timeline->lanes.lanes[lane];
  list.row(phase, "\"name\": " + json_string(*flow_) +
                      ", \"cat\": \"ac2g\", \"pid\": " + identity(of.pid) +
                      ", \"tid\": " + identity(of.tid) + ", \"ts\": " +
                      microseconds(m_.begin + when) + ", " + member("id", correlation) +
                      (phase == 'f' ? ", \"bp\": \"e\"" : ""));
}

std::string InsertedRows::identity(std::int64_t id) const {
  const auto text = m_.timeline->trace->identity(id);
  return id < trace::kTextIdentity ? text : json_string(text);
}

std::int64_t InsertedRows::frame_around(std::uint32_t lane, std::int64_t at) const {
  const auto& c = m_.timeline->columns();
  const auto& lanes = m_.timeline->lanes;
  auto out = kNoId;
  for (const auto row : lanes.rows_of(lanes.lanes[lane])) {  // the outer one first
    if (c.ts[row] >= at) break;
    if (c.cat(row) == Category::kPythonFunction && c.end(row) > at) {
      out = c.python_id[row];
    }
  }
  return out;
}

std::int64_t InsertedRows::external_of(const Insertion& in) const {
  if (in.stands_for == timeline::kNoRow) return kNoId;
  return m_.timeline->columns().external_id[in.stands_for];
}

void write_header(const trace::Trace& trace, const std::string& note,
                  std::span<const std::string> metadata, std::ostream& out) {
  out << "{";
  for (const auto& [key, json] : trace.metadata) {
    if (key == "torchtraceap") continue;
    if (std::find(metadata.begin(), metadata.end(), key) == metadata.end()) continue;
    out << json_string(key) << ": " << json << ",\n";
  }
  out << "\"torchtraceap\": {\"what_if\": " << json_string(note);
  trace::for_each_member(trace.metadata_json("torchtraceap"),
                         [&](auto key, auto value) {
                           if (key == "what_if" || key == "of") return;
                           out << ", \"" << key << "\": " << value;
                         });
  out << "},\n\"traceEvents\": [";
}

}  // namespace

void write_perturbed(const Model& model, const Perturbation& perturbation,
                     const Perturbed& schedule, const std::string& note,
                     std::span<const std::string> metadata, std::ostream& out,
                     const Checkpoint& checkpoint) {
  check_perturbation(model, perturbation);
  check_schedule(model, perturbation, schedule);
  const write::FailingStream fails(out);
  const auto& trace = *model.timeline->trace;
  write_header(trace, note, metadata, out);
  const auto inserted = inserted_times(model, perturbation, schedule);
  const replay::TimeMaps maps(model, schedule.times, inserted);
  const write::LeftOut gone(trace, schedule.left_out);
  EventList list(out);
  write::write_rows(
      trace, list, [&](std::uint32_t row) { return maps.of(row); },
      [&](std::uint32_t row) { return gone.has(row); }, checkpoint);
  InsertedRows rows(model);
  for (std::size_t i = 0; i < perturbation.insertions.size(); ++i) {
    rows.write(perturbation.insertions[i], schedule.inserted[i], list);
  }
  out << "\n]}\n";
}

}  // namespace tta::lab
