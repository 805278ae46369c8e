// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/translation.h: a file of Perfetto's as the JSON that Kineto would
// write.
//
// Each pass makes the text again, as it inflates gzip again: the text is not kept, and
// places in it stay valid.
#pragma once

#include <memory>

#include "trace/pftrace/index.h"

namespace tta::trace {

/// Reads packets from `bytes` as text. Slices become events with a length (ph X), work
/// of devices too; instants, counters, flows, names of processes and threads, and
/// metadata become what they are in JSON. Where a file states no categories, as torch's
/// do not, names and args tell them: operators and the user's annotations on the host
/// look alike, except that annotations of torch's have known names, and that some have
/// a copy on the device.
///
/// What a JSON file may not have ends in the same way: slices that nothing ends have no
/// length (ph B), ends of nothing are ph E. Packets that cannot be read are damage(),
/// of kind "pftrace_truncated" or "pftrace_damaged".
std::unique_ptr<TextReader> read_pftrace(std::unique_ptr<TextReader> bytes,
                                         std::shared_ptr<const pftrace::Index> index,
                                         const LoadOptions& limits);

}  // namespace tta::trace
