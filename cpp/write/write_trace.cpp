// SPDX-License-Identifier: BSD-3-Clause
// write/write_trace.cpp: a scheduled program, as Kineto would have recorded it.
#include "write/write_trace.h"

#include <algorithm>

#include "write/json_text.h"
#include "write/output.h"

namespace tta::write {
namespace {

using replay::Checkpoint;
using replay::DeviceWork;
using replay::HostThread;
using replay::kNone;
using replay::Operation;
using replay::OpKind;
using replay::Program;
using replay::Schedule;
using replay::TaskKind;
using timeline::Interval;

std::string number(std::int64_t n) { return std::to_string(n); }

const char* category_of(const DeviceWork& w) {
  return w.kind == TaskKind::kCopy     ? "gpu_memcpy"
         : w.kind == TaskKind::kMemset ? "gpu_memset"
                                       : "kernel";
}

class Writer {
 public:
  Writer(const Program& p, const Schedule& s, std::ostream& out, std::uint32_t rank)
      : p_(p), s_(s), out_(out), list_(out), rank_(rank), pid_(number(100 + rank)) {}

  void run(const std::string& note, const Checkpoint& checkpoint) {
    header(note);
    names();
    for (std::size_t t = 0; t < p_.threads.size(); ++t) {
      if (p_.threads[t].rank == rank_)
        thread(p_.threads[t], s_.operations[t], checkpoint);
    }
    out_ << "\n]}\n";
  }

 private:
  void header(const std::string& note) {
    out_ << "{\"schemaVersion\": 1,\n\"torchtraceap\": {\"simulated\": true, \"rank\": "
         << rank_ << (note.empty() ? "" : ", ") << note
         << "},\n\"deviceProperties\": [";
    for (std::size_t i = 0; i < p_.devices.size(); ++i) {
      const auto& d = p_.devices[i];
      out_ << (i == 0 ? "" : ", ") << "{\"id\": " << d.id
           << ", \"name\": " << json_string(d.name)
           << ", \"totalGlobalMem\": " << d.memory
           << ", \"computeMajor\": " << d.compute_major
           << ", \"computeMinor\": " << d.compute_minor
           << ", \"numSms\": " << d.multiprocessors << (d.args.empty() ? "" : ", ")
           << d.args << "}";
    }
    out_ << "],\n";
    std::uint32_t ranks = 0;
    for (const auto& t : p_.threads) ranks = std::max(ranks, t.rank + 1);
    if (ranks > 1) {
      out_ << "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " << rank_
           << ", \"world_size\": " << ranks << "},\n";
    }
    out_ << "\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [";
  }

  void name(const char* what, const std::string& pid, std::int64_t tid,
            const std::string& text) {
    const auto key = std::string(what) == "process_labels" ? "labels" : "name";
    list_.row('M', "\"name\": " + json_string(what) + ", \"ts\": 0.000, \"pid\": " +
                       pid + ", \"tid\": " + number(tid) + ", \"args\": {\"" + key +
                       "\": " + json_string(text) + "}");
  }
  void names() {
    name("process_name", pid_, 0, "python");
    name("process_labels", pid_, 0, "CPU");
    for (const auto& t : p_.threads) {
      if (t.rank == rank_) name("thread_name", pid_, t.tid, "thread " + t.name);
    }
    for (const auto& s : p_.streams) {
      if (s.rank != rank_) continue;
      name("process_name", number(s.device), 0, "python");
      name("process_labels", number(s.device), 0, "GPU " + number(s.device));
      name("thread_name", number(s.device), s.number, "stream " + number(s.number));
    }
  }

  std::int64_t tick(std::int64_t when) const { return when - when % p_.resolution_ns; }

  void complete(const char* category, const std::string& text, const std::string& pid,
                std::int64_t tid, Interval time, const std::string& args) {
    list_.row('X', "\"cat\": " + json_string(category) +
                       ", \"name\": " + json_string(text) + ", \"pid\": " + pid +
                       ", \"tid\": " + number(tid) +
                       ", \"ts\": " + microseconds(tick(time.begin)) +
                       ", \"dur\": " + microseconds(tick(time.end) - tick(time.begin)) +
                       ", \"args\": {" + args + "}");
  }

  static constexpr std::size_t kOperationsBetween = 1 << 12;

  static bool opens(OpKind kind) {
    return kind == OpKind::kOpen || kind == OpKind::kOpenSpan ||
           kind == OpKind::kOpenFrame;
  }

  // Of each operation that opens something: when that is closed, if at all.
  static std::vector<std::int64_t> ends_of(const HostThread& t,
                                           const std::vector<Interval>& times) {
    std::vector<std::int64_t> out(times.size(), times.empty() ? 0 : times.back().end);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto kind = t.operations[i].kind;
      if (opens(kind)) open.push_back(i);
      if (kind != OpKind::kClose) continue;
      out[open.back()] = times[i].end;
      open.pop_back();
    }
    return out;
  }

  // Rows come in the order in which they begin, the outer one first: that is how
  // readers tell which of two that begin and end together is inside.
  void thread(const HostThread& t, const std::vector<Interval>& times,
              const Checkpoint& checkpoint) {
    const auto ends = ends_of(t, times);
    // External ids; 0 of annotations, below 0 of frames.
    std::vector<std::int64_t> open, frames;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (i % kOperationsBetween == 0) checkpoint();
      const auto& op = t.operations[i];
      switch (op.kind) {
        case OpKind::kOpen:
          open.push_back(host_row("cpu_op", t, op, {times[i].begin, ends[i]}));
          break;
        case OpKind::kOpenSpan:
          host_row("user_annotation", t, op, {times[i].begin, ends[i]});
          open.push_back(0);
          break;
        case OpKind::kOpenFrame:
          frame(t, op, {times[i].begin, ends[i]}, frames);
          open.push_back(-frames_);
          frames.push_back(frames_);
          break;
        case OpKind::kClose:
          if (open.back() < 0) frames.pop_back();
          open.pop_back();
          break;
        case OpKind::kHost:
          if (!op.name.empty()) host_row("cpu_op", t, op, times[i]);
          break;
        case OpKind::kSignal:
        case OpKind::kWait:
          break;
        default:
          call(t, op, times[i], enclosing(open));
      }
    }
  }
  static std::int64_t enclosing(const std::vector<std::int64_t>& open) {
    const auto it =
        std::find_if(open.rbegin(), open.rend(), [](auto id) { return id > 0; });
    return it == open.rend() ? 0 : *it;
  }
  // Returns its External id.
  std::int64_t host_row(const char* category, const HostThread& t, const Operation& op,
                        Interval time) {
    complete(category, op.name, pid_, t.tid, time,
             "\"External id\": " + number(++external_) + (op.args.empty() ? "" : ", ") +
                 op.args);
    return external_;
  }

  // Numbered in the order of their begin, as Kineto numbers them; a thread's outermost
  // has no parent.
  void frame(const HostThread& t, const Operation& op, Interval time,
             const std::vector<std::int64_t>& around) {
    const auto parent = around.empty() ? "null" : number(around.back());
    complete("python_function", op.name, pid_, t.tid, time,
             "\"Python parent id\": " + parent + ", \"Python id\": " +
                 number(++frames_) + (op.args.empty() ? "" : ", ") + op.args);
  }

  void call(const HostThread& t, const Operation& op, Interval time,
            std::int64_t external) {
    const auto correlation = number(++correlation_);
    const auto ids =
        (external > 0 ? "\"External id\": " + number(external) + ", " : "") +
        "\"correlation\": " + correlation;
    complete("cuda_runtime", op.name, pid_, t.tid, time,
             ids + (op.args.empty() ? "" : ", ") + op.args);
    const auto flow = ", \"cat\": \"ac2g\", \"name\": \"ac2g\"";
    if (!op.work.empty()) {
      list_.row('s', "\"id\": " + correlation + ", \"pid\": " + pid_ +
                         ", \"tid\": " + number(t.tid) +
                         ", \"ts\": " + microseconds(tick(time.begin)) + flow);
    }
    for (const auto w : op.work) {
      const auto& item = p_.work[w];
      const auto& s = p_.streams[item.stream];
      complete(category_of(item), item.name, number(s.device), s.number, s_.work[w],
               ids + work_args(item));
      list_.row('f', "\"id\": " + correlation + ", \"pid\": " + number(s.device) +
                         ", \"tid\": " + number(s.number) +
                         ", \"ts\": " + microseconds(tick(s_.work[w].begin)) + flow +
                         ", \"bp\": \"e\"");
    }
  }
  std::string work_args(const DeviceWork& item) const {
    const auto& s = p_.streams[item.stream];
    auto out = ", \"device\": " + number(s.device) +
               ", \"stream\": " + number(s.number) + ", \"context\": 1";
    if (item.bytes >= 0) out += ", \"bytes\": " + number(item.bytes);
    if (item.blocks_per_sm >= 0) {
      out += ", \"blocks per SM\": " + std::to_string(item.blocks_per_sm);
    }
    if (item.collective != kNone) {
      const auto& c = p_.collectives[item.collective];
      out += ", \"Collective name\": " + json_string(c.name) +
             ", \"Process Group Name\": " + json_string(c.group) +
             ", \"Group size\": " + number(c.members);
      if (c.sequence >= 0) out += ", \"Seq\": " + number(c.sequence);
    }
    return out + (item.args.empty() ? "" : ", ") + item.args;
  }

  const Program& p_;
  const Schedule& s_;
  std::ostream& out_;
  EventList list_;
  std::uint32_t rank_;
  std::string pid_;
  std::int64_t external_ = 0, correlation_ = 0, frames_ = 0;
};

}  // namespace

void write_program(const Program& program, const Schedule& schedule, std::ostream& out,
                   std::uint32_t rank, const std::string& note,
                   const Checkpoint& checkpoint) {
  const FailingStream fails(out);
  Writer(program, schedule, out, rank).run(note, checkpoint);
}

void write_program(const Program& program, const Schedule& schedule,
                   const std::string& path, std::uint32_t rank) {
  write_file(path,
             [&](std::ostream& out) { write_program(program, schedule, out, rank); });
}

}  // namespace tta::write
