// SPDX-License-Identifier: BSD-3-Clause
// bindings/analysis.h: what Python holds as a report.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/pricing/price.h"
#include "pipeline/report.h"
#include "timeline/event_args.h"
#include "trace/trace.h"

namespace tta::bindings {

/// A trace and the report on it: what Python holds keeps what the report refers to.
struct Analysis {
  std::shared_ptr<trace::Trace> trace;
  pipeline::Report report;
};

/// Returns the model of a report's replay. Throws value_error if there is none.
inline const std::shared_ptr<const replay::Model>& scheduled_model(const Analysis& a) {
  const auto& replay = *a.report.replay;
  if (replay.model == nullptr) throw pybind11::value_error(replay.refusal);
  return replay.model;
}

/// A number that is known, for the core says -1 of what is not.
template <typename Number>
std::optional<Number> known(Number number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

inline std::string side_name(patterns::PatternSide side) {
  return std::string(record::word_of(side));
}

/// Adds what is made when it is asked for: the story and the tables.
void bind_tables(pybind11::module_& m, pybind11::class_<Analysis>& report);

/// Adds the lanes as a page draws them.
void bind_lanes(pybind11::module_& m, pybind11::class_<Analysis>& report);

/// Adds the copy of its trace for Perfetto.
void bind_perfetto(pybind11::class_<Analysis>& report);

/// Adds the arrays that models read.
void bind_features(pybind11::module_& m, pybind11::class_<Analysis>& report);

/// Adds the replay of a report's trace.
void bind_replay(pybind11::module_& m, pybind11::class_<Analysis>& report);

}  // namespace tta::bindings
