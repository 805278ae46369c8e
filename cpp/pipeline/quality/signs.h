// SPDX-License-Identifier: BSD-3-Clause
// pipeline/quality/signs.h: the signs by which a trace is judged, a function for each
// family.
//
// Each adds notes to a Quality. `docs/reading.md` has a row for every kind.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/report.h"
#include "timeline/timeline.h"

namespace tta::pipeline {

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
/// How device work was tied to its launches where that was not by correlation.
void describe_links(const timeline::Timeline& timeline, Quality& quality);
/// Device work that starts before its launch does.
void find_clock_skew(const timeline::Timeline& timeline, Quality& quality);
/// Events that overlap where they should nest or follow each other, and ends that
/// cannot be true.
void find_overlaps(const timeline::Timeline& timeline, Quality& quality);
/// What the profiler logged of itself, the loader's warnings, and what was not loaded.
void read_load_notes(const timeline::Timeline& timeline, Quality& quality);

}  // namespace tta::pipeline
