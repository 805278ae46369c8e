// SPDX-License-Identifier: BSD-3-Clause
// work/operator_calls.h: the device work of each operator, against what its device can
// do.
//
// A kernel belongs to the deepest operator around its launch whose work is known; if
// some of an operator's kernels are its own, so are those of operators inside it. Work
// of a graph's replay belongs to the operator that launched it into the capture, as far
// as that is known (EventArgs::captured). Calls of one name with the same inputs are
// judged together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/event_args.h"
#include "timeline/gpu_table.h"
#include "timeline/timeline.h"
#include "work/operator_work.h"
#include "work/slow_reason.h"

namespace tta::work {

/// Beyond this the sizes, the type or the peak are not those of the run, or its data
/// was in the cache: no judgment. Below, clocks above the data sheet's and rounded
/// times explain it.
inline constexpr double kMostEfficient = 1.05;

/// Calls of one operator with the same inputs, on one device.
struct OperatorCalls {
  std::string_view name;  ///< Of the trace, or of the captures in its args.
  bool in_graph = false;  ///< Run by replays of graphs, called by their capture.
  std::int32_t device = 0;
  const timeline::OpArgs* inputs = nullptr;
  OperatorWork work;           ///< Of one call.
  std::uint64_t count = 0;     ///< Calls with device work of their own.
  std::int64_t device_ns = 0;  ///< Union of each call's work, of all calls.
  std::uint32_t longest = timeline::kNoRow;  ///< The kernel with the most time.
  std::int64_t format_ns = 0;  ///< Of kernels that change the memory format for it.

  /// The least time of all calls by the data sheet; 0: no peak is known for its type.
  double roofline_ns = 0;
  bool compute_bound = false;  ///< Good kernels are, by arithmetic; else by memory.
  /// roofline / device time; 0: unknown, or above kMostEfficient.
  double efficiency = 0;
  /// What good kernels of its class take for all calls, their start and end in it; 0 if
  /// unknown.
  double good_ns = 0;

  /// The efficiency that good kernels reach; 0 if unknown.
  double reachable() const { return good_ns > 0 ? roofline_ns / good_ns : 0; }
  /// Share of its time that a good kernel would save, 0 to 1; 0 if unknown.
  double excess() const {
    const auto share = good_ns / static_cast<double>(device_ns);
    return efficiency > 0 && good_ns > 0 && share < 1 ? 1 - share : 0;
  }
  /// Whether it does less than three fifths of what it could: beyond what tile sizes,
  /// clocks and shapes between good ones cost.
  bool slow() const { return excess() > 0.4; }
  /// What a good kernel would save of all calls.
  double lost_ns() const { return excess() * static_cast<double>(device_ns); }

  Slowness why = {};  ///< Why they are slow, if they are.
};

/// The operators of a trace. Refers to the args.
class OperatorTimes {
 public:
  /// O(n log n) in the device work, for each distinct input once.
  OperatorTimes(const timeline::Timeline& timeline, const timeline::EventArgs& args);

  const std::vector<OperatorCalls>& all() const { return calls_; }
  /// Returns those that a row of device work belongs to; null if unknown.
  const OperatorCalls* of(std::uint32_t row) const {
    return of_row_[row] == timeline::kNoRow ? nullptr : &calls_[of_row_[row]];
  }
  /// Returns a device's row in the table of GPUs: by the header, else by the
  /// architecture that its kernels' names hold (Tensile's "ISA942"); null if unknown.
  const timeline::Gpu* gpu_of(std::int32_t device) const;
  /// Returns the operator's row of a row of device work; kNoRow if unknown, or of a
  /// graph's replay.
  std::uint32_t operator_of(std::uint32_t row) const {
    return call_of_[row] < call_of_.size() ? call_of_[row] : timeline::kNoRow;
  }
  /// Returns a number that the work of one call shares; kNoRow if unknown. In a replay,
  /// an operator of the capture is called once.
  std::uint32_t call_of(std::uint32_t row) const { return call_of_[row]; }

 private:
  std::vector<OperatorCalls> calls_;
  std::vector<std::uint32_t> of_row_;
  std::vector<std::uint32_t> call_of_;  // The operator's row, or beyond all rows.
  std::map<std::int32_t, const timeline::Gpu*> gpus_;
};

/// Whether an operator runs on the units for matrices, by the peaks of which it is
/// judged.
bool on_matrices(const OperatorWork& work);

/// Whether a kernel of float32 uses tensor cores, as TF32: its name says so.
bool rounds_to_tf32(std::string_view kernel);

/// Whether an attention runs in float32 on a device whose half precision is faster.
bool in_needless_precision(const timeline::Gpu& gpu, const OperatorWork& work);

/// Returns a device's FLOP/s * 1e-12 for an operator that runs `kernel`; 0 if unknown.
double peak_of(const timeline::Gpu& gpu, const OperatorWork& work,
               std::string_view kernel);

}  // namespace tta::work
