// SPDX-License-Identifier: BSD-3-Clause
// patterns/marks.h: blame for idle time, given to what the launching thread did.
//
// A device runs dry and waits for the next launch. Who is to blame is what the thread
// that made this launch was doing meanwhile. Most rules of host-side causes only have
// to say which of a thread's events are theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Notes where a pattern occurs (Findings::sites), in place of what was noted before.
void note_sites(const Context& context, PatternId pattern, std::vector<Mark> marks);

/// Returns the host's row of a site: that of its launch, if device work proves it and
/// its launch is known.
std::uint32_t host_row(const timeline::Timeline& timeline, const Mark& site);
/// Returns when the host began a site.
std::int64_t begin_of(const timeline::Timeline& timeline, const Mark& site);

/// Claims the idle time of each device that falls into a mark of the thread which was
/// to launch next: the mark is on that thread, or that thread did nothing else in the
/// meantime. Time after the launch was made is not claimed (the host was not late), nor
/// idle time that no launch ended, unless `at_the_end`. A launch that was under way
/// when the device ran dry is late only if it was slow (2 ms, see dispatching.h) and a
/// mark is that launch or holds all of it.
///
/// Of a trace without device work, claims what of a process's time falls into marks
/// that hold up its main thread. Where marks overlap, those of the launching thread
/// come first, then the one that begins first, so give nested ones once. Marks in any
/// order; they are noted as sites. O((marks + gaps) log n) a device.
std::vector<Claim> claim_marks(const Context& context, PatternId pattern,
                               std::vector<Mark> marks, bool at_the_end = false);

/// Tells whether a thread could not go on because of a mark: it is the mark's own
/// thread, or ran no operator and no runtime call in that time.
bool holds_up(const timeline::Timeline& timeline, std::uint32_t lane,
              std::uint32_t mark, Interval time);

}  // namespace tta::patterns
