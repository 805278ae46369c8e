// SPDX-License-Identifier: BSD-3-Clause
// replay/events.h: the device work that a recorded event stands for.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "replay/issued.h"

namespace tta::replay {

/// Refers to calls, tasks and what was issued.
class Events {
 public:
  Events(const timeline::Timeline& timeline, const Calls& calls, const Tasks& tasks,
         const Issued& issued);

  /// Returns what the stream had when the event was recorded by a call; kNone for
  /// nothing. Where the stream is not known (kNone), that of the thread's last work.
  std::uint32_t recorded_by(std::uint32_t call, std::uint32_t stream) const;

  /// Returns what a call waited for that does not say for which event: of the 400
  /// recorded last before it by its process, the one whose work ended latest during the
  /// call; in a process without records, work that ended just before its return, of the
  /// 128 that ended last. kNone if nothing fits.
  std::uint32_t guess(const Call& call) const;

 private:
  struct Record {
    std::int64_t when;
    std::uint32_t work;
  };
  std::int64_t process(const Call& call) const;

  const timeline::Timeline& t_;
  const Calls& calls_;
  const Tasks& tasks_;
  const Issued& issued_;
  std::map<std::int64_t, std::vector<Record>> records_;  // of each process, by time
  std::vector<std::uint32_t> by_end_;                    // tasks
};

}  // namespace tta::replay
