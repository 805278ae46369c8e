// SPDX-License-Identifier: BSD-3-Clause
// write/write_rank.h: the events of one rank in a file of the ranks of a job.
#pragma once

#include <cstdint>
#include <string>

#include "trace/trace.h"
#include "write/json_text.h"

namespace tta::write {

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

}  // namespace tta::write
