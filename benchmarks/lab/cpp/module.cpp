// SPDX-License-Identifier: BSD-3-Clause
// lab/module.cpp: the module _lab: what a recorded program might have done besides, for
// the corpus of labeled traces. Reports and edits that it takes are those of _core.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/analysis.h"
#include "bindings/signals.h"
#include "lab/cpp/insertion_draft.h"
#include "lab/cpp/write_perturbed.h"
#include "pipeline/pricing/what_if.h"

namespace tta::lab {
namespace {

namespace py = pybind11;
using bindings::Analysis;
using bindings::heed_signals;
using bindings::scheduled_model;
using pipeline::Edit;
using Moments = py::array_t<std::int64_t>;

struct Run {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const pipeline::Replay> replay;
  Perturbation perturbation;
  Perturbed schedule;
};

Perturbed schedule_with(const pipeline::Report& report, const Model& model,
                        const Perturbation& p, const std::vector<Edit>& edits) {
  check_perturbation(model, p);
  auto change = pipeline::change_of(report, model, edits);
  for (const auto row : p.replaced) change.drop(row);
  auto out =
      schedule_perturbed(model, *report.args, p, change.weights(model), heed_signals());
  for (const auto row : change.left_out(model)) out.left_out.push_back(row);
  std::sort(out.left_out.begin(), out.left_out.end());
  if (!edits.empty()) {
    for (const auto row : emptied_rows(model, p, out)) out.left_out.push_back(row);
    std::sort(out.left_out.begin(), out.left_out.end());
  }
  return out;
}

Run run(const Analysis& a, const Perturbation& given, const std::vector<Edit>& edits) {
  const auto& model = *scheduled_model(a);
  // Others may add to it when the lock is released.
  Perturbation p = given;
  const py::gil_scoped_release release;
  auto schedule = schedule_with(a.report, model, p, edits);
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

void bind_insertion(py::module_& m) {
  py::enum_<TaskKind>(m, "TaskKind")
      .value("KERNEL", TaskKind::kKernel)
      .value("COPY", TaskKind::kCopy)
      .value("MEMSET", TaskKind::kMemset);
  py::class_<InsertionDraft>(
      m, "Insertion",
      "Additional operations of a thread of a report's trace, at a recorded moment "
      "of the trace's clock: see insertion_draft.h. Lengths in nanoseconds, `args` "
      "more members of a row as JSON text. Invalid input raises ValueError.")
      .def(py::init([](const Analysis& a, std::int64_t pid, std::int64_t tid,
                       std::int64_t at) {
             return InsertionDraft(scheduled_model(a), pid, tid, at);
           }),
           py::arg("report"), py::arg("pid"), py::arg("tid"), py::arg("at"),
           py::keep_alive<1, 2>())
      .def("open", &InsertionDraft::open, py::arg("name"),
           py::arg("category") = "cpu_op", py::arg("args") = "")
      .def("close", &InsertionDraft::close)
      .def("host", &InsertionDraft::host, py::arg("ns"), py::arg("name") = "",
           py::arg("category") = "cpu_op", py::arg("args") = "")
      .def(
          "call",
          [](InsertionDraft& d, std::string name, std::int64_t ns,
             const std::string& category, std::string args) {
            d.call({std::move(name), ns, category, std::move(args)});
          },
          py::arg("name"), py::arg("ns"), py::arg("category") = "cuda_runtime",
          py::arg("args") = "")
      .def(
          "launch",
          [](InsertionDraft& d, std::string call, std::int64_t call_ns, TaskKind kind,
             std::string name, std::int64_t ns, std::int32_t device,
             std::int64_t stream, std::int64_t bytes, bool waits,
             const std::string& category, std::string call_args, std::string work_args,
             double blocks_per_sm) {
            d.launch({std::move(call), call_ns, category, std::move(call_args)},
                     {kind, std::move(name), ns, device, stream, bytes, blocks_per_sm,
                      std::move(work_args)},
                     waits);
          },
          py::arg("call"), py::arg("call_ns"), py::arg("kind"), py::arg("name"),
          py::arg("ns"), py::kw_only(), py::arg("device"), py::arg("stream"),
          py::arg("bytes") = -1, py::arg("waits") = false,
          py::arg("category") = "cuda_runtime", py::arg("call_args") = "",
          py::arg("work_args") = "", py::arg("blocks_per_sm") = -1.0)
      .def(
          "sync",
          [](InsertionDraft& d, std::string name, std::int64_t ns, std::int32_t device,
             std::int64_t stream, bool whole_device, const std::string& category,
             std::string args) {
            d.sync({std::move(name), ns, category, std::move(args)}, device, stream,
                   whole_device);
          },
          py::arg("name"), py::arg("ns"), py::kw_only(), py::arg("device"),
          py::arg("stream"), py::arg("whole_device") = false,
          py::arg("category") = "cuda_runtime", py::arg("args") = "")
      .def(
          "event_sync",
          [](InsertionDraft& d, std::string record, std::string wait,
             std::int64_t record_ns, std::int64_t wait_ns, std::int32_t device,
             std::int64_t stream, const std::string& category) {
            d.event_sync({std::move(record), record_ns, category},
                         {std::move(wait), wait_ns, category}, device, stream);
          },
          py::arg("record"), py::arg("wait"), py::arg("record_ns"), py::arg("wait_ns"),
          py::kw_only(), py::arg("device"), py::arg("stream"),
          py::arg("category") = "cuda_runtime", "Records an event and waits for it.")
      .def("stand_for", &InsertionDraft::stand_for, py::arg("row"),
           "It replaces this device work.");
}

void bind_perturbation(py::module_& m) {
  py::class_<Perturbation>(m, "Perturbation", "The insertions into a trace.")
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
          py::arg("row"), "This device work is left out.")
      .def(
          "leave_out",
          [](Perturbation& p, std::uint32_t row) { p.unwritten.push_back(row); },
          py::arg("row"), "This row of the host is left out.")
      .def("__len__", [](const Perturbation& p) {
        return p.insertions.size() + p.longer.size() + p.replaced.size();
      });
  py::class_<Run>(m, "Perturbed", "A trace scheduled with its insertions.")
      .def_property_readonly("span_ns", [](const Run& r) { return r.schedule.span; })
      .def("moments", &moments, py::arg("without"), py::arg("device"),
           "Moments of a device in this schedule and without: int64 [2, n] on the "
           "trace's clock, both ascending. For a trace without devices: of the busiest "
           "thread. Raises ValueError if the other is a schedule of another trace.")
      .def(
          "text",
          [](const Run& r, const std::string& note,
             const std::vector<std::string>& metadata) {
            const auto text = [&] {
              const py::gil_scoped_release release;
              std::ostringstream out;
              write_perturbed(*r.replay->model, r.perturbation, r.schedule, note,
                              metadata, out, heed_signals());
              return std::move(out).str();
            }();
            return py::bytes(text);
          },
          py::arg("note"), py::arg("metadata"),
          "The trace as JSON, with these members of its metadata.");
  m.def("perturb", &run, py::arg("report"), py::arg("perturbation"),
        py::arg("edits") = std::vector<Edit>{}, py::keep_alive<0, 1>(),
        "Schedules a trace by events with a perturbation and edits made. Raises "
        "ValueError for an insertion elsewhere, or into another trace.");
}

// What programs of the dry run do not have.
void bind_program(py::module_& m) {
  m.def(
      "add_collective",
      [](Program& p, std::string name, std::string group, std::uint32_t members,
         std::int64_t sequence) {
        return p.add_collective({std::move(name), std::move(group), sequence, members});
      },
      py::arg("program"), py::arg("name"), py::arg("group"), py::arg("members"),
      py::arg("sequence") = -1);
  m.def(
      "open_frame",
      [](Program& p, std::uint32_t thread, std::string name) {
        p.open_frame(thread, std::move(name));
      },
      py::arg("program"), py::arg("thread"), py::arg("name"),
      "Begins a function of Python, until the program's close().");
}

}  // namespace
}  // namespace tta::lab

PYBIND11_MODULE(_lab, m) {
  m.doc() = "Puts anti-patterns into reports' traces: see benchmarks/lab/cpp.";
  pybind11::module_::import("torchtraceap._core");
  tta::lab::bind_insertion(m);
  tta::lab::bind_perturbation(m);
  tta::lab::bind_program(m);
}
