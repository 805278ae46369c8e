// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/perfetto.cpp: the old events, then ours.
#include "pipeline/drawing/perfetto.h"

#include "write/json_text.h"
#include "write/output.h"
#include "write/write_rows.h"

namespace tta::pipeline {
namespace {

void write_recovered(const trace::Trace& trace, std::ostream& out,
                     write::EventList& list) {
  out << "{";
  for (const auto& [key, json] : trace.metadata) {
    out << write::json_string(key) << ": " << json << ",\n";
  }
  out << "\"traceEvents\": [";
  const auto& c = trace.columns;
  write::write_rows(
      trace, list,
      [&](std::uint32_t row) {
        return timeline::Interval{c.ts[row], c.timed(row) ? c.end(row) : c.ts[row]};
      },
      [](std::uint32_t) { return false; });
}

}  // namespace

void write_perfetto(const Report& report, const std::vector<FindingText>& findings,
                    std::ostream& out) {
  const write::FailingStream fails(out);
  const auto& trace = *report.timeline->trace;
  write::EventList list(out);
  if (write::has_whole_text(trace)) {
    write::copy_text(trace, out, [&](bool empty) {
      if (!empty) out << ",";
      write_label_tracks(report, findings, list);
      out << "\n";
    });
    return;
  }
  write_recovered(trace, out, list);
  write_label_tracks(report, findings, list);
  out << "\n]}\n";
}

void write_perfetto(const Report& report, const std::vector<FindingText>& findings,
                    const std::string& path) {
  write::write_file(path,
                    [&](std::ostream& out) { write_perfetto(report, findings, out); });
}

}  // namespace tta::pipeline
