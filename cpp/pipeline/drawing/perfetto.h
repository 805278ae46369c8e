// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/perfetto.h: a copy of a trace with its report.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "pipeline/drawing/label_tracks.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// Writes the report's trace with the tracks of label_tracks.h as the last events of
/// its list: rows of the copy have the same numbers as the original's. The text of a
/// sound trace is copied byte for byte (write/json_text.h), also events that loading
/// left out; for a recovered one, the readable rows (write/write_rows.h) and metadata
/// are written.
///
/// Linear in the text. Throws what these do, and std::ios_base::failure if the stream
/// fails.
void write_perfetto(const Report& report, const std::vector<FindingText>& findings,
                    std::ostream& out);

/// The same into a file; throws what write::write_file does.
void write_perfetto(const Report& report, const std::vector<FindingText>& findings,
                    const std::string& path);

}  // namespace tta::pipeline
