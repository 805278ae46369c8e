// SPDX-License-Identifier: BSD-3-Clause
// lab/perturbation.h: what a recorded program might have done besides: a wait, a
// pause, copies, kernels in place of one, collectives that others join late.
//
// A perturbation changes the schedule, never the rows: the trace is scheduled with it
// and without, both by events, so what it costs is exact and the same rules move all
// that comes after.
//
// It makes traces for a corpus whose truth is known (lab/corpus, source P), from
// Python, which may hand in anything: what is taken here refuses with
// std::invalid_argument what would leave its own arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "replay/model.h"
#include "replay/program.h"
#include "replay/time_maps.h"
#include "trace/columns.h"

namespace tta::lab {

using replay::Checkpoint;
using replay::DeviceWork;
using replay::kNone;
using replay::Model;
using replay::Operation;
using replay::OpKind;
using replay::Program;
using replay::TaskKind;

/// What a thread does beside what was recorded, all at one moment. Operations open
/// what they close; they neither signal nor wait for signals. Made one by one with
/// InsertionDraft (insertion_draft.h).
struct Insertion {
  /// Whose threads, streams and rows it names. Kept, so that no other model comes to be
  /// where it was.
  std::shared_ptr<const Model> model;
  std::uint32_t lane = timeline::kNoLane;
  /// On the trace's clock, as recorded: between two calls of the thread, and where it
  /// waits for no other one. What ends then ends before, what begins then after.
  std::int64_t at = 0;
  /// `work` counts in Insertion::work, `stream` in Tasks::streams, `id` from 0.
  std::vector<Operation> operations;
  std::vector<trace::Category> categories;  ///< Of the rows of operations.
  std::vector<DeviceWork> work;             ///< `stream` likewise.
  std::uint32_t events = 0;                 ///< How many the operations name.
  /// Row of device work in place of which this is done; kNoRow: of none.
  std::uint32_t stands_for = timeline::kNoRow;
};

struct LongerWork {
  std::uint32_t row = timeline::kNoRow;
  std::int64_t ns = 0;  ///< Added to its length.
};

struct Perturbation {
  std::vector<Insertion> insertions;
  std::vector<LongerWork> longer;
  /// Device work that is not done, nor launched.
  std::vector<std::uint32_t> replaced;
  /// Rows of the host that are not written: of operators that were replaced.
  std::vector<std::uint32_t> unwritten;
};

/// When an insertion came to pass; in time of the schedule.
struct InsertedTimes {
  std::vector<timeline::Interval> operations, work;
};

/// A trace with a perturbation and a Change made.
struct Perturbed {
  const Model* model = nullptr;     ///< Of that trace; must outlive its use here.
  std::vector<std::int64_t> times;  ///< Of the model's points.
  std::vector<InsertedTimes> inserted;
  std::int64_t span = 0;                ///< From the first to the last of all moments.
  std::vector<std::uint32_t> left_out;  ///< Ascending: rows that are not written.
};

/// Finds the thread of a process, or the place of a stream in Tasks::streams, as the
/// file numbers them. Throws std::invalid_argument if nothing is scheduled there.
std::uint32_t lane_of_thread(const Model& model, std::int64_t pid, std::int64_t tid);
std::uint32_t place_of_stream(const Model& model, std::int32_t device,
                              std::int64_t stream);

/// Throws std::invalid_argument unless a perturbation is one of this model: each
/// insertion is made for it, names threads, streams and work that are there, closes all
/// that it opens and no more, replaces only device work, if any; args are members of a
/// JSON object; lengthened or replaced rows are device work, omitted rows are of the
/// host; no length of inserted work is negative, and all together stay below
/// trace::kTimeLimit. Linear.
void check_perturbation(const Model& model, const Perturbation& perturbation);

/// Schedules by events (model_program.h), with work waiting for the causes that the
/// model found. `weights`: of the graph's edges, from a Change that drops what is
/// replaced. O(n log n). Throws what check_perturbation() and schedule() throw, and
/// std::invalid_argument for an insertion that is inside a call, in a wait for another
/// thread, or outside its thread's time.
Perturbed schedule_perturbed(const Model& model, const timeline::EventArgs& args,
                             const Perturbation& perturbation,
                             std::span<const std::int64_t> weights,
                             const Checkpoint& checkpoint = replay::go_on);

/// Returns where insertions came to be, on the trace's clock.
std::vector<replay::InsertedTime> inserted_times(const Model& model,
                                                 const Perturbation& perturbation,
                                                 const Perturbed& schedule);

/// What follows throws std::invalid_argument for schedules of another model or another
/// perturbation, and what check_perturbation() throws.

/// Returns the rows of threads, ascending, that took time when recorded and take none
/// in a schedule: what a change takes away was not done. Calls whose work is done
/// still are not among them. Linear in the rows.
std::vector<std::uint32_t> emptied_rows(const Model& model,
                                        const Perturbation& perturbation,
                                        const Perturbed& schedule);

/// Returns moments of a device of the timeline on the trace's clock, in one schedule
/// and in another: the same steps of its work, and of its threads while it idles.
/// Neither ever goes back. A stand-in for other work is as far as that in proportion.
/// For a trace without device work: moments of its busiest thread. O(n log n).
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> moments_of(
    const Model& model, const Perturbation& perturbation, const Perturbed& with,
    const Perturbed& without, std::size_t device);

}  // namespace tta::lab
