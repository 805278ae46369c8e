// SPDX-License-Identifier: BSD-3-Clause
// timeline/event_args.h: the args of events that rules and tables read.
//
// A missing arg is not a zero: older versions, ROCm and graph replays leave out most of
// them. Every number is -1, and every text empty, where the file does not have it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// The args of a kernel, copy or memset. ROCm writes grid, block and bytes on the call
/// that launched the work; they are included here too.
struct WorkArgs {
  std::int64_t blocks = -1;         ///< Of the grid: its three numbers multiplied.
  std::int64_t block_threads = -1;  ///< Threads of a block.
  /// Of each, a number that tells it from others of the same size: (2, 4, 1) is not
  /// (4, 2, 1).
  std::int64_t grid_shape = -1, block_shape = -1;
  std::int64_t registers = -1;      ///< Per thread.
  std::int64_t shared_memory = -1;  ///< Of a block, in bytes.
  double occupancy = -1;            ///< "est. achieved occupancy %", 0 to 100.
  double blocks_per_sm = -1;        ///< Grid over multiprocessors; may be below 1.
  double warps_per_sm = -1;
  std::int64_t bytes = -1;     ///< Of a copy or memset.
  double bandwidth = -1;       ///< Of a copy, in GB/s.
  std::int64_t graph_id = -1;  ///< Of a kernel replayed by a graph.
  /// Of a copy whose name does not tell it (MTIA): "HOST_TO_DEVICE", "DEVICE_TO_HOST".
  enum class Way : std::uint8_t { kUnknown, kToDevice, kToHost } way = Way::kUnknown;
  /// What limits the occupancy, newest Kineto only: "Warps", "Registers", ...
  std::string limiting_factors;
  /// Of a graph's node, that torch's annotations of graphs write (mark_kernels).
  std::string annotation;
};

/// torch's args of a collective, from the operator and from NVIDIA's kernel.
struct CollectiveArgs {
  std::string name;   ///< "allreduce", "_allgather_base", ...
  std::string dtype;  ///< "Float", "BFloat16", ...
  std::string group;  ///< "Process Group Name".
  std::string ranks;  ///< "Process Group Ranks", e.g. "[0, 1]"; of many, cut short.
  std::int64_t peer = -1;  ///< Of a message: the rank at its other end.
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;  ///< "Seq": the same number on every rank.

  /// Returns the larger of input and output in bytes, -1 if elements or type are
  /// unknown.
  std::int64_t bytes() const;
};

/// An operator's inputs; with record_shapes only.
struct OpArgs {
  /// Sizes of each input; empty for a scalar, None, a list of tensors, and an input
  /// with a size that is not a number.
  std::vector<std::vector<std::int64_t>> dims;
  /// Elements from one index to the next, of each dimension of each input; as `dims`.
  /// Newer versions than those that have dims and types only.
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<std::string> types;  ///< "float", "c10::Half", "c10::BFloat16", ...
  /// Of numbers, flags and lists of numbers, as written: "[1, 1]", "True", "2"; "" of
  /// tensors and None. Since torch 2.1.
  std::vector<std::string> values;

  bool operator==(const OpArgs&) const = default;
};

struct Capture;  // timeline/captured.h

/// A row that a replay of a graph ran, as its capture has it.
struct CapturedNode {
  const Capture* capture = nullptr;
  std::uint32_t launch = 0;  ///< In Capture::launches.
  std::uint32_t replay = 0;  ///< A number that the rows of one replay share.
  /// Whether the inputs are those of the replay: not of another batch size.
  bool sized = false;
};
/// Of all rows, and the captures that they refer to.
struct CapturedNodes {
  std::vector<CapturedNode> nodes;
  std::vector<std::uint32_t> of_row;  ///< In `nodes`; kNoRow: nothing is known.
  std::vector<std::shared_ptr<const Capture>> captures;
};

/// The args of all device work, of all collectives, of the operators that launch device
/// work or whose inputs some rule looks at (Name::kReadsInputs), and the names of
/// threads. Read-only; safe
/// from several threads.
class EventArgs {
 public:
  /// Reads them from what the load kept (trace/args_kept.h), each text that differs
  /// once; where it kept none, in one pass over the file, and throws what
  /// Trace::visit_args throws.
  explicit EventArgs(const Timeline& timeline);

  /// Returns what is known of a row of device work; nothing of any other row.
  const WorkArgs& work(std::uint32_t row) const { return work_[work_of_[row]]; }
  /// Returns what is known of an operator's inputs; null if nothing.
  const OpArgs* op(std::uint32_t row) const {
    return op_of_[row] == kNoRow ? nullptr : &ops_[op_of_[row]];
  }
  /// Returns what the file calls a thread ("pt_autograd_0"), "" if it does not name it.
  std::string_view thread_name(std::int64_t pid, std::int64_t tid) const {
    const auto it = threads_.find({pid, tid});
    return it == threads_.end() ? std::string_view() : it->second;
  }
  /// Returns the captured launch of a row of device work; null if unknown.
  const CapturedNode* captured(std::uint32_t row) const {
    if (captured_.of_row.empty() || captured_.of_row[row] == kNoRow) return nullptr;
    return &captured_.nodes[captured_.of_row[row]];
  }
  /// Adds them. Before others read it.
  void set_captured(CapturedNodes nodes) { captured_ = std::move(nodes); }
  /// Returns the collective that an operator, or a kernel itself, says it is; null if
  /// none. Kernels of ROCm and gloo say nothing: ask their operator.
  const CollectiveArgs* collective(std::uint32_t row) const {
    const auto it = collective_of_.find(row);
    return it == collective_of_.end() ? nullptr : &collectives_[it->second];
  }

 private:
  // Many rows say the same: each has the place of what it says.
  std::vector<std::uint32_t> work_of_;  // of each row; 0 is "nothing known"
  std::vector<WorkArgs> work_{1};
  std::vector<std::uint32_t> op_of_;  // of each row; kNoRow is none
  std::vector<OpArgs> ops_;
  std::unordered_map<std::uint32_t, std::uint32_t> collective_of_;  // by row
  std::vector<CollectiveArgs> collectives_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads_;
  CapturedNodes captured_;
};

/// Returns the bytes of one element of a type, as torch names it in "dtype" and in
/// "Input type"; -1 if unknown.
std::int64_t element_bytes(std::string_view dtype);

}  // namespace tta::timeline
