// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/label_tracks.h: what a report says of a trace, as events of a trace:
// tracks that Perfetto shows beside what was recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "write/json_text.h"

namespace tta::pipeline {

/// How a finding is shown, as whoever presents reports words it.
struct FindingText {
  std::string name;
  std::string args;  ///< A JSON object.
};

/// Writes tracks of a process of their own, for each device, or for each process of a
/// trace without device work:
/// - its windows, named by their labels;
/// - one track for each pattern with findings: the stretches of time they claim;
/// - counters: how much of the time is idle by cause, in percent of up to 1000 equal
///   parts of the span, and launches that wait for the device.
/// The events have no category and lie on no thread of the trace, so that a reader of
/// traces takes them for none of the program's. `findings`: a text for each of the
/// report's. Linear in windows, claims and launches, but for sorting claims.
void write_label_tracks(const Report& report, const std::vector<FindingText>& findings,
                        write::EventList& list);

}  // namespace tta::pipeline
