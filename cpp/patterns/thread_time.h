// SPDX-License-Identifier: BSD-3-Clause
// patterns/thread_time.h: what a thread's time went into: calling operators, Python and
// nothing that Python called, or nothing that is recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "patterns/dispatching.h"
#include "patterns/rule.h"

namespace tta::patterns {

/// Lists the threads that matter: those that launched device work, or the main threads
/// of a trace without device work. Ascending.
std::vector<std::uint32_t> working_lanes(const timeline::Timeline& timeline);

/// When events begin and end, given in order of start. Ends come in order where events
/// nest: each after those before it.
class Moments {
 public:
  void add(std::int64_t begin, std::int64_t end);
  /// Returns all moments, ascending. Linear where events nest, else O(n log n).
  std::vector<std::int64_t> take();

 private:
  std::vector<std::int64_t> all_, open_;
};

/// The stretches of a thread, longer than `min_pause` nanoseconds, in which no operator
/// and no runtime call began or ended; before the first and after the last too. Linear.
IntervalSet pauses(const timeline::Timeline& timeline, std::uint32_t lane,
                   std::int64_t min_pause);

/// Returns the median time between two such moments with nothing open; 0 without two.
/// Linear.
std::int64_t typical_gap(const timeline::Timeline& timeline, std::uint32_t lane);

/// Time inside `time` that a thread spent on calling operators rather than on their
/// work: the time between operators, and stretches inside operators shorter than
/// `real_work` from one beginning or end of an operator to the next. Stretches of more
/// than `max_pause` without an operator are left out: their activity is unknown. O(n
/// log n) in the rows of the thread that begin inside `time`.
IntervalSet calling_time(const timeline::Timeline& timeline, std::uint32_t lane,
                         Interval time, std::int64_t real_work, std::int64_t max_pause);

/// Tells whether Python frames of a thread were recorded.
bool has_frames(const timeline::Timeline& timeline, std::uint32_t lane);

/// What a pause is where frames tell what it was spent on: on the way to a launch
/// Python takes up to 100 us in public traces (max_pause, dispatching.h).
inline constexpr std::int64_t kFramePause = 200'000;

/// Sub-types of host_bound_python, in the order of its `subtypes`.
enum PythonKind : std::uint8_t { kRecorded, kUnrecorded };

/// A stretch in which the innermost event of a thread was one Python frame.
struct PythonStretch {
  Interval time;
  std::uint32_t frame = 0;  ///< Row of that frame, a builtin's included.
};

/// Lists a thread's Python self time that lies in pauses: stretches longer than
/// `min_pause` nanoseconds in which no operator and no runtime call began or ended. In
/// order of time, not overlapping. Empty where no frames were recorded. Time in
/// builtins that wait for another thread, process or device is left out. O(n log n) in
/// the thread's rows.
std::vector<PythonStretch> python_self_time(const timeline::Timeline& timeline,
                                            std::uint32_t lane, std::int64_t min_pause);

/// Marks the self time of the Python functions that were entered in a gap before a late
/// launch, where it is most of the gap; `late` as late_dispatch() lists it. Python has
/// to have 60 us of a gap, less what recording its frames took: beside a launch's
/// dispatch, which takes 5-50 us in public traces, less is not the program's own work.
/// O(n log n) in the threads' rows.
std::vector<Mark> python_in_gaps(const timeline::Timeline& timeline,
                                 const std::vector<LateDispatch>& late);

}  // namespace tta::patterns
