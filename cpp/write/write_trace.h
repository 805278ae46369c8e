// SPDX-License-Identifier: BSD-3-Clause
// write/write_trace.h: schedules as traces in Kineto's JSON, for Perfetto and for
// torchtraceap itself. Plain text, row by row: memory does not grow with the trace.
//
// Both mark what they write in its metadata, under "torchtraceap": no reader takes a
// schedule for a recording. Streams that fail make them throw std::ios_base::failure;
// paths that cannot be written, or end in .gz, std::invalid_argument.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "replay/model.h"
#include "replay/scheduler.h"

namespace tta::write {

/// Writes what one rank of a scheduled program did: operators, annotations, calls and
/// device work, with correlation ids (a call's number in the file, from 1), External
/// ids, ac2g flows and deviceProperties, as Kineto does. The process is 100 + rank.
/// Metadata: {"simulated": true, "rank": ..., `note`}: what else readers are to know,
/// as text of JSON members, `"key": value, ...`.
void write_program(const replay::Program& program, const replay::Schedule& schedule,
                   std::ostream& out, std::uint32_t rank = 0,
                   const std::string& note = "",
                   const replay::Checkpoint& checkpoint = replay::go_on);
void write_program(const replay::Program& program, const replay::Schedule& schedule,
                   const std::string& path, std::uint32_t rank = 0);

/// Writes a recorded trace with all its rows where a changed schedule of its model has
/// them: `times` of each point, from Graph::schedule or equal in length. Names,
/// categories and args stay; device work and calls are exactly where the schedule says,
/// rows between two points of their thread or stream move and stretch with the time
/// between them, rows of threads that the model leaves out as those of their process's
/// busiest thread do. Args are read again from the file (Trace::visit_args, and throws
/// what that throws). Metadata: {"what_if": `note`, "of": path}, beside the trace's
/// own: of a simulation it is one again. Rows of `left_out` (ascending) are not
/// written, nor flows of calls among them.
void write_what_if(const replay::Model& model, std::span<const std::int64_t> times,
                   const std::string& note, std::ostream& out,
                   std::span<const std::uint32_t> left_out = {},
                   const replay::Checkpoint& checkpoint = replay::go_on);
void write_what_if(const replay::Model& model, std::span<const std::int64_t> times,
                   const std::string& note, const std::string& path,
                   std::span<const std::uint32_t> left_out = {},
                   const replay::Checkpoint& checkpoint = replay::go_on);

}  // namespace tta::write
