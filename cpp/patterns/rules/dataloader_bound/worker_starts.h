// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/dataloader_bound/worker_starts.h: first batches, for which a loader's
// workers had to start.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "timeline/timeline.h"

namespace tta::patterns {

/// Tells by the name of a `next(loader)` mark whether worker processes load.
bool loads_in_workers(std::string_view mark);

/// What a program paid for once an iterator of a loader with workers: they start, and
/// no batch has been made ahead. Later batches may all be there in time.
struct WorkerStarts {
  /// Waits for the first batch of an iterator: the marks of `next(loader)` after it was
  /// made, as frames tell. Without frames, a thread's first mark (of a program that can
  /// have begun there) and those after a mark that brought no batch, if each took three
  /// times as long as any other.
  std::unordered_set<std::uint32_t> first_batches;
  /// Frames in which iterators were made or ended, with their workers.
  std::vector<std::uint32_t> frames;
};

/// Linear in the rows of threads with such marks.
WorkerStarts worker_starts(const timeline::Timeline& timeline);

/// Sub-types of dataloader_bound, in the order of its `subtypes`.
enum class LoaderKind : std::uint8_t { kSingleProcess, kMultiProcess, kWorkerStart };

/// A stretch in which a thread had to do with its loader, and the event that shows it.
struct LoaderTime {
  timeline::Interval time;
  std::uint32_t row;
  LoaderKind kind;
};

/// Lists them within the span, by begin: all marks, and the frames of worker_starts().
std::vector<LoaderTime> loader_times(const timeline::Timeline& timeline);

}  // namespace tta::patterns
