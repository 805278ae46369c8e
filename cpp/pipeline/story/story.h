// SPDX-License-Identifier: BSD-3-Clause
// pipeline/story/story.h: a guided look at a report: a few questions in the order in
// which one would ask them, each with an answer in figures.
#pragma once

#include <vector>

#include "pipeline/report.h"

namespace tta::pipeline {

/// Answers, in this order and so far as there is something to say:
///
///   busy     is the device busy?
///   idle     if not, why: idle time by cause, biggest first
///   limit    which side is the limit, host or device, and how far is the other behind?
///   work     what fills the busy time: large kernels, small ones, communication,
///   copies overlap  do communication and copies run beside computation? gain     what
///   would matter most, and how much could it save?
///
/// The limit and the relevant fixes are left out for a trace whose quality is not ok:
/// both depend too much on the missing parts. The figures of several devices are added
/// up. O(n log n) in the device rows; made on request.
std::vector<Stage> tell_story(const Report& report);

}  // namespace tta::pipeline
