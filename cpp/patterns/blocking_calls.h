// SPDX-License-Identifier: BSD-3-Clause
// patterns/blocking_calls.h: every call in which the host waited for a device, costly
// or not.
//
// What a wait costs is known only from what was launched after it; a test of a single
// step cannot know that and judges the waits themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timeline/frames.h"
#include "timeline/timeline.h"

namespace tta::patterns {

struct BlockingCall {
  std::uint32_t row = 0;  ///< The blocking call.
  std::int64_t begin = 0;
  std::int64_t end = 0;      ///< Nanoseconds; adjoining calls of one operator are one.
  std::uint8_t subtype = 0;  ///< Index into the sub-types of sync_stall.
  std::optional<timeline::Frame> location;
  std::string operator_name;  ///< Deepest cpu_op, "" if there is none.
};

/// Lists the waits by start, without the profiler's own at the end of its window and
/// those in which cuDNN measures its algorithms. Throws what Trace::read_args throws.
std::vector<BlockingCall> blocking_calls(const timeline::Timeline& timeline);

}  // namespace tta::patterns
