// SPDX-License-Identifier: BSD-3-Clause
// replay/program.cpp: operations one by one, as a user of CUDA would call them.
#include "replay/program.h"

#include <algorithm>
#include <utility>

#include "timeline/names.h"

namespace tta::replay {
namespace {

template <class List, class Item>
std::uint32_t append(List& list, Item item) {
  list.push_back(std::move(item));
  return static_cast<std::uint32_t>(list.size() - 1);
}

bool blocks(const DeviceWork& w) {
  return w.copy == CopyKind::kDownPageable || w.copy == CopyKind::kUpPageableLarge;
}

std::vector<Operation>& operations_of(Program& p, std::uint32_t thread) {
  if (thread < p.threads.size()) return p.threads[thread].operations;
  throw ProgramError("there is no thread " + std::to_string(thread) + "; " +
                     std::to_string(p.threads.size()) + " were added");
}

const char* name_of_launch(const DeviceWork& w) {
  return w.kind == TaskKind::kCopy     ? "cudaMemcpyAsync"
         : w.kind == TaskKind::kMemset ? "cudaMemsetAsync"
                                       : "cudaLaunchKernel";
}

// A model's own may be negative, as work that was recorded may overlap.
void check_given(std::int64_t ns, const char* what) {
  if (ns == kByConstant || ns >= 0) return;
  throw ProgramError(std::string(what) + " of " + std::to_string(ns) +
                     " ns is negative");
}

Operation wait_call(const Program& p, OpKind kind, std::uint32_t id,
                    std::uint32_t stream, WaitCall how) {
  const auto* usual = kind == OpKind::kEventSync    ? "cudaEventSynchronize"
                      : kind == OpKind::kStreamSync ? "cudaStreamSynchronize"
                                                    : "cudaDeviceSynchronize";
  Operation op{kind, how.ns == kByConstant ? p.constants.wait_cost : how.ns,
               how.name.empty() ? usual : std::move(how.name), id, stream};
  check_given(how.back, "a way back");
  op.back = how.back;
  return op;
}

}  // namespace

std::uint32_t Program::add_stream(std::int64_t number, std::int32_t device,
                                  std::uint32_t rank) {
  return append(streams, ProgramStream{rank, device, number});
}
std::uint32_t Program::add_thread(std::int64_t tid, std::string name,
                                  std::uint32_t rank) {
  return append(threads, HostThread{rank, tid, std::move(name), 0, {}});
}
std::uint32_t Program::add_collective(Collective collective) {
  return append(collectives, std::move(collective));
}

void Program::host(std::uint32_t thread, std::int64_t ns, std::string name,
                   std::string args) {
  Operation op{OpKind::kHost, ns, std::move(name)};
  op.args = std::move(args);
  operations_of(*this, thread).push_back(std::move(op));
}
void Program::open(std::uint32_t thread, std::string name, std::string args) {
  Operation op{OpKind::kOpen, 0, std::move(name)};
  op.args = std::move(args);
  operations_of(*this, thread).push_back(std::move(op));
}
void Program::open_span(std::uint32_t thread, std::string name, std::string args) {
  open(thread, std::move(name), std::move(args));
  threads[thread].operations.back().kind = OpKind::kOpenSpan;
}
void Program::open_frame(std::uint32_t thread, std::string name, std::string args) {
  open(thread, std::move(name), std::move(args));
  threads[thread].operations.back().kind = OpKind::kOpenFrame;
}
void Program::close(std::uint32_t thread) {
  operations_of(*this, thread).push_back({OpKind::kClose, 0, ""});
}

std::uint32_t Program::launch(std::uint32_t thread, DeviceWork item,
                              std::int64_t call_ns, bool blocking, std::string call) {
  auto& list = operations_of(*this, thread);
  check_given(item.latency, "a latency");
  check_given(item.gap, "a gap");
  Operation op{OpKind::kCall, call_ns,
               call.empty() ? name_of_launch(item) : std::move(call)};
  const bool waits = blocking || blocks(item);
  const auto place = append(work, std::move(item));
  op.work = {place};
  if (waits) op.until.push_back({place});
  list.push_back(std::move(op));
  return place;
}

void Program::call(std::uint32_t thread, std::string name, std::int64_t ns,
                   std::string args) {
  Operation op{OpKind::kCall, ns, std::move(name)};
  op.args = std::move(args);
  operations_of(*this, thread).push_back(std::move(op));
}

std::vector<std::uint32_t> Program::launch_graph(std::uint32_t thread,
                                                 std::vector<DeviceWork> list,
                                                 std::int64_t call_ns) {
  Operation op{OpKind::kCall, call_ns, "cudaGraphLaunch"};
  for (auto& item : list) op.work.push_back(append(work, std::move(item)));
  auto out = op.work;
  operations_of(*this, thread).push_back(std::move(op));
  return out;
}

void Program::record_event(std::uint32_t thread, std::uint32_t stream,
                           std::uint32_t event, std::int64_t call_ns) {
  operations_of(*this, thread)
      .push_back({OpKind::kEventRecord, call_ns, "cudaEventRecord", event, stream});
}
void Program::stream_wait(std::uint32_t thread, std::uint32_t stream,
                          std::uint32_t event, std::int64_t call_ns) {
  operations_of(*this, thread)
      .push_back({OpKind::kStreamWait, call_ns, "cudaStreamWaitEvent", event, stream});
}
void Program::event_sync(std::uint32_t thread, std::uint32_t event, WaitCall how) {
  operations_of(*this, thread)
      .push_back(wait_call(*this, OpKind::kEventSync, event, kNone, std::move(how)));
}
void Program::stream_sync(std::uint32_t thread, std::uint32_t stream, WaitCall how) {
  operations_of(*this, thread)
      .push_back(wait_call(*this, OpKind::kStreamSync, kNone, stream, std::move(how)));
}
void Program::device_sync(std::uint32_t thread, std::uint32_t stream, WaitCall how) {
  operations_of(*this, thread)
      .push_back(wait_call(*this, OpKind::kDeviceSync, kNone, stream, std::move(how)));
}
void Program::signal(std::uint32_t thread, std::uint32_t signal) {
  operations_of(*this, thread).push_back({OpKind::kSignal, 0, "", signal});
}
void Program::wait(std::uint32_t thread, std::uint32_t signal, std::int64_t latency) {
  operations_of(*this, thread).push_back({OpKind::kWait, latency, "", signal});
}

Engine engine_of(const DeviceWork& w) {
  if (w.kind != TaskKind::kCopy || w.copy == CopyKind::kNotToHost) {
    return Engine::kCompute;
  }
  const bool down =
      w.copy == CopyKind::kDownPageable ||
      timeline::copy_direction(w.name) == timeline::CopyDirection::kToHost;
  return down ? Engine::kDown : Engine::kUp;
}

void move_to_stream(Program& program, const std::vector<std::uint32_t>& work,
                    std::uint32_t stream) {
  program.streams.at(stream);
  std::vector<char> moved(program.work.size(), 0);
  for (const auto w : work) moved.at(w) = 1;
  // Launch order is stream order: who follows a moved one has another one before it.
  std::vector<char> behind_moved(program.streams.size(), 0);
  for (auto& thread : program.threads) {
    bool last_moved = false;
    for (auto& op : thread.operations) {
      if (op.kind == OpKind::kStreamSync && last_moved) op.stream = stream;
      for (const auto w : op.work) {
        last_moved = moved[w];
        auto& item = program.work[w];
        auto& behind = behind_moved[item.stream];
        if (moved[w] || behind) item.gap = kByConstant;
        behind = moved[w];
        std::erase_if(item.after, [&](const After& a) {
          return a.inferred && (moved[w] || moved[a.work]);
        });
        if (moved[w]) {
          item.stream = stream;
          item.follows = false;
        }
      }
    }
  }
}

}  // namespace tta::replay
