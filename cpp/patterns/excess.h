// SPDX-License-Identifier: BSD-3-Clause
// patterns/excess.h: what a faster kernel would have been worth.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "patterns/rule.h"
#include "timeline/queue_facts.h"

namespace tta::patterns {

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

  /// Lists those of device `index` by start, without communication. Copies beside a
  /// kernel do not count: they take no multiprocessor. O(n log n) in the device's rows.
  /// They are kept: of each device found once.
  const std::vector<SoleKernel>& of(std::size_t index);

 private:
  const timeline::Timeline& timeline_;
  timeline::DeviceLimits limits_;
  std::map<std::size_t, std::vector<SoleKernel>> known_;
};

/// The same for all rules of an analysis, made once.
SoleKernels& sole_kernels(const Context& context);

/// Claims the part `share` (0 to 1) of a kernel's time on device `index` as spent to no
/// use, at its beginning: no more than its lead, and less what earlier rules took of
/// it, since cures of one kernel do not add up. Appends to `claims`.
void claim_excess(const Context& context, std::size_t index, const SoleKernel& kernel,
                  double share, PatternId pattern, std::uint8_t subtype,
                  std::vector<Claim>& claims);

}  // namespace tta::patterns
