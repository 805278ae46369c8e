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

/// A gap between two operators or calls is a pause from here on, where no Python frames
/// tell: 60 us, and 6 of the thread's median gaps (measured on 148 simulated traces
/// with known gains; public traces have a median of 2-40 us, with frames recorded
/// more).
inline constexpr std::int64_t kLeastPause = 60'000;
inline constexpr std::int64_t kPauseFactor = 6;
/// Up to here it is most likely Python of the program. What lies between two calls for
/// longer may be anything (workers that start, a file that is written, another run):
/// experts who labeled real traces left 0.84 to 3 s without an event unexplained.
inline constexpr std::int64_t kLongestPause = 500'000'000;

/// From which length on a gap of a thread without frames is a pause. Linear.
std::int64_t least_pause(const timeline::Timeline& timeline, std::uint32_t lane);

/// Marks what a thread without Python frames did between two operators or calls while
/// nothing was recorded, outside of `apart`: pauses up to kLongestPause, less the
/// thread's median gap, by the rows that end them. Before the thread's first and after
/// its last row activity is unknown; inside one of torch's own operators it is that;
/// and a pause in which another of the threads `working` was at work held nothing up.
/// Empty for a thread with frames. O(n log n) in the rows of the threads.
std::vector<Mark> unrecorded_pauses(const timeline::Timeline& timeline,
                                    std::uint32_t lane, const IntervalSet& apart,
                                    const std::vector<std::uint32_t>& working);

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
