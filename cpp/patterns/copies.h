// SPDX-License-Identifier: BSD-3-Clause
// patterns/copies.h: the copies between host and device, as the rules about them see
// them, and the operators that make them: as recorded, or, where no call is recorded,
// by their times. Copies inside one device and between two devices are none of these.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

enum class CopyWay : std::uint8_t { kToDevice, kToHost };

/// The host's memory. ROCm's names do not tell, nor do those of old versions.
enum class HostMemory : std::uint8_t { kUnknown, kPageable, kPinned };

struct HostCopy {
  std::uint32_t row = 0;
  CopyWay way = CopyWay::kToDevice;
  HostMemory memory = HostMemory::kUnknown;
  std::int64_t bytes = -1;
  /// In GB/s (1e9 bytes), which is bytes over duration, also where Kineto writes it;
  /// -1 if unknown or beyond what any link carries.
  double rate = -1;
  /// Another copy of the same way ran at the same time: its rate says nothing.
  bool shared = false;
};

/// Lists a device's copies from and to the host, by start. Linear in its rows.
const std::vector<HostCopy>& host_copies(const Context& context,
                                         const timeline::DeviceTime& device);

/// What an operator's first input holds, with record_shapes; -1 and "" if unknown, as
/// they are of a single number.
struct Held {
  std::int64_t elements = -1;
  std::string type;
  std::int64_t bytes = -1;
};
Held first_input(const Context& context, std::uint32_t op);

/// Returns for each device when the first kernel of its process began (on any device),
/// the largest number if there is none: no earlier copy had a kernel to hide behind.
/// Linear in the device rows.
std::vector<std::int64_t> first_kernels(const timeline::Timeline& timeline);

/// Gives out the time in which a device did nothing but copy, each moment once and
/// only what the ledger has left. Ask in order of start. O(log n) a copy.
class BareTime {
 public:
  BareTime(const Context& context, std::size_t device);
  /// The parts of [ts, end) of a copy in which no kernel ran and that were not given
  /// out before.
  IntervalSet of(Interval copy);

 private:
  const Context& context_;
  std::size_t device_;
  IntervalSet kernels_;
  std::int64_t reached_;
};

/// What a link between host and device carries one way, in GB/s.
struct LinkRate {
  double rate = -1;   ///< -1 if nothing is known.
  bool seen = false;  ///< A copy of this trace ran at it; else by the device's name.
};

/// The best rate of copies of this way that are at least `large` bytes and not from or
/// to pageable memory. Without any: what the device's host interface carries by its
/// name, or the best rate of pageable copies if that is more. Linear in the copies.
LinkRate link_rate(const timeline::Timeline& timeline, std::int32_t device,
                   std::span<const HostCopy> copies, CopyWay way, double large);

/// Claims `share` of each part, from its start: what a faster copy would have saved.
/// No more than `most` ns of all parts.
void claim_share(std::vector<Claim>& claims, const Claim& like,
                 const IntervalSet& parts, double share,
                 std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Returns the outermost operator of the copy call that a row belongs to (aten::to,
/// .cpu(), copy_, ...); kNoRow if there is none, or if it copies as part of another
/// operator, as nonzero does to read its count.
std::uint32_t copy_operator(const timeline::Timeline& timeline, std::uint32_t row);

/// The same of an operator, which may be kNoRow, instead of the row it launched.
std::uint32_t copy_operator_around(const timeline::Timeline& timeline,
                                   std::uint32_t op);

/// Returns, of each copy whose call is not recorded (MTIA's DMA names none), the
/// deepest operator that was running from the copy's start to its end; kNoRow for the
/// other copies, where two threads of the device's process ran operators at the time,
/// and where that operator launched work: its copies are the program and arguments of
/// a kernel. All are kNoRow unless nine in ten of these copies lie inside one operator:
/// a device that is that much in step with its host copies while the host waits; of
/// any other, time alone says nothing. Copies by start. O(n log n) in the process's
/// rows and the copies.
std::vector<std::uint32_t> operators_by_time(const timeline::Timeline& timeline,
                                             const timeline::DeviceTime& device,
                                             std::span<const HostCopy> copies);

}  // namespace tta::patterns
