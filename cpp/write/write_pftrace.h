// SPDX-License-Identifier: BSD-3-Clause
// write/write_pftrace.h: a trace as Perfetto's packets.
#pragma once

#include <ostream>
#include <string>

#include "trace/trace.h"

namespace tta::write {

/// Writes all rows of a trace in order of time (trace/order.h), and its metadata.
/// Loading that gives the same rows, with these exceptions: a flow (ph s, t, f) is one
/// of the slice around it, and is left out if there is none; each series of a counter
/// (ph C) is a counter; rows that name anything but processes and threads are left out.
///
/// Slices that overlap without one enclosing the other cannot be on one track of
/// Perfetto's: the later one goes to a track below the thread's. Args are numbers,
/// texts, lists and dictionaries, as in the file.
///
/// Memory: as much as the text of all args, and 50 bytes a row. Throws what
/// Trace::read_args throws, and std::ios_base::failure if the stream fails.
void write_pftrace(const trace::Trace& trace, std::ostream& out);

/// The same into a file, of a trace that was just loaded, whose rows it orders. Throws
/// what write_file does, too.
void write_pftrace(trace::Trace&& trace, const std::string& path);

}  // namespace tta::write
