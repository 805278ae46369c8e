// SPDX-License-Identifier: BSD-3-Clause
// replay/program.h: a task graph that comes from no trace, or from one that was changed
// too much for its recorded order to hold.
//
// Host threads are sequences of operations; operations launch device work into streams,
// wait for it, or wait for each other. Plain data: what is written here is scheduled by
// replay/scheduler.h and written as a trace by write/write_trace.h.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/constants.h"
#include "replay/tasks.h"

namespace tta::replay {

/// A length that the program does not give: the constant of its kind is taken.
inline constexpr std::int64_t kByConstant = kAbsent;

/// An invalid program: an event that is never recorded, a negative length. what() names
/// the operation.
struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A queue of a device of one rank, in which work runs one after the other.
struct ProgramStream {
  std::uint32_t rank = 0;
  std::int32_t device = 0;
  std::int64_t number = 7;
};

/// Work that must have ended `ns` before; of calls: before they return.
struct After {
  std::uint32_t work;
  std::int64_t ns = kByConstant;
  bool inferred = false;  ///< From times alone: does not outlive a change of streams.
};

struct DeviceWork {
  std::string name;
  TaskKind kind = TaskKind::kKernel;
  std::uint32_t stream = 0;  ///< Place in Program::streams.
  std::int64_t ns = 0;       ///< Of a collective: from the last rank's arrival on.
  CopyKind copy = CopyKind::kNotToHost;
  double blocks_per_sm = -1;  ///< -1: unknown, leaves room for others.
  bool held = true;           ///< A kernel that waits for room; collectives never do.
  std::int64_t bytes = -1;    ///< Of a copy or memset.
  std::uint32_t collective = kNone;    ///< Place in Program::collectives.
  std::vector<After> after{};          ///< Beside the order of its stream.
  std::int64_t latency = kByConstant;  ///< Launch -> start on an idle stream.
  bool from_end = false;               ///< The latency counts from the launch's end.
  bool follows = false;            ///< No latency: it starts behind its predecessor.
  std::int64_t gap = kByConstant;  ///< End of the stream's work before -> start.
  std::int64_t not_before = 0;     ///< In time of the schedule.
  std::string args{};              ///< More members for its row: `"key": value, ...`.
};

enum class OpKind : std::uint8_t {
  kHost,         ///< Work of the thread itself; a row (cpu_op) if it has a name.
  kOpen,         ///< Begins an operator around what follows, until kClose.
  kOpenSpan,     ///< The same of an annotation: record_function, ProfilerStep#N.
  kOpenFrame,    ///< The same of a function of Python: `file(line): name`.
  kClose,        ///< Ends the one that was opened last.
  kCall,         ///< Into the runtime; launches `work` if it has any.
  kEventRecord,  ///< `id` covers all work in `stream`.
  kStreamWait,   ///< Work launched into `stream` from now on waits for event `id`.
  kEventSync,    ///< The thread waits for event `id`.
  kStreamSync,   ///< The thread waits for `stream`.
  kDeviceSync,   ///< The thread waits for all streams of `stream`'s device.
  kSignal,       ///< Lets go who waits for signal `id`.
  kWait,         ///< Goes on `ns` after signal `id`; on at once if later.
};

struct Operation {
  OpKind kind = OpKind::kHost;
  std::int64_t ns = 0;  ///< What it takes at least; of kWait, see there.
  std::string name;
  std::uint32_t id = kNone;  ///< Of an event or signal.
  std::uint32_t stream = kNone;
  std::vector<std::uint32_t> work{};  ///< Launched, in this order.
  std::vector<After> until{};         ///< The call returns no sooner.
  std::int64_t back = kByConstant;    ///< End of what it waits for -> its return.
  std::string args{};                 ///< As DeviceWork::args.
};

struct HostThread {
  std::uint32_t rank = 0;
  std::int64_t tid = 1;
  std::string name;
  std::int64_t begin = 0;
  std::vector<Operation> operations;
};

/// Work of several ranks that starts to move data when each has arrived.
struct Collective {
  std::string name;   ///< "allreduce", ...
  std::string group;  ///< "Process Group Name".
  std::int64_t sequence = -1;
  std::uint32_t members = 0;  ///< Arrivals that it takes.
};

struct ProgramDevice {
  std::int32_t id = 0;
  std::string name;
  std::int64_t multiprocessors = 0;
  std::int64_t compute_major = 0, compute_minor = 0;
  std::int64_t memory = 0;  ///< In bytes.
  std::string args{};       ///< More members of it: `"key": value, ...`.
};

/// How a call waits. Values that are not given are the constants of its kind.
struct WaitCall {
  std::string name{};               ///< Of its row; "": that of the plain call.
  std::int64_t ns = kByConstant;    ///< What it takes if there is nothing to wait for.
  std::int64_t back = kByConstant;  ///< As Operation::back.
};

/// Room on the device. Of 68 kernels that were ready beside a kernel of 64 or more
/// blocks per multiprocessor, 53 started at its tail; with 512 or more, 18 of 18 (A100,
/// V100). Copies did not wait (125 of 127), nor did work beside NCCL (6,704 of 6,735).
struct Contention {
  double full = 64;  ///< Blocks per multiprocessor that leave no room; 0: off.
  std::int64_t tail = 20'000;  ///< So long before its end there is room again.
};

struct Program {
  Constants constants;
  Contention contention;
  std::vector<ProgramDevice> devices;
  std::vector<ProgramStream> streams;
  std::vector<DeviceWork> work;
  std::vector<HostThread> threads;
  std::vector<Collective> collectives;
  std::uint32_t events = 0, signals = 0;  ///< How many there are.
  /// Moments are written as multiples of it, rounded down: what was recorded before
  /// 2023 has whole microseconds. The schedule itself knows nothing of it.
  std::int64_t resolution_ns = 1;

  // What follows appends; a thread is its place in `threads`. Lengths of calls are what
  // they take on the host. Throws ProgramError if there is no such thread, or for a
  // latency, gap or way back below 0.
  std::uint32_t add_stream(std::int64_t number, std::int32_t device = 0,
                           std::uint32_t rank = 0);
  std::uint32_t add_thread(std::int64_t tid, std::string name, std::uint32_t rank = 0);
  std::uint32_t add_event() { return events++; }
  std::uint32_t add_signal() { return signals++; }
  std::uint32_t add_collective(Collective collective);

  void host(std::uint32_t thread, std::int64_t ns, std::string name = "",
            std::string args = "");
  void open(std::uint32_t thread, std::string name, std::string args = "");
  void open_span(std::uint32_t thread, std::string name, std::string args = "");
  void open_frame(std::uint32_t thread, std::string name, std::string args = "");
  void close(std::uint32_t thread);
  /// Launches work and returns its place in `work`. A pageable copy to the host, or of
  /// more than kStagedBytes from it, makes the call wait, as does `blocking`.
  /// `call` names the call's row; "": the usual one of such work.
  std::uint32_t launch(std::uint32_t thread, DeviceWork work, std::int64_t call_ns,
                       bool blocking = false, std::string call = "");
  /// Calls what launches nothing and waits for nothing: cudaMalloc,
  /// cudaFuncSetAttribute.
  void call(std::uint32_t thread, std::string name, std::int64_t ns,
            std::string args = "");
  /// Launches a list of work as one graph; each into the stream it names.
  std::vector<std::uint32_t> launch_graph(std::uint32_t thread,
                                          std::vector<DeviceWork> list,
                                          std::int64_t call_ns);
  void record_event(std::uint32_t thread, std::uint32_t stream, std::uint32_t event,
                    std::int64_t call_ns);
  void stream_wait(std::uint32_t thread, std::uint32_t stream, std::uint32_t event,
                   std::int64_t call_ns);
  void event_sync(std::uint32_t thread, std::uint32_t event, WaitCall how = {});
  void stream_sync(std::uint32_t thread, std::uint32_t stream, WaitCall how = {});
  /// Also of calls that wait for the device on the way, such as cudaFree.
  void device_sync(std::uint32_t thread, std::uint32_t any_stream_of_it,
                   WaitCall how = {});
  void signal(std::uint32_t thread, std::uint32_t signal);
  void wait(std::uint32_t thread, std::uint32_t signal, std::int64_t latency);

  /// Throws ProgramError if something refers to nothing, work is launched never or
  /// twice, an event is recorded nowhere, a signal given twice or never, a length is
  /// negative, the sum of lengths exceeds trace::kTimeLimit, args are not members of a
  /// JSON object, or a collective lacks some of its members. Linear.
  void check() const;
};

/// The copy engine of work: one a direction and device. Others share the processors.
enum class Engine : std::uint8_t { kCompute, kUp, kDown };
Engine engine_of(const DeviceWork& work);

/// Moves work to another stream of its device: it keeps to that stream's order and no
/// longer to its own, nor to what was inferred from its place there (After::inferred,
/// DeviceWork::gap). A synchronization of a stream goes along if the last that its
/// thread launched before was moved: it was for that, as behind a copy. Other waits
/// keep to what they name. Linear. Throws std::out_of_range.
void move_to_stream(Program& program, const std::vector<std::uint32_t>& work,
                    std::uint32_t stream);

}  // namespace tta::replay
