// SPDX-License-Identifier: BSD-3-Clause
// replay/job_blame.h: for whom ranks waited, and what kept that one.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/job.h"

namespace tta::replay {

/// Time that ranks waited in a collective because of what one rank did somewhere.
struct Lateness {
  std::uint32_t collective;  ///< Place in Job::collectives(), where they waited.
  std::uint32_t rank;        ///< Place in Job::ranks(): of whom they waited for.
  /// What took it longer than others, in Job::places(); Job::kNoPlace if nothing that
  /// the recording shows: it began late, or its delay is between events.
  std::uint32_t place;
  std::int64_t late;    ///< How much longer than the others.
  std::int64_t waited;  ///< Of all others together: GPU time, where they are GPUs.
};

/// Gives the time that ranks waited for others to what made those late, each nanosecond
/// once: Lateness::waited adds up to JoinedCollective::wait() of all collectives.
///
/// While some members have arrived and others not, those present wait for each missing
/// one equally. A late rank either worked longer since its previous collective than
/// others in the same stretch, place by place; or it left that collective late, and
/// then the blame moves to the last rank there, so that a pipeline stage is not blamed
/// for its neighbor. The rest, where the recording begins or after 64 collectives, has
/// no place. O(n log n) in the collectives' members and the parts of their passages.
std::vector<Lateness> blame_for_waits(const Job& job);

}  // namespace tta::replay
