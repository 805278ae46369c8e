// SPDX-License-Identifier: BSD-3-Clause
// write/write_what_if.cpp: a recorded trace again, each row at another time.
#include <stdexcept>

#include "replay/time_maps.h"
#include "trace/args.h"
#include "write/json_text.h"
#include "write/output.h"
#include "write/write_rows.h"
#include "write/write_trace.h"

namespace tta::write {
namespace {

using replay::Checkpoint;
using replay::Model;

// A trace on its own: its metadata, and where it is from.
void write_header(const trace::Trace& trace, const std::string& note,
                  std::ostream& out) {
  out << "{";
  for (const auto& [key, json] : trace.metadata) {
    if (key != "torchtraceap") out << json_string(key) << ": " << json << ",\n";
  }
  out << "\"torchtraceap\": {\"what_if\": " << json_string(note)
      << ", \"of\": " << json_string(trace.path);
  // A simulation with changes is still none.
  trace::for_each_member(trace.metadata_json("torchtraceap"),
                         [&](auto key, auto value) {
                           if (key == "what_if" || key == "of") return;
                           out << ", \"" << key << "\": " << value;
                         });
  out << "},\n\"traceEvents\": [";
}

}  // namespace

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, std::ostream& out,
                   std::span<const std::uint32_t> left_out,
                   const Checkpoint& checkpoint) {
  if (times.size() != model.points.size()) {
    throw std::invalid_argument("a schedule of another model: it has " +
                                std::to_string(times.size()) + " points of " +
                                std::to_string(model.points.size()));
  }
  const FailingStream fails(out);
  const auto& trace = *model.timeline->trace;
  write_header(trace, note, out);
  const replay::TimeMaps maps(model, times);
  const LeftOut gone(trace, left_out);
  EventList list(out);
  write_rows(
      trace, list, [&](std::uint32_t row) { return maps.of(row); },
      [&](std::uint32_t row) { return gone.has(row); }, checkpoint);
  out << "\n]}\n";
}

void write_what_if(const Model& model, std::span<const std::int64_t> times,
                   const std::string& note, const std::string& path,
                   std::span<const std::uint32_t> left_out,
                   const Checkpoint& checkpoint) {
  write_file(path, [&](std::ostream& out) {
    write_what_if(model, times, note, out, left_out, checkpoint);
  });
}

}  // namespace tta::write
