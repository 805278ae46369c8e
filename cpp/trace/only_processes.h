// SPDX-License-Identifier: BSD-3-Clause
// trace/only_processes.h: the part of a trace that some of its processes recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "trace/trace.h"

namespace tta::trace {

/// Returns a trace of the rows with one of these pids, as if nothing else had been in
/// the file: one rank of a file that was merged from several, whose ids repeat.
///
/// `pids` are as in the pid column of `trace`, those of devices among them. Rows keep
/// their order and are counted from 0; ids of names, and pids and tids that are texts,
/// are renumbered. Args are read from the same place on demand. Metadata and warnings
/// are the file's, except for the rank in distributedInfo: it is `rank`, or absent.
/// Linear; takes the memory of the part, and does not refer to `trace`.
Trace only_processes(const Trace& trace, std::span<const std::int64_t> pids,
                     std::optional<std::int64_t> rank = std::nullopt);

}  // namespace tta::trace
