// SPDX-License-Identifier: BSD-3-Clause
// patterns/host_ops.h: which operators of a thread do work, and what is spent around
// them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "patterns/rule.h"

namespace tta::patterns {

/// Tells whether a cpu_op's name is an operator's ("aten::add", "torchvision::nms"), as
/// opposed to a range that only encloses some: of autograd, DDP, a module.
bool names_an_operator(std::string_view name);

/// Marks the rows that have a cpu_op among their children. Linear.
std::vector<char> rows_with_operators(const timeline::Timeline& timeline);

/// Returns the rows of a thread that begin inside `time`, in order. O(log n).
std::span<const std::uint32_t> rows_in(const timeline::Timeline& timeline,
                                       std::uint32_t lane, Interval time);

/// What a thread spent on calling operators inside `time`, rather than on their work:
/// the time between operators, and what of an operator is shorter than `real_work`
/// from one beginning or end of an operator to the next. Stretches of more than
/// `max_pause` without an operator are left out: nobody knows what went on.
/// O(n log n) in the rows of the thread that begin inside `time`.
IntervalSet calling_time(const timeline::Timeline& timeline, std::uint32_t lane,
                         Interval time, std::int64_t real_work, std::int64_t max_pause);

}  // namespace tta::patterns
