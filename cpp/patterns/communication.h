// SPDX-License-Identifier: BSD-3-Clause
// patterns/communication.h: what the rules on a device's collectives share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {

/// When a device did anything but communicate. O(n log n) in its rows.
IntervalSet computation(const timeline::Timeline& timeline,
                        const timeline::DeviceTime& device);

/// What is known of the collective that a kernel runs: its own word, else that of the
/// operator that launched it (ROCm). Null if nothing.
const timeline::CollectiveArgs* collective_of(const Context& context,
                                              std::uint32_t row);

/// Claims as excess what of the marks, on device `index` of Timeline::devices, no
/// `computing` hides and the ledger has left. Where marks overlap, the one that begins
/// first has the time. Marks in any order. O(n log n) in marks and claims.
std::vector<Claim> claim_exposed(const Context& context, PatternId pattern,
                                 std::size_t index, std::vector<Mark> marks,
                                 const IntervalSet& computing);

}  // namespace tta::patterns
