// SPDX-License-Identifier: BSD-3-Clause
// pipeline/pricing/causes.h: each pattern fixed everywhere, one replay a pattern.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "patterns/find.h"
#include "pipeline/pricing/gap_pieces.h"
#include "replay/checkpoint.h"
#include "replay/gain.h"

namespace tta::pipeline {

/// One pattern, fixed everywhere.
struct Cause {
  patterns::PatternId pattern{};
  std::vector<patterns::Mark> sites;  ///< That may be blamed, by begin.
  std::map<std::int64_t, std::vector<patterns::Mark>> by_process;  ///< If of several.
  replay::Change change;
  replay::WhatIf fixed;
  std::vector<std::vector<std::int64_t>> saved;  ///< Of each piece, by device.
  std::int64_t busy = 0;                         ///< Busy time that it claims.
  bool known = false;                            ///< It claims some by the rules alone.
  bool believed = false;                         ///< Its replay is not contradicted.
};

/// Replays without each pattern that a rule found, two at a time, and returns those
/// whose replay may be believed, in the order of the table; `all` becomes the change
/// that fixes all of them. What they save is yet to be measured.
std::vector<Cause> find_causes(const replay::Pricer& pricer,
                               const patterns::Search& search,
                               const patterns::Findings& found, replay::Change& all,
                               const replay::Checkpoint& checkpoint);

/// Returns the event, and its sub-type, that a cause is charged with for a piece: who
/// was blamed before; else what the host did for most of the piece; else what came last
/// before its end. Of many launches the last is as good as any other: the longest of
/// some stands for them.
std::pair<std::uint32_t, std::uint8_t> evidence_of(const timeline::Timeline& timeline,
                                                   const timeline::DeviceTime& device,
                                                   const Piece& piece,
                                                   const Cause& cause);

}  // namespace tta::pipeline
