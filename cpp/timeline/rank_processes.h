// SPDX-License-Identifier: BSD-3-Clause
// timeline/rank_processes.h: which processes of a merged file are of which rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

struct RankProcesses {
  /// What the merging tool calls the rank: "TP00-DP01" of a pid "[TP00-DP01] 4000" or
  /// of a process of such a name, "3" of one called "rank 3"; "" if it does not.
  std::string label;
  /// As in the pid column, ascending: the process that worked on the host, others with
  /// the same label, and the devices that it feeds.
  std::vector<std::int64_t> pids;
};

/// Sorts the processes of a file merged from several ranks by rank, those with the
/// lowest labels and then the lowest pids first. Empty if only one process worked, or
/// if the file cannot tell whose a device is (two processes feed one pid). O(n) in the
/// rows.
std::vector<RankProcesses> rank_processes(const Timeline& t);

}  // namespace tta::timeline
