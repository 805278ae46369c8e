// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_replay.cpp: gains, critical paths and what-ifs, field by field.
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <optional>

#include "bindings/analysis.h"
#include "bindings/record.h"
#include "bindings/signals.h"
#include "pipeline/pricing/path_rows.h"
#include "pipeline/pricing/price.h"
#include "pipeline/pricing/what_if.h"
#include "pipeline/ranks/rank_work_of.h"
#include "write/write_trace.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names

// What Python holds: the replay refers to what the report has laid out.
struct HeldReplay {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const Replay> replay;
};

const replay::Model& model_of(const HeldReplay& r) {
  if (r.replay->model == nullptr) throw py::value_error(r.replay->refusal);
  return *r.replay->model;
}

}  // namespace

void bind_replay(py::module_& m, py::class_<Analysis>& report) {
  report.def(
      "rank_work",
      [](const Analysis& a, std::int64_t rank, std::int64_t stage, std::string host,
         std::int64_t clock_begin) {
        const py::gil_scoped_release release;
        return rank_work_of(a.report, {rank, stage, std::move(host), clock_begin});
      },
      py::arg("rank"), py::arg("stage"), py::arg("host"), py::arg("clock_begin_ns"),
      "The trace reduced to the data that a job of many ranks needs; -1: unknown.");
  bind_record<pipeline::Gain>(m);
  bind_record<pipeline::Recomputed>(m);
  bind_record<pipeline::Fidelity>(m).def_property_readonly(
      "caveat", &caveat_of,
      "A sentence for users if a correct span is no evidence, or gains are too low.");
  bind_record<PathPlace>(m);
  bind_record<CriticalPath>(m);
  bind_record<Recovery>(m);
  bind_record<pipeline::StepTimes>(m);
  py::class_<Outcome>(m, "Outcome", "A replay with edits made.")
      .def_readonly("by_events", &Outcome::by_events)
      .def_readonly("span_ns", &Outcome::span_ns)
      .def_readonly("replayed_span_ns", &Outcome::replayed_span_ns)
      .def_readonly("changed_span_ns", &Outcome::changed_span_ns)
      .def_readonly("steps", &Outcome::steps)
      .def_property_readonly("gain", [](const Outcome& o) { return gain_of(o.gain); })
      .def_readonly("doubt", &Outcome::doubt)
      .def_property_readonly("path_us", [](const Outcome& o) {
        std::map<std::string, double> out;
        for (const auto& [name, ns] : o.path) out[name] = record::us_of(ns);
        return out;
      });
  py::class_<Edit>(m, "Edit", "A requested change, see pipeline/pricing/what_if.h.")
      .def(py::init([](const std::string& kind, std::vector<std::uint32_t> of,
                       double factor) {
             return Edit{edit_kind(kind), std::move(of), factor};
           }),
           py::arg("kind"), py::arg("of"), py::arg("factor") = 1.0);

  py::class_<HeldReplay>(m, "Replay", "A report's trace as a schedule.")
      .def_property_readonly(
          "fidelity",
          [](const HeldReplay& r) -> std::optional<pipeline::Fidelity> {
            if (r.replay->model == nullptr) return std::nullopt;
            return fidelity_of(r.replay->fidelity);
          })
      .def_property_readonly("refusal",
                             [](const HeldReplay& r) { return r.replay->refusal; })
      .def(
          "critical_paths",
          [](const HeldReplay& r, std::optional<std::size_t> steps) {
            const auto& model = model_of(r);
            return tuple_of(
                [&] { return critical_paths(model, steps.value_or(SIZE_MAX)); });
          },
          py::arg("steps") = py::none())
      .def(
          "what_if",
          [](const HeldReplay& r, const Analysis& a, const std::vector<Edit>& edits) {
            const auto& model = model_of(r);
            const py::gil_scoped_release release;
            return what_if(a.report, model, edits, heed_signals());
          },
          py::arg("report"), py::arg("edits"))
      .def(
          "write",
          [](const HeldReplay& r, const Outcome& outcome, const std::string& note,
             const std::string& path) {
            const auto& model = model_of(r);
            const py::gil_scoped_release release;
            write::write_what_if(model, outcome.schedule.times, note, path,
                                 outcome.schedule.left_out, heed_signals());
          },
          py::arg("outcome"), py::arg("note"), py::arg("path"));
  report.def_property_readonly("recovery",
                               [](const Analysis& a) { return recovery_of(a.report); });
  report.def(
      "replay",
      [](const Analysis& a) { return HeldReplay{a.report.timeline, a.report.replay}; },
      py::keep_alive<0, 1>(),
      "The replay of the trace, its reliability, and the gains of "
      "fixes.");
}

}  // namespace tta::bindings
