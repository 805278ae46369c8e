// SPDX-License-Identifier: BSD-3-Clause
// replay/samples.h: traces to replay, and their rows to cut and change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/fidelity.h"
#include "support/trace_text.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"

namespace tta::test {

/// Returns the text of a trace, by its name without ".json.gz": of tests/data, else of
/// the public traces beside the repository; none where neither has it.
std::optional<std::string> trace_text(const std::string& name);

/// The elements of traceEvents as text, and what stands around them.
class Rows {
 public:
  explicit Rows(std::string_view text);

  std::vector<std::string> all;
  std::string text() const;
  /// Removes those of which `test` is true; returns how many.
  std::size_t drop(const std::function<bool(const std::string&)>& test);
  /// Removes each tenth of those of which `test` is true.
  std::size_t drop_tenth(const std::function<bool(const std::string&)>& test);

 private:
  std::string before_, after_;
};

/// Returns the raw value of the first key of this name, "" if there is none.
std::string_view value_of(std::string_view row, std::string_view key);
/// In microseconds; -1 if there is none.
double number_of(std::string_view row, std::string_view key);
/// By category, in whatever case.
bool is_call(std::string_view row);
bool is_device_work(std::string_view row);

/// A trace and its model. Stays where it is: each part refers to the one before.
struct Replayed {
  explicit Replayed(const std::string& text, const replay::ModelOptions& options = {});
  explicit Replayed(trace::Trace loaded, const replay::ModelOptions& options = {});
  Replayed(const TraceText& text, const replay::ModelOptions& options)
      : Replayed(text.load(), options) {}
  Replayed(const Replayed&) = delete;

  trace::Trace trace;
  timeline::Timeline timeline;
  timeline::EventArgs args;
  replay::Model model;
  std::vector<std::int64_t> times;  ///< Of each point, replayed unchanged.

  /// The only task of this name, the n-th call of this name in order of time.
  const replay::Task& task(std::string_view name) const;
  const replay::Call& call(std::string_view name, int n = 0) const;
  std::int64_t starts(std::string_view name) const;
  std::int64_t ends(std::string_view name) const;
  std::int64_t returns(std::string_view name, int n = 0) const;
  /// The row of the first event of this name, and its lane.
  std::uint32_t row(std::string_view name) const;
  std::uint32_t lane_of(std::string_view name) const {
    return timeline.lanes.lane[row(name)];
  }
  /// Of the span, as a share, of a replay without some kinds of edges.
  double span_error(replay::KindSet without = 0) const;
};

/// Constants alone, whatever the trace shows.
replay::ModelOptions by_constants();

}  // namespace tta::test
