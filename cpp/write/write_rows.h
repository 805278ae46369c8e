// SPDX-License-Identifier: BSD-3-Clause
// write/write_rows.h: rows of a loaded trace as events of a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "replay/two_threads.h"
#include "timeline/intervals.h"
#include "trace/trace.h"
#include "write/json_text.h"

namespace tta::write {

// The events of one rank in a file of the ranks of a job.

/// Where a rank goes in the file.
struct RankPlace {
  std::string label;       ///< "rank 3": its processes are called so first.
  std::int64_t first_pid;  ///< Its processes and devices get numbers from here on.
  std::int64_t ids;        ///< Added to its ids (write/write_rows.h).
  std::int64_t shift_ns;   ///< Added to its times.
};

/// Writes the rows of a trace with numbers that no other rank has. Its processes come
/// in order of their new numbers: those of the host, then devices; the old number is in
/// the name. One without any event but names is left out. Returns the first number that
/// is free. Linear in the rows and the text, of which a part is in memory at a time.
/// Throws what Trace::visit_args throws, and what the stream throws.
std::int64_t write_rank(const trace::Trace& trace, const RankPlace& place,
                        EventList& list);

/// Adds that to a file that ends with an event of its list. Throws
/// std::invalid_argument, which names the file, if it cannot be written.
std::int64_t append_rank(const trace::Trace& trace, const RankPlace& place,
                         const std::string& path);

/// Numbers that are a trace's own, as they become in a file that it shares with others.
struct Renumbered {
  std::unordered_map<std::int64_t, std::int64_t> pids;  ///< As in the column.
  /// Added to the ids of flows and, in args, of calls, operators and Python functions;
  /// not to 0, which is none.
  std::int64_t ids = 0;
};

/// Rows that are not written: those given (ascending), and flows of calls among them.
class LeftOut {
 public:
  /// Refers to both.
  LeftOut(const trace::Trace& trace, std::span<const std::uint32_t> rows);
  bool has(std::uint32_t row) const;

 private:
  const trace::Trace& trace_;
  std::span<const std::uint32_t> rows_;
  std::set<std::int64_t> calls_;  // their correlations
};

/// Writes all rows except those that `is_gone` selects, in file order, with their
/// columns and their args, which are read again (by Trace::visit_args, whose exceptions
/// propagate). `time_of` returns the new time of a row with a usable start, an empty
/// stretch for one without a length. Names, categories by their current names, pids,
/// tids and ids stay, unless they are `renumbered`; members that are not columns do
/// not. Calls the checkpoint several times a second.
void write_rows(const trace::Trace& trace, EventList& list,
                const std::function<timeline::Interval(std::uint32_t)>& time_of,
                const std::function<bool(std::uint32_t)>& is_gone,
                const replay::Checkpoint& checkpoint = replay::go_on,
                const Renumbered& renumbered = {});

}  // namespace tta::write
