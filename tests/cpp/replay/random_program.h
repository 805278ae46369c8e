// SPDX-License-Identifier: BSD-3-Clause
// replay/random_program.h: programs of all shapes, the fixes that apply to them, and
// the same fixes as a change of the model of the trace that they write.
#pragma once

#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "replay/change.h"
#include "replay/scheduler.h"
#include "write/write_trace.h"

namespace tta::replay::test {

/// What a program is like, drawn once for it: which limit binds differs.
struct Shape {
  std::int64_t steps, operators, think, kernel;
  int streams = 1;        ///< With a second one: events and big kernels on it.
  int syncs = 0;          ///< Per cent of operators that are followed by one.
  int copies = 0;         ///< Per cent of operators that are copies.
  int loads = 0;          ///< Per cent of operators after a slow host operation.
  bool backward = false;  ///< Half of a step is on another thread.
  bool full_queue = false;
  bool big = false;  ///< Kernels that fill the device, on the second stream.
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    shape_.steps = below(3) + 2;
    shape_.operators = below(80) + 20;
    shape_.think = 2'000 + below(20'000);
    shape_.kernel = below(3) == 0 ? 4'000 : 10'000 + below(60'000);
    shape_.streams = below(2) == 0 ? 1 : 2;
    shape_.syncs = below(2) == 0 ? 0 : static_cast<int>(below(12));
    shape_.copies = below(3) == 0 ? 0 : static_cast<int>(below(20));
    shape_.loads = static_cast<int>(below(6));
    shape_.backward = below(3) == 0;
    shape_.full_queue = seed % 16 == 15;
    shape_.big = shape_.streams == 2 && below(2) == 0;
    if (shape_.full_queue) {
      shape_.steps = 1;
      shape_.operators = 1'600;
      shape_.think = 2'000;
      shape_.kernel = 60'000;
      shape_.syncs = shape_.copies = shape_.loads = 0;
      shape_.backward = false;
    }
    make();
  }

  Program program;
  const Shape& shape() const { return shape_; }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  // Within a third of the mean.
  std::int64_t about(std::int64_t mean) { return mean * 2 / 3 + below(mean * 2 / 3); }

  void make() {
    main_ = program.add_thread(1, "main");
    compute_ = program.add_stream(7);
    side_ = program.add_stream(20);
    program.host(main_, 1'000, "first");
    for (std::int64_t step = 0; step < shape_.steps; ++step) {
      program.open_span(main_, "ProfilerStep#" + std::to_string(step));
      const auto half = shape_.backward ? shape_.operators / 2 : shape_.operators;
      for (std::int64_t i = 0; i < half; ++i) one(main_);
      if (shape_.backward) backward(half);
      if (chance(30)) sync(main_);
      program.close(main_);
    }
    program.host(main_, 1'000, "last");
  }

  void backward(std::int64_t count) {
    if (other_ == kNone) other_ = program.add_thread(2, "backward");
    const auto go = program.add_signal(), done = program.add_signal();
    program.signal(main_, go);
    program.wait(other_, go, 40'000 + below(100'000));
    for (std::int64_t i = 0; i < count; ++i) one(other_);
    program.signal(other_, done);
    program.wait(main_, done, 40'000 + below(100'000));
  }

  void one(std::uint32_t thread) {
    if (chance(shape_.loads)) program.host(thread, about(400'000), "load");
    program.host(thread, about(shape_.think), "");
    if (chance(shape_.copies)) return copy(thread);
    const auto kind = below(5);
    program.open(thread, "aten::op" + std::to_string(kind));
    program.host(thread, about(shape_.think / 2), "");
    if (shape_.streams == 2 && chance(15)) {
      aside(thread);
    } else {
      launch(thread, kernel(compute_, shape_.kernel, kind));
    }
    program.close(thread);
    if (chance(shape_.syncs)) sync(thread);
  }

  DeviceWork kernel(std::uint32_t stream, std::int64_t mean, std::int64_t kind) {
    DeviceWork w{"kernel" + std::to_string(kind), TaskKind::kKernel, stream,
                 about(mean)};
    w.blocks_per_sm = 4;
    return w;
  }
  std::uint32_t launch(std::uint32_t thread, DeviceWork w) {
    w.latency = 7'000 + below(2'000);
    w.gap = 800 + below(800);
    const auto place = program.launch(thread, std::move(w), 4'000 + below(2'000));
    for (auto& a : program.threads[thread].operations.back().until) a.ns = back();
    return place;
  }
  std::int64_t back() { return 7'000 + below(3'000); }

  // Work on the second stream between two events.
  void aside(std::uint32_t thread) {
    const auto in = program.add_event(), out = program.add_event();
    program.record_event(thread, compute_, in, 1'500);
    program.stream_wait(thread, side_, in, 1'500);
    auto w = kernel(side_, shape_.kernel * 2, 8);
    if (shape_.big) {
      w.name = "big_kernel";
      w.blocks_per_sm = 128;
      w.ns = about(200'000);
    }
    launch(thread, std::move(w));
    if (!chance(50)) return;
    program.record_event(thread, side_, out, 1'500);
    launch(thread, kernel(compute_, shape_.kernel, 9));
    program.stream_wait(thread, compute_, out, 1'500);
    launch(thread, kernel(compute_, shape_.kernel, 9));
  }

  void copy(std::uint32_t thread) {
    DeviceWork w{"", TaskKind::kCopy, compute_, 0};
    const auto which = below(4);
    const auto is = [&](const char* name, CopyKind kind, std::int64_t bytes) {
      w.name = name;
      w.copy = kind;
      w.bytes = bytes;
      w.ns = 1'500 + bytes / 12;  // 12 GB/s
    };
    if (which == 0)
      is("Memcpy HtoD (Pageable -> Device)", CopyKind::kUpPageable, 4'096);
    if (which == 1) {
      is("Memcpy HtoD (Pageable -> Device)", CopyKind::kUpPageableLarge,
         200'000 + below(2'000'000));
    }
    if (which == 2) is("Memcpy DtoH (Device -> Pageable)", CopyKind::kDownPageable, 4);
    if (which == 3) {
      is("Memcpy HtoD (Pinned -> Device)", CopyKind::kFromPinned, 1'000'000);
    }
    launch(thread, std::move(w));
  }

  void sync(std::uint32_t thread) {
    const auto which = below(3);
    if (which == 0) program.stream_sync(thread, compute_);
    if (which == 1) program.device_sync(thread, compute_);
    if (which == 2) {
      const auto event = program.add_event();
      program.record_event(thread, compute_, event, 1'500);
      program.event_sync(thread, event);
    }
    program.threads[thread].operations.back().back = back();
  }

  std::mt19937_64 random_;
  Shape shape_;
  std::uint32_t main_ = 0, other_ = kNone, compute_ = 0, side_ = 0;
};

/// The place of an operation.
struct Place {
  std::uint32_t thread;
  std::size_t operation;
};

/// A fix: what it does to an operation of a program, and what it is for a model.
enum class Fix { kDropSyncs, kPinCopies, kHideLoads, kShorten, kDropKernels, kUntie };
inline constexpr Fix kFixes[] = {Fix::kDropSyncs, Fix::kPinCopies,   Fix::kHideLoads,
                                 Fix::kShorten,   Fix::kDropKernels, Fix::kUntie};
inline constexpr const char* kFixNames[] = {"drop_syncs", "pin_copies",   "hide_loads",
                                            "shorten",    "drop_kernels", "untie"};

/// A trace written by a program, loaded and modelled. `calls` finds the rows of the
/// program's calls: correlation ids count them.
struct Recorded {
  explicit Recorded(const Program& program, const ModelOptions& options = {})
      : times(schedule(program)),
        trace(load(program, times)),
        timeline(timeline::make_timeline(trace)),
        args(timeline),
        model(make_model(timeline, args, options)) {}

  static trace::Trace load(const Program& program, const Schedule& times) {
    std::ostringstream out;
    write::write_program(program, times, out);
    return trace::load_bytes(std::move(out).str());
  }

  Schedule times;
  trace::Trace trace;
  timeline::Timeline timeline;
  timeline::EventArgs args;
  Model model;
};

inline bool is_call(const Operation& op) {
  return op.kind >= OpKind::kCall && op.kind <= OpKind::kDeviceSync;
}

/// Applies a fix to a copy of the program and, as the same, to a change.
inline Program apply(Fix fix, const Program& program, const Recorded& recorded,
                     Change& change) {
  Program out = program;
  const auto& c = recorded.timeline.columns();
  std::vector<std::uint32_t> call_row, work_row;
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.phase[row] != 'X' || c.correlation[row] < 1) continue;
    auto& of = c.cat_info(row).runtime_api ? call_row : work_row;
    const auto id = static_cast<std::size_t>(c.correlation[row]);
    if (of.size() <= id) of.resize(id + 1, timeline::kNoRow);
    of[id] = row;
  }
  std::uint32_t main_lane = 0;
  std::size_t call = 0, kernels = 0;
  for (std::size_t t = 0; t < out.threads.size(); ++t) {
    bool untied = false;
    std::uint32_t lane = main_lane;
    for (const auto row : call_row) {
      if (row != timeline::kNoRow && c.tid[row] == out.threads[t].tid) {
        lane = recorded.timeline.lanes.lane[row];
      }
    }
    for (std::size_t i = 0; i < out.threads[t].operations.size(); ++i) {
      auto& op = out.threads[t].operations[i];
      const auto time = recorded.times.operations[t][i];
      if (fix == Fix::kHideLoads && op.name == "load") {
        op.ns = 0;
        change.hide(lane, time);
      }
      if (!is_call(op)) continue;
      ++call;
      const bool syncs = op.kind == OpKind::kEventSync ||
                         op.kind == OpKind::kStreamSync ||
                         op.kind == OpKind::kDeviceSync;
      if (fix == Fix::kDropSyncs && syncs) {
        op.kind = OpKind::kCall;
        change.drop_waits(lane, time);
      }
      if (fix == Fix::kPinCopies && !op.until.empty()) {
        op.until.clear();
        for (const auto w : op.work) out.work[w].copy = CopyKind::kFromPinned;
        change.pin(lane, time);
      }
      if (fix == Fix::kUntie && op.kind == OpKind::kStreamWait) {
        op.kind = OpKind::kCall;
        untied = true;
        continue;
      }
      if (op.work.empty()) continue;
      const auto row = work_row[call];
      if (std::exchange(untied, false)) change.untie(row);
      auto& w = out.work[op.work.front()];
      if (w.kind != TaskKind::kKernel) continue;
      ++kernels;
      if (fix == Fix::kShorten && kernels % 3 != 0) {
        change.shorten(row, {c.ts[row], c.ts[row] + w.ns / 2});
        w.ns -= w.ns / 2;
      }
      if (fix == Fix::kDropKernels && kernels % 3 == 0) {
        change.drop(row);
        out.work[op.work.front()].name.clear();  // taken out below
        op.ns = 0;
        op.work.clear();
      }
    }
  }
  // Work that is launched no more: places of the rest move up.
  std::vector<std::uint32_t> place(out.work.size(), kNone);
  std::vector<DeviceWork> rest;
  for (std::size_t w = 0; w < out.work.size(); ++w) {
    if (out.work[w].name.empty()) continue;
    place[w] = static_cast<std::uint32_t>(rest.size());
    rest.push_back(std::move(out.work[w]));
  }
  out.work = std::move(rest);
  for (auto& thread : out.threads) {
    for (auto& op : thread.operations) {
      for (auto& w : op.work) w = place[w];
      for (auto& a : op.until) a.work = place[a.work];
    }
  }
  return out;
}

}  // namespace tta::replay::test
