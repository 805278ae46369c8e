// SPDX-License-Identifier: BSD-3-Clause
// patterns/copy_calls.h: which operators the copies between host and device are made
// by: as recorded, or, where no call is recorded, by their times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patterns/copies.h"
#include "patterns/rule.h"

namespace tta::patterns {

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
