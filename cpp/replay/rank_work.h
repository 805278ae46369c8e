// SPDX-License-Identifier: BSD-3-Clause
// replay/rank_work.h: a rank reduced to where it met others and what it did between.
//
// All that a job of many ranks needs of one of them, in a kilobyte or less of each of
// its collectives: the stops of its graph (replay/condense.h) and the passages between
// them, each by the lines of code that it went by. Plain data that refers to nothing,
// so a rank's trace can be let go before the next is read, or be read in another
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/frames.h"

namespace tta::replay {

/// Where time goes: on each rank the same, if they run the same program.
struct WorkPlace {
  std::string kind;  ///< Of work: "host", "compute", or an operation's own.
  std::optional<timeline::Frame> frame;
  std::string name;           ///< The operator or kernel, where there is no frame.
  std::int32_t finding = -1;  ///< Of the rank's report, that claims most of it; or -1.

  bool same_as(const WorkPlace& other) const {
    return kind == other.kind && frame == other.frame && name == other.name;
  }
};

struct WorkPart {
  std::uint32_t place;  ///< In RankWork::places.
  std::int64_t ns;
};

struct WorkPassage {
  std::uint32_t from, to;  ///< Places in RankWork::recorded.
  std::int64_t ns;
  std::uint32_t first, last;  ///< Its parts [first, last); the rest is delay.
};

struct RankCollective {
  /// The same of all its members and of no other collective, of recorders that know it;
  /// or "": told by what follows.
  std::string key{};
  std::string group, ranks, name;  ///< As of replay::RecordedCollective.
  std::int64_t sequence = -1;
  std::int64_t peer = -1;
  std::int64_t step = -1;            ///< N of ProfilerStep#N; -1: outside any.
  std::int64_t bytes = -1;           ///< -1: unknown.
  std::int64_t exposed = 0;          ///< Of its time, what no computation hid.
  std::uint32_t begin = 0, end = 0;  ///< Places in RankWork::recorded.
};

struct RankStep {
  std::int64_t number;
  std::uint32_t begin, end;  ///< Places in RankWork::recorded.
};

/// A time on the clock of RankWork::recorded.
struct RankTime {
  std::int64_t begin = 0, end = 0;
};

/// A forward pass of a serving engine, for comparison with the other ranks' same pass.
struct RankEngineStep {
  std::string name;                   ///< Of its annotation.
  std::string kind;                   ///< Of timeline::EngineStepKind.
  std::int64_t device = 0;            ///< From its begin to the last end of its work.
  std::vector<RankTime> collectives;  ///< By start.
};

struct RankWork {
  std::int64_t rank = -1;   ///< -1: unknown.
  std::int64_t stage = -1;  ///< Of a pipeline; -1: there is none, or it is unknown.
  std::string host;         ///< Whose clock it has; "": one of its own.
  /// When each stop came to pass, on that clock; the first is the begin of its
  /// recording.
  std::vector<std::int64_t> recorded;
  std::vector<WorkPlace> places;
  std::vector<WorkPart> parts;
  std::vector<WorkPassage> passages;        ///< In any order.
  std::vector<RankCollective> collectives;  ///< By begin.
  std::vector<RankStep> steps;
  std::vector<RankEngineStep> engine_steps;  ///< By time.

  /// Throws std::invalid_argument where something refers to nothing. Linear.
  void check() const;
};

/// As bytes, for another process of the same version of this package.
std::string to_bytes(const RankWork& work);
/// Throws std::invalid_argument for what to_bytes did not write.
RankWork rank_work_from(std::string_view bytes);

}  // namespace tta::replay
