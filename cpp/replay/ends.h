// SPDX-License-Identifier: BSD-3-Clause
// replay/ends.h: device work by when it ended.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/draft.h"

namespace tta::replay {

/// Refers to the draft. Looks at 128 tasks at most for a moment, so that a file of
/// equal times takes no square.
class Ends {
 public:
  explicit Ends(const Draft& draft);

  /// Returns the last task of another stream that ended just before `when`; null if
  /// none did.
  const Task* just_before(const Task& task, std::int64_t when) const;
  /// Returns the kernel of another stream, of unknown size, that ran when `task` was
  /// ready and was about to end at `when`; null if there is none.
  const Task* tail(const Task& task, std::int64_t ready, std::int64_t when) const;

 private:
  using Place = std::vector<std::uint32_t>::const_iterator;
  Place ended_by(std::int64_t when) const;
  bool beside(const Task& a, const Task& b) const;

  const Draft& d_;
  std::vector<std::uint32_t> by_end_;
};

}  // namespace tta::replay
