// SPDX-License-Identifier: BSD-3-Clause
// patterns/device_work.h: what a thread launched in a stretch of its time, and what a
// faster kernel would have been worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "patterns/rule.h"
#include "timeline/device_facts.h"
#include "work/operator_calls.h"

namespace tta::patterns {

/// Device work whose launch is known.
struct Work {
  std::int64_t launched = 0;  ///< When its launch call began.
  std::uint32_t row = 0;
  std::uint32_t device = 0;  ///< Position in Timeline::devices.
};

/// All device work with a known launch, by the thread and the time of the launch.
class LaunchedWork {
 public:
  /// O(n log n) in the device rows.
  explicit LaunchedWork(const timeline::Timeline& timeline);

  /// What thread `lane` launched inside `time`, in order of launch. O(log n).
  std::span<const Work> in(std::uint32_t lane, Interval time) const;

 private:
  std::vector<std::vector<Work>> by_lane_;
};

/// The same for all rules of an analysis, made once.
const LaunchedWork& launched_work(const Context& context);

/// A kernel that had a device to itself for a while.
struct SoleKernel {
  std::uint32_t row = 0;
  Interval time;  ///< From when nothing else ran until the next kernel began.
  /// By how much an earlier end of it would have brought the next work forward: what
  /// came next had been launched this long before its end, or the host was waiting.
  /// Nanoseconds; 0 where the host was the limit, and no kernel's speed mattered.
  std::int64_t lead = 0;
};

/// Finds them, for one device after the other.
class SoleKernels {
 public:
  /// Refers to the timeline. O(n log n) in its waits.
  explicit SoleKernels(const timeline::Timeline& timeline);

  /// Whether memsets are listed, and count beside a kernel, as kernels do.
  enum class Memsets : std::uint8_t { kLeftOut, kCounted };

  /// Lists those of device `index` by start, without communication. Copies beside a
  /// kernel do not count: they take no multiprocessor. O(n log n) in the device's rows.
  /// They are kept: of each device found once.
  const std::vector<SoleKernel>& of(std::size_t index,
                                    Memsets memsets = Memsets::kLeftOut);

 private:
  const timeline::Timeline& timeline_;
  timeline::DeviceLimits limits_;
  std::map<std::pair<std::size_t, Memsets>, std::vector<SoleKernel>> known_;
};

/// The same for all rules of an analysis, made once.
SoleKernels& sole_kernels(const Context& context);

/// The operators of the trace against their device's peaks, made once.
const work::OperatorTimes& operator_times(const Context& context);

/// Returns the share of a kernel's time, of `share`, that may be claimed by what is
/// known of its operator: none if it does about what its device can, and if it is slow,
/// no more than a good kernel saves. `calls` may be null: unknown, and all of it.
double claimable(const work::OperatorCalls* calls, double share);

/// Claims the part `share` (0 to 1) of a kernel's time on device `index` as wasted, at
/// its beginning: at most its lead, minus the part that earlier rules took, since cures
/// of one kernel do not add up. `evidence` is the row that proves it, kNoRow for the
/// kernel itself. Appends to `claims`.
void claim_excess(const Context& context, std::size_t index, const SoleKernel& kernel,
                  double share, PatternId pattern, std::uint8_t subtype,
                  std::vector<Claim>& claims, std::uint32_t evidence = kNoRow);

/// A kernel or memset that could have been faster, or left out.
struct Excess {
  std::uint32_t device = 0;  ///< Position in Timeline::devices.
  std::uint32_t row = 0;     ///< The kernel or memset.
  double share = 1;          ///< Of its time, 0 to 1.
  std::uint32_t evidence = 0;
  std::uint8_t subtype = 0;
};

/// Makes the claims of claim_excess for each row, once for a row that comes again;
/// rows of other work (copies, communication) claim nothing. Any order. O(n log n) in
/// `excess` and the rows of the devices concerned.
std::vector<Claim> claim_rows(const Context& context, PatternId pattern,
                              std::vector<Excess> excess);

}  // namespace tta::patterns
