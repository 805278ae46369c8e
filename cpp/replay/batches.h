// SPDX-License-Identifier: BSD-3-Clause
// replay/batches.h: waits for batches that worker processes load at their own rate.
//
// While a loader is the limit its workers never rest, so the next batch comes when it
// comes, however soon it is asked for: a faster program waits longer. Copied as time of
// the program, such a wait would stay as long, and a fix of launches seem to gain what
// the loader takes back.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/hand_over.h"

namespace tta::replay {

/// Returns, as hand-overs of a thread to itself, which waits for a batch end so long
/// after the wait for a batch before as recorded (`least`). Linear in the marks of the
/// loader.
std::vector<HandOver> find_batches(const timeline::Timeline& timeline);

}  // namespace tta::replay
