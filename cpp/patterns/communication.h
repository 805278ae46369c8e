// SPDX-License-Identifier: BSD-3-Clause
// patterns/communication.h: what the rules on a device's collectives share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "patterns/marks.h"
#include "patterns/rule.h"
#include "timeline/timeline.h"

namespace tta::patterns {

// Collectives between CPU tensors (gloo), and the main thread's waits for them.

/// A stretch of a collective in which nothing was computed.
struct CommWait {
  timeline::Interval time;
  std::uint32_t row = 0;  ///< What shows it: the operator, or the frame that waited.
};

struct CommOnHost {
  std::int64_t comm_ns = 0;     ///< Time in which a collective was under way.
  std::int64_t exposed_ns = 0;  ///< Of it, what no computation hid.
  std::vector<CommWait> waits;  ///< That part, disjoint.
};

/// Finds them for each process of Timeline::host; no entry for a trace with device
/// work, and an empty one for a process of which no backend says that it communicated
/// (ranges named gloo:, mpi: or ucc:, on the threads of the backend).
///
/// With Python frames it counts what the main thread spent blocked: in Work.wait(), in
/// wait_tensor, or in a backward pass that waits for DDP's buckets. The operators that
/// ask for a collective only queue it; their time is not waiting.
/// Without frames, the time of collectives in which no thread ran an operator: what
/// Python does meanwhile is then unknown. O(n log n) in the rows.
std::vector<CommOnHost> comm_on_host(const timeline::Timeline& timeline);

/// When a device did anything but communicate. O(n log n) in its rows.
IntervalSet computation(const timeline::Timeline& timeline,
                        const timeline::DeviceTime& device);

/// What is known of the collective that a kernel runs: its own word, else that of the
/// operator that launched it (ROCm). Null if nothing.
const timeline::CollectiveArgs* collective_of(const timeline::Timeline& timeline,
                                              const timeline::EventArgs& args,
                                              std::uint32_t row);
inline const timeline::CollectiveArgs* collective_of(const Context& context,
                                                     std::uint32_t row) {
  return collective_of(context.timeline, context.args, row);
}

/// What a collective does, whatever its library calls it.
enum class CollectiveKind : std::uint8_t {
  kOther,  ///< Or unknown: barriers, send and receive.
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kReduce,
};

/// Returns the kind that a name says: of a collective, an operator or a kernel
/// ("allreduce", "_allgather_base", "ncclDevKernel_AllReduce_Sum_f32_RING_LL").
CollectiveKind kind_named(std::string_view name);

/// Returns the kind of a device's or the host's collective: by what is known of it,
/// else by its own name, else by the operator's.
CollectiveKind kind_of(const Context& context, std::uint32_t row);

/// Returns the bytes that each rank has to send for a collective, at least: of its
/// larger side, 2 (n-1)/n by an all-reduce and (n-1)/n by what gathers or scatters, n
/// ranks; -1 if size, type, kind or number of ranks are unknown. Over the time of the
/// transfer it is the bus bandwidth of NCCL's tests.
double bytes_sent(const timeline::CollectiveArgs& collective);
double bytes_sent(std::string_view name, double bytes, double ranks);

/// Claims as excess what of the marks, on device `index` of Timeline::devices, no
/// `computing` hides and the ledger has left. Where marks overlap, the one that begins
/// first has the time. Marks in any order. O(n log n) in marks and claims.
std::vector<Claim> claim_exposed(const Context& context, PatternId pattern,
                                 std::size_t index, std::vector<Mark> marks,
                                 const IntervalSet& computing);

}  // namespace tta::patterns
