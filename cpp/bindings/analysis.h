// SPDX-License-Identifier: BSD-3-Clause
// bindings/analysis.h: what Python holds as a report.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "pipeline/report.h"
#include "timeline/event_args.h"
#include "trace/trace.h"

namespace tta::bindings {

/// A trace and the report on it: what Python holds keeps what the report refers to.
struct Analysis {
  std::shared_ptr<trace::Trace> trace;
  pipeline::Report report;
};

/// Adds the table of patterns, findings, claims and waits.
void bind_findings(pybind11::module_& m);

/// Adds what is made when it is asked for: the story and the tables.
void bind_tables(pybind11::module_& m, pybind11::class_<Analysis>& report);

}  // namespace tta::bindings
