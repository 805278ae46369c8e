// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_replay.cpp: gains, critical paths and what-ifs, field by field.
#include <pybind11/stl.h>

#include <cstdint>
#include <numeric>
#include <optional>

#include "bindings/analysis.h"
#include "bindings/signals.h"
#include "pipeline/pricing/path_rows.h"
#include "pipeline/pricing/what_if.h"
#include "pipeline/ranks/rank_work_of.h"
#include "write/write_trace.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names
using replay::Fidelity;

// What Python holds: the replay refers to what the report has laid out.
struct HeldReplay {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const Replay> replay;
};

const replay::Model& model_of(const HeldReplay& r) {
  if (r.replay->model == nullptr) throw py::value_error(r.replay->refusal);
  return *r.replay->model;
}

py::typing::Dict<py::str, py::int_> by_category(const std::vector<std::int64_t>& ns) {
  py::typing::Dict<py::str, py::int_> out;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    out[py::str(path_categories()[i])] = py::int_(ns[i]);
  }
  return out;
}

void bind_fidelity(py::module_& m) {
  py::class_<replay::Times>(m, "ReplayTimes", "Nanoseconds.")
      .def_readonly("recorded", &replay::Times::recorded)
      .def_readonly("replayed", &replay::Times::replayed);
  py::class_<replay::Recomputed>(m, "Recomputed", "Waits that a replay recomputes.")
      .def_readonly("count", &replay::Recomputed::count)
      .def_readonly("recorded_ns", &replay::Recomputed::recorded)
      .def_readonly("error_ns", &replay::Recomputed::error);
  py::class_<replay::StepTimes>(m, "StepTimes")
      .def_readonly("number", &replay::StepTimes::number)
      .def_readonly("times", &replay::StepTimes::times);
  py::class_<replay::Refusal>(m, "Refusal", "Why a replay is not to be believed.")
      .def_readonly("kind", &replay::Refusal::kind)
      .def_readonly("detail", &replay::Refusal::detail);
  py::class_<Fidelity>(m, "Fidelity", "How far a replay may be believed.")
      .def_readonly("replayable", &Fidelity::replayable)
      .def_readonly("refusals", &Fidelity::refusals)
      .def_readonly("informative", &Fidelity::informative)
      .def_readonly("span", &Fidelity::span)
      .def_readonly("null_span_ns", &Fidelity::null_span)
      .def_readonly("steps", &Fidelity::steps)
      .def_readonly("launched", &Fidelity::launched)
      .def_readonly("long_waits", &Fidelity::long_waits)
      .def_readonly("queue_waits", &Fidelity::queue_waits)
      .def_readonly("hand_overs", &Fidelity::hand_overs)
      .def_readonly("copied_waits_ns", &Fidelity::copied_waits)
      .def_property_readonly("explained_share",
                             [](const Fidelity& f) {
                               if (f.launched == 0) return 1.0;
                               return static_cast<double>(f.explained) /
                                      static_cast<double>(f.launched);
                             })
      .def_readonly("unexplained_ns", &Fidelity::unexplained_ns)
      .def_readonly("anchored_ns", &Fidelity::anchored_ns)
      .def_property_readonly("shares", [](const Fidelity& f) {
        py::typing::Dict<py::str, py::float_> out;
        const auto& path = f.path_sources;
        const auto whole = std::accumulate(path.begin(), path.end(), std::int64_t{0});
        for (std::size_t i = 0; i < path.size(); ++i) {
          out[py::str(std::string(replay::kSourceNames[i]))] =
              whole == 0 ? 0
                         : static_cast<double>(path[i]) / static_cast<double>(whole);
        }
        return out;
      });
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
      "The trace reduced to what a job of many ranks needs of it; -1: unknown.");
  bind_fidelity(m);
  py::class_<PathPlace>(m, "PathPlace")
      .def_readonly("location", &PathPlace::location)
      .def_readonly("name", &PathPlace::name)
      .def_readonly("ns", &PathPlace::ns);
  py::class_<PathRow>(m, "PathRow", "What bounds a step or the trace.")
      .def_readonly("step", &PathRow::step)
      .def_readonly("span_ns", &PathRow::span_ns)
      .def_property_readonly(
          "by_category", [](const PathRow& p) { return by_category(p.by_category); })
      .def_readonly("places", &PathRow::places);
  py::class_<ChangedStep>(m, "ChangedStep")
      .def_readonly("number", &ChangedStep::number)
      .def_readonly("span_ns", &ChangedStep::recorded_ns)
      .def_readonly("replayed_span_ns", &ChangedStep::replayed_ns)
      .def_readonly("changed_span_ns", &ChangedStep::changed_ns);
  py::class_<Outcome>(m, "Outcome", "A replay with edits made.")
      .def_readonly("by_events", &Outcome::by_events)
      .def_readonly("span_ns", &Outcome::span_ns)
      .def_readonly("replayed_span_ns", &Outcome::replayed_span_ns)
      .def_readonly("changed_span_ns", &Outcome::changed_span_ns)
      .def_readonly("steps", &Outcome::steps)
      .def_readonly("gain", &Outcome::gain)
      .def_readonly("doubt", &Outcome::doubt)
      .def_property_readonly("path",
                             [](const Outcome& o) { return by_category(o.path); });
  py::class_<Edit>(m, "Edit", "A change asked for, see pipeline/pricing/edits.h.")
      .def(py::init([](const std::string& kind, std::vector<std::uint32_t> of,
                       double factor) {
             return Edit{edit_kind(kind), std::move(of), factor};
           }),
           py::arg("kind"), py::arg("of"), py::arg("factor") = 1.0);

  py::class_<HeldReplay>(m, "Replay", "A report's trace as a schedule.")
      .def_property_readonly("refusal",
                             [](const HeldReplay& r) { return r.replay->refusal; })
      .def_property_readonly("fidelity",
                             [](const HeldReplay& r) -> std::optional<Fidelity> {
                               if (r.replay->model == nullptr) return std::nullopt;
                               return r.replay->fidelity;
                             })
      .def_property_readonly("together",
                             [](const HeldReplay& r) { return r.replay->together; })
      .def_property_readonly(
          "together_doubt",
          [](const HeldReplay& r) { return r.replay->together_doubt; })
      .def_property_readonly("windows",
                             [](const HeldReplay& r) { return r.replay->windows; })
      .def(
          "critical_paths",
          [](const HeldReplay& r, std::optional<std::size_t> steps) {
            return critical_paths(model_of(r), steps.value_or(SIZE_MAX));
          },
          py::arg("steps") = py::none(), py::call_guard<py::gil_scoped_release>())
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
  report.def(
      "replay",
      [](const Analysis& a) { return HeldReplay{a.report.timeline, a.report.replay}; },
      py::keep_alive<0, 1>(),
      "The replay of the trace, how far it may be believed, and what fixes would "
      "gain.");
}

}  // namespace tta::bindings
