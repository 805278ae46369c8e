// SPDX-License-Identifier: BSD-3-Clause
// timeline/merged_devices.h: devices of several processes under one number in a file.
#pragma once

#include "timeline/lanes.h"
#include "timeline/links.h"

namespace tta::timeline {

/// Gives each device of a file merged from several ranks a key of its own.
///
/// Ranks that see one GPU each all call it device 0, and merging tools only make the
/// pids differ ("[TP01] 0", pid + 10000 * rank); Kineto itself writes a device's rows
/// under one pid. So streams with one device number and several pids are of several
/// devices, unless one process is known to feed them. The one of the least pid keeps
/// its number as key. O(n log n) in the lanes.
void tell_devices_apart(const trace::Trace& trace, const Links& links, Lanes& lanes);

}  // namespace tta::timeline
