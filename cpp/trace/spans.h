// SPDX-License-Identifier: BSD-3-Clause
// trace/spans.h: spans that a file has as a beginning (ph B) and an end (ph E).
//
// Kineto writes spans as one event (ph X); other writers of the Chrome format, and
// tools that convert traces, write two.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trace/trace.h"

namespace tta::trace {

/// Makes each beginning of a known category that has an end an event of phase X, whose
/// name and ids the end completes, and whose kept args are those of both. An end closes
/// what its thread (pid and tid) began last. `kept` has the number of the text of each
/// row, and is empty if none are kept. Returns the rows that remain, ascending, without
/// the ends that were used and what LoadOptions::keep leaves out; nothing if no row
/// begins or ends.
///
/// For rows in the order of trace/order.h. At one moment ends close what began before,
/// then what begins is opened, then what lasts no time is closed. An end that has a
/// name or category closes what began with it, of all that began last at one moment. So
/// the order in the file says nothing where ends do. Where some do not, of what happens
/// at one moment on their thread, only that order tells what encloses what: what begins
/// later in the file is inside, and if all halves of the thread are in order of time,
/// as the Chrome format asks, they are taken one after the other.
///
/// Beginnings without an end stay as they are, untimed; ends without a beginning are
/// dropped. Both are counted in Trace::warnings. What has no known category is in no
/// figure, and stays as it is, its ends too. O(n log n) in the halves of a thread.
std::optional<std::vector<std::uint32_t>> pair_spans(
    Trace& trace, std::vector<std::uint32_t>& kept,
    const std::function<void()>& checkpoint);

}  // namespace tta::trace
