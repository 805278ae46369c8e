// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/label_tracks.h: a report as trace events: tracks that Perfetto shows
// beside the recorded ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/report.h"
#include "write/json_text.h"

namespace tta::pipeline {

/// The text of a finding, worded by the caller.
struct FindingText {
  std::string name;
  std::string args;  ///< A JSON object.
};

/// Writes tracks of a process of their own, for each device, or for each process of a
/// trace without device work:
/// - its windows, named by their labels;
/// - one track for each pattern with findings: the stretches of time they claim;
/// - counters: how much of the time is idle by cause, in percent of up to 1000 equal
///   parts of the span, and launches that wait for the device. The events have no
///   category and are on no thread of the trace, so that trace readers do not attribute
///   them to the program. `findings`: one text per finding of the report. Linear in
///   windows, claims and launches, plus sorting claims.
void write_label_tracks(const Report& report, const std::vector<FindingText>& findings,
                        write::EventList& list);

}  // namespace tta::pipeline
