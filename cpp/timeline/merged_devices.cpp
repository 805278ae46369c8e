// SPDX-License-Identifier: BSD-3-Clause
// timeline/merged_devices.cpp: one key for each number and process.
#include "timeline/merged_devices.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <string>

namespace tta::timeline {

namespace {

// Whose streams they are: the process that is known to feed them, else the pid that
// the file gives them.
struct Owner {
  std::int32_t number;
  bool is_text;
  std::int64_t pid;
  std::string text;  // ids of texts go by the order of the file
  bool known;
  auto operator<=>(const Owner&) const = default;
};

Owner owner_of(const trace::Trace& trace, const Links& links, const Lane& stream) {
  const auto feeder = links.feeders.find({stream.pid, stream.number});
  const bool known = feeder != links.feeders.end();
  const auto pid = known ? feeder->second : stream.pid;
  const bool is_text = pid >= trace::kTextIdentity;
  return {stream.number, is_text, is_text ? 0 : pid, is_text ? trace.identity(pid) : "",
          known};
}

}  // namespace

void tell_devices_apart(const trace::Trace& trace, const Links& links, Lanes& lanes) {
  std::map<Owner, std::int32_t> keys;
  std::int32_t last = 0;
  for (const auto& lane : lanes.lanes) {
    if (!lane.is_stream || lane.number < 0) continue;
    keys[owner_of(trace, links, lane)] = lane.number;
    last = std::max(last, lane.number);
  }
  const Owner* before = nullptr;
  for (auto& [owner, key] : keys) {
    const bool alike = before != nullptr && before->number == owner.number;
    if (alike && last < std::numeric_limits<std::int32_t>::max()) key = ++last;
    before = &owner;
  }
  for (auto& lane : lanes.lanes) {
    if (!lane.is_stream || lane.number < 0) continue;
    lane.device = keys.at(owner_of(trace, links, lane));
  }
}

}  // namespace tta::timeline
