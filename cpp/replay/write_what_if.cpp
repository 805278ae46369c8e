// SPDX-License-Identifier: BSD-3-Clause
// replay/write_what_if.cpp: a recorded trace again, each row at another time.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "replay/json_text.h"
#include "replay/output.h"
#include "replay/time_maps.h"
#include "replay/write_trace.h"

namespace tta::replay {
namespace {

using trace::Category;

constexpr std::uint32_t kRowsBetween = 1 << 14;  // from checkpoint to checkpoint

class Writer {
 public:
  Writer(const Model& m, std::span<const std::int64_t> times, std::ostream& out,
         std::span<const std::uint32_t> left_out, const Checkpoint& checkpoint)
      : trace_(*m.timeline->trace),
        maps_(m, times),
        out_(out),
        list_(out),
        left_out_(left_out),
        checkpoint_(checkpoint) {
    const auto& c = trace_.columns;
    for (const auto row : left_out) {
      if (c.cat_info(row).runtime_api) gone_.insert(c.correlation[row]);
    }
  }

  void run(const std::string& note) {
    out_ << "{";
    for (const auto& [key, json] : trace_.metadata) {
      if (key == "torchtraceap") continue;
      out_ << quoted(key) << ": " << json << ",\n";
    }
    out_ << "\"torchtraceap\": {\"what_if\": " << quoted(note)
         << ", \"of\": " << quoted(trace_.path) << "},\n\"traceEvents\": [";
    const auto& c = trace_.columns;
    std::vector<std::uint32_t> with_args;
    for (std::uint32_t row = 0; row < c.size(); ++row) {
      if (c.args_length[row] > 0) with_args.push_back(row);
    }
    std::uint32_t next = 0;
    trace_.visit_args(with_args, [&](std::size_t i, std::string_view args) {
      for (; next < with_args[i]; ++next) write(next, "");
      write(next++, args);
    });
    for (; next < c.size(); ++next) write(next, "");
    out_ << "\n]}\n";
  }

 private:
  std::string identity(std::int64_t id) const {
    return id < trace::kTextIdentity ? std::to_string(id) : quoted(trace_.identity(id));
  }

  void write(std::uint32_t row, std::string_view args) {
    const auto& c = trace_.columns;
    const auto phase = c.phase[row];
    if (row % kRowsBetween == 0) checkpoint_();
    if (std::binary_search(left_out_.begin(), left_out_.end(), row)) return;
    if ((phase == 's' || phase == 'f') && gone_.contains(c.correlation[row])) return;
    std::string text = "\"name\": " + quoted(trace_.name(row));
    if (c.cat(row) != Category::kUnknown) {
      text += ", \"cat\": " + quoted(c.cat_info(row).name);
    }
    if (c.pid[row] != trace::kNoId) text += ", \"pid\": " + identity(c.pid[row]);
    if (c.tid[row] != trace::kNoId) text += ", \"tid\": " + identity(c.tid[row]);
    times(row, text);
    const bool flow = phase == 's' || phase == 't' || phase == 'f';
    if (flow && c.correlation[row] != trace::kNoId) {
      text += ", \"id\": " + std::to_string(c.correlation[row]);
    }
    if (phase == 'f') text += ", \"bp\": \"e\"";
    if (phase == 'i') text += ", \"s\": \"t\"";
    if (!args.empty()) text += ", \"args\": " + std::string(args);
    list_.row(phase, text);
  }

  void times(std::uint32_t row, std::string& text) const {
    const auto& c = trace_.columns;
    if (c.ts[row] == trace::kNoTime) return;
    const bool moves = c.phase[row] != 'M' && c.ts[row] > -trace::kTimeLimit &&
                       c.ts[row] < trace::kTimeLimit;
    const auto time = moves ? maps_.of(row) : timeline::Interval{c.ts[row], 0};
    text += ", \"ts\": " + microseconds(time.begin);
    if (c.dur[row] == trace::kNoTime) return;
    const auto dur = moves && c.timed(row) ? time.end - time.begin : c.dur[row];
    text += ", \"dur\": " + microseconds(dur);
  }

  const trace::Trace& trace_;
  TimeMaps maps_;
  std::ostream& out_;
  EventList list_;
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
  Writer(model, times, out, left_out, checkpoint).run(note);
}

}  // namespace tta::replay
