// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/quality.h: says, before anything else does, how far a trace can be
// trusted.
#pragma once

#include <cstdint>
#include <string>

#include "graphs/replays.h"
#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

// The signs by which a trace is judged, a function for each family.  Each adds notes
// to a Quality. `docs/reading.md` has a row for every kind.

/// From this share on, what is missing or damaged falsifies the figures.
inline constexpr double kLostShare = 0.05;

/// `part` / `whole`, 0 of nothing.
double share(std::uint64_t part, std::uint64_t whole);
/// "3 of 40".
std::string of(std::uint64_t part, std::uint64_t whole);

/// Adds a note and lowers the verdict to what it says.
void add(Quality& quality, Verdict verdict, const char* kind, std::uint64_t count,
         std::string detail);
/// Adds a note that device work is missing: degraded, and incomplete.
void add_loss(Quality& quality, const char* kind, std::uint64_t count,
              std::string detail);

/// Nothing that torch.profiler writes, but events of another profiler: unusable.
/// Returns whether that is so.
bool find_other_profiler(const timeline::Timeline& timeline, Quality& quality);
/// Launches without work, work without launches, waits for work that is not there.
void find_lost_records(const timeline::Timeline& timeline, Quality& quality);
/// Steps whose device work is missing while others have theirs.
void find_lost_steps(const timeline::Timeline& timeline, Quality& quality);
/// Graph launches that have fewer kernels than others of the same graph.
void find_short_graphs(const timeline::Timeline& timeline, Quality& quality);
/// The same of graphs with an id, known once their replays are; nothing if it is there
/// already.
void find_cut_replays(const graphs::Replays& replays, Quality& quality);
/// Most device work after the last step of a serving engine: delivered in a burst.
void find_work_after_steps(const timeline::Timeline& timeline, Quality& quality);
/// How device work was tied to its launches where that was not by correlation.
void describe_links(const timeline::Timeline& timeline, Quality& quality);
/// Device work that starts before its launch does.
void find_clock_skew(const timeline::Timeline& timeline, Quality& quality);
/// Events that overlap where they should nest or follow each other, and ends that
/// cannot be true.
void find_overlaps(const timeline::Timeline& timeline, Quality& quality);
/// What the profiler logged of itself, the loader's warnings, and what was not loaded.
void read_load_notes(const timeline::Timeline& timeline, Quality& quality);

// What the trace says about itself.

/// Reads devices, rank, world size, span and whether the trace is simulated.
TraceFacts read_facts(const timeline::Timeline& timeline);

/// Judges what is missing from the trace and what is wrong in it. docs/reading.md lists
/// the kinds of notes, their thresholds and where these come from. `facts.devices` must
/// be filled.
///
/// Of a trace of which a part was loaded (Trace::left_out), what is missing cannot be
/// judged: what a filter left out looks like what the profiler lost. A note says so.
/// O(n log n) in the rows.
Quality judge(const timeline::Timeline& timeline, const TraceFacts& facts);

/// The same for a trace without a timeline yet; building that is most of the cost.
Quality judge(const trace::Trace& trace);

}  // namespace tta::pipeline
