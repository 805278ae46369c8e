// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_perturb.cpp: what a recorded program might have done besides, for the
// corpus of labeled traces.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/scheduled_model.h"
#include "bindings/signals.h"
#include "pipeline/pricing/perturb.h"
#include "replay/insertion_draft.h"
#include "write/write_trace.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names
using Moments = py::array_t<std::int64_t>;

struct Run {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const pipeline::Replay> replay;
  Perturbation perturbation;
  Perturbed schedule;
};

Run run(const Analysis& a, const Perturbation& given,
        const std::vector<pipeline::Edit>& edits) {
  const auto& model = *scheduled_model(a);
  // Others may add to it when the lock is released.
  Perturbation p = given;
  const py::gil_scoped_release release;
  auto schedule = pipeline::perturb(a.report, model, p, edits, heed_signals());
  return {a.report.timeline, a.report.replay, std::move(p), std::move(schedule)};
}

Moments moments(const Run& with, const Run& without, std::int32_t number) {
  const auto& devices = with.timeline->devices;
  std::size_t device = 0;
  while (device < devices.size() && devices[device].device != number) ++device;
  if (device == devices.size() && !devices.empty()) {
    throw py::value_error("there is no device " + std::to_string(number));
  }
  const auto pair = [&] {
    const py::gil_scoped_release release;
    return moments_of(*with.replay->model, with.perturbation, with.schedule,
                      without.schedule, device);
  }();
  const auto count = static_cast<py::ssize_t>(pair.first.size());
  Moments out({py::ssize_t{2}, count});
  std::copy(pair.first.begin(), pair.first.end(), out.mutable_data(0, 0));
  std::copy(pair.second.begin(), pair.second.end(), out.mutable_data(0, 0) + count);
  return out;
}

}  // namespace

void bind_perturb(py::module_& m) {
  py::class_<Perturbation>(m, "Perturbation", "What is put into a trace.")
      .def(py::init<>())
      .def("insert", [](Perturbation& p,
                        const InsertionDraft& d) { p.insertions.push_back(d.made()); })
      .def(
          "lengthen",
          [](Perturbation& p, std::uint32_t row, std::int64_t ns) {
            p.longer.push_back({row, ns});
          },
          py::arg("row"), py::arg("ns"))
      .def(
          "replace",
          [](Perturbation& p, std::uint32_t row) { p.replaced.push_back(row); },
          py::arg("row"), "This device work is not done.")
      .def(
          "leave_out",
          [](Perturbation& p, std::uint32_t row) { p.unwritten.push_back(row); },
          py::arg("row"), "This row of the host is not written.")
      .def("__len__", [](const Perturbation& p) {
        return p.insertions.size() + p.longer.size() + p.replaced.size();
      });
  py::class_<Run>(m, "Perturbed", "A trace scheduled with what was put in.")
      .def_property_readonly("span_ns", [](const Run& r) { return r.schedule.span; })
      .def("moments", &moments, py::arg("without"), py::arg("device"),
           "Moments of a device in this schedule and without: int64 [2, n] on the "
           "trace's clock, both ascending. Of a trace without devices: of the busiest "
           "thread. Raises ValueError if the other is a schedule of another trace.")
      .def(
          "text",
          [](const Run& r, const std::string& note,
             const std::vector<std::string>& metadata) {
            const auto text = [&] {
              const py::gil_scoped_release release;
              std::ostringstream out;
              write::write_perturbed(*r.replay->model, r.perturbation, r.schedule, note,
                                     metadata, out, heed_signals());
              return std::move(out).str();
            }();
            return py::bytes(text);
          },
          py::arg("note"), py::arg("metadata"),
          "The trace as JSON, with these members of its metadata.");
  m.def("perturb", &run, py::arg("report"), py::arg("perturbation"),
        py::arg("edits") = std::vector<pipeline::Edit>{}, py::keep_alive<0, 1>(),
        "Schedules a trace by events with a perturbation and edits made. Raises "
        "ValueError for what is put in elsewhere, or into another trace.");
}

}  // namespace tta::bindings
