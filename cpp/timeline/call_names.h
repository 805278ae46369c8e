// SPDX-License-Identifier: BSD-3-Clause
// timeline/call_names.h: what frames were calling, each path of names once.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "timeline/frames.h"
#include "trace/string_pool.h"

namespace tta::timeline {

class CallNames {
 public:
  explicit CallNames(const trace::StringPool& strings) : strings_(strings) {}

  /// Returns the place in take() of a path of names, innermost first.
  std::uint32_t add(std::vector<std::uint32_t> path);

  std::vector<Calls> take() { return std::move(calls_); }

 private:
  const trace::StringPool& strings_;
  std::vector<Calls> calls_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> by_path_;  // into calls_
  std::map<Calls, std::uint32_t> by_names_;                      // the same
};

}  // namespace tta::timeline
