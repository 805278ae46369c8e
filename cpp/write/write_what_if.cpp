// SPDX-License-Identifier: BSD-3-Clause
// write/write_what_if.cpp: a recorded trace again, each row at another time.
#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

#include "replay/perturbation_check.h"
#include "replay/time_maps.h"
#include "trace/args.h"
#include "write/json_text.h"
#include "write/output.h"
#include "write/write_inserted.h"
#include "write/write_rows.h"
#include "write/write_trace.h"

namespace tta::write {
namespace {

using replay::Checkpoint;
using replay::InsertedTime;
using replay::Model;
using replay::Perturbation;
using replay::Perturbed;
using replay::TimeMaps;

class WhatIfWriter {
 public:
  WhatIfWriter(const Model& m, std::span<const std::int64_t> times, std::ostream& out,
               std::span<const std::uint32_t> left_out,
               std::span<const InsertedTime> inserted, const Checkpoint& checkpoint)
      : trace_(*m.timeline->trace),
        maps_(m, times, inserted),
        out_(out),
        left_out_(left_out),
        checkpoint_(checkpoint) {
    const auto& c = trace_.columns;
    for (const auto row : left_out) {
      if (c.cat_info(row).runtime_api) gone_.insert(c.correlation[row]);
    }
  }

  // A trace on its own: members of the metadata as `kept` says, and where it is from.
  void header(const std::string& note,
              const std::function<bool(const std::string&)>& kept, bool with_path) {
    out_ << "{";
    for (const auto& [key, json] : trace_.metadata) {
      if (key == "torchtraceap" || !kept(key)) continue;
      out_ << json_string(key) << ": " << json << ",\n";
    }
    out_ << "\"torchtraceap\": {\"what_if\": " << json_string(note);
    if (with_path) out_ << ", \"of\": " << json_string(trace_.path);
    // A simulation with changes is still none.
    trace::for_each_member(trace_.metadata_json("torchtraceap"),
                           [&](auto key, auto value) {
                             if (key == "what_if" || key == "of") return;
                             out_ << ", \"" << key << "\": " << value;
                           });
    out_ << "},\n\"traceEvents\": [";
  }
  void rows(EventList& list) {
    write_rows(
        trace_, list, [this](std::uint32_t row) { return maps_.of(row); },
        [this](std::uint32_t row) { return is_gone(row); }, checkpoint_);
  }

 private:
  bool is_gone(std::uint32_t row) const {
    const auto& c = trace_.columns;
    const auto phase = c.phase[row];
    return std::binary_search(left_out_.begin(), left_out_.end(), row) ||
           ((phase == 's' || phase == 'f') && gone_.contains(c.correlation[row]));
  }

  const trace::Trace& trace_;
  TimeMaps maps_;
  std::ostream& out_;
  std::span<const std::uint32_t> left_out_;
  const Checkpoint& checkpoint_;
  std::set<std::int64_t> gone_;  // correlations of calls
};

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
  WhatIfWriter writer(model, times, out, left_out, {}, checkpoint);
  writer.header(note, [](auto&) { return true; }, true);
  EventList list(out);
  writer.rows(list);
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

void write_perturbed(const Model& model, const Perturbation& perturbation,
                     const Perturbed& schedule, const std::string& note,
                     std::span<const std::string> metadata, std::ostream& out,
                     const Checkpoint& checkpoint) {
  replay::check_perturbation(model, perturbation);
  replay::check_schedule(model, perturbation, schedule);
  const FailingStream fails(out);
  const auto inserted = replay::inserted_times(model, perturbation, schedule);
  WhatIfWriter writer(model, schedule.times, out, schedule.left_out, inserted,
                      checkpoint);
  writer.header(
      note,
      [&](const std::string& key) {
        return std::find(metadata.begin(), metadata.end(), key) != metadata.end();
      },
      false);
  EventList list(out);
  writer.rows(list);
  InsertedRows rows(model);
  for (std::size_t i = 0; i < perturbation.insertions.size(); ++i) {
    rows.write(perturbation.insertions[i], schedule.inserted[i], list);
  }
  out << "\n]}\n";
}

}  // namespace tta::write
