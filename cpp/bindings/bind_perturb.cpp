// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_perturb.cpp: what a recorded program might have done besides, for the
// corpus of labeled traces.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/signals.h"
#include "pipeline/perturb.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names
using Moments = py::array_t<std::int64_t>;

const Model& model_of(const Analysis& a) {
  const auto& recovery = *a.report.recovery;
  if (recovery.model == nullptr) throw py::value_error(recovery.refusal);
  return *recovery.model;
}

trace::Category category_of(const std::string& name) {
  for (const auto& c : trace::kCategories) {
    if (c.name == name) return c.id;
  }
  throw py::value_error("no category is named " + name);
}

// An insertion while it is made: operations one by one.
struct Draft : Insertion {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const pipeline::Recovery> recovery;

  void add(Operation op, const std::string& category, std::string args) {
    op.args = std::move(args);
    operations.push_back(std::move(op));
    categories.push_back(category_of(category));
  }
  std::uint32_t place(std::int32_t device, std::int64_t stream) const {
    return place_of_stream(*recovery->model, device, stream);
  }
};

Draft draft(const Analysis& a, std::int64_t pid, std::int64_t tid, std::int64_t at) {
  Draft out;
  out.lane = lane_of_thread(model_of(a), pid, tid);
  out.at = at;
  out.timeline = a.report.timeline;
  out.recovery = a.report.recovery;
  return out;
}

// Launches work and may wait for it.
void launch(Draft& d, const std::string& call, std::int64_t call_ns, TaskKind kind,
            const std::string& name, std::int64_t ns, std::int32_t device,
            std::int64_t stream, std::int64_t bytes, bool waits,
            const std::string& category, const std::string& call_args,
            const std::string& work_args, double blocks_per_sm) {
  DeviceWork w{name, kind, d.place(device, stream), ns};
  w.bytes = bytes;
  w.blocks_per_sm = blocks_per_sm;
  if (kind == TaskKind::kCopy) w.copy = copy_kind(name, bytes);
  w.args = work_args;
  Operation op{OpKind::kCall, call_ns, call};
  const auto place = static_cast<std::uint32_t>(d.work.size());
  op.work = {place};
  if (waits) op.until.push_back({place});
  d.work.push_back(std::move(w));
  d.add(std::move(op), category, call_args);
}

void bind_insertion(py::module_& m) {
  py::enum_<TaskKind>(m, "TaskKind")
      .value("KERNEL", TaskKind::kKernel)
      .value("COPY", TaskKind::kCopy)
      .value("MEMSET", TaskKind::kMemset);
  py::class_<Draft>(
      m, "Insertion",
      "What a thread of a report's trace does besides, at a recorded moment of the "
      "trace's clock: see replay/perturbation.h. Lengths in nanoseconds, `args` more "
      "members of a row as JSON text.")
      .def(py::init(&draft), py::arg("report"), py::arg("pid"), py::arg("tid"),
           py::arg("at"))
      .def(
          "open",
          [](Draft& d, std::string name, const std::string& category,
             std::string args) {
            d.add({OpKind::kOpen, 0, std::move(name)}, category, std::move(args));
          },
          py::arg("name"), py::arg("category") = "cpu_op", py::arg("args") = "")
      .def("close", [](Draft& d) { d.add({OpKind::kClose, 0, ""}, "cpu_op", ""); })
      .def(
          "host",
          [](Draft& d, std::int64_t ns, std::string name, const std::string& category,
             std::string args) {
            d.add({OpKind::kHost, ns, std::move(name)}, category, std::move(args));
          },
          py::arg("ns"), py::arg("name") = "", py::arg("category") = "cpu_op",
          py::arg("args") = "")
      .def(
          "call",
          [](Draft& d, std::string name, std::int64_t ns, const std::string& category,
             std::string args) {
            d.add({OpKind::kCall, ns, std::move(name)}, category, std::move(args));
          },
          py::arg("name"), py::arg("ns"), py::arg("category") = "cuda_runtime",
          py::arg("args") = "")
      .def("launch", &launch, py::arg("call"), py::arg("call_ns"), py::arg("kind"),
           py::arg("name"), py::arg("ns"), py::kw_only(), py::arg("device"),
           py::arg("stream"), py::arg("bytes") = -1, py::arg("waits") = false,
           py::arg("category") = "cuda_runtime", py::arg("call_args") = "",
           py::arg("work_args") = "", py::arg("blocks_per_sm") = -1.0)
      .def(
          "sync",
          [](Draft& d, std::string name, std::int64_t ns, std::int32_t device,
             std::int64_t stream, bool whole_device, const std::string& category) {
            const auto kind = whole_device ? OpKind::kDeviceSync : OpKind::kStreamSync;
            d.add({kind, ns, std::move(name), kNone, d.place(device, stream)}, category,
                  "");
          },
          py::arg("name"), py::arg("ns"), py::kw_only(), py::arg("device"),
          py::arg("stream"), py::arg("whole_device") = false,
          py::arg("category") = "cuda_runtime")
      .def(
          "event_sync",
          [](Draft& d, std::string record, std::string wait, std::int64_t record_ns,
             std::int64_t wait_ns, std::int32_t device, std::int64_t stream,
             const std::string& category) {
            const auto id = d.events++;
            d.add({OpKind::kEventRecord, record_ns, std::move(record), id,
                   d.place(device, stream)},
                  category, "");
            d.add({OpKind::kEventSync, wait_ns, std::move(wait), id}, category, "");
          },
          py::arg("record"), py::arg("wait"), py::arg("record_ns"), py::arg("wait_ns"),
          py::kw_only(), py::arg("device"), py::arg("stream"),
          py::arg("category") = "cuda_runtime", "Records an event and waits for it.")
      .def(
          "stand_for", [](Draft& d, std::uint32_t row) { d.stands_for = row; },
          py::arg("row"), "It is done in place of this device work.");
}

struct Run {
  std::shared_ptr<const timeline::Timeline> timeline;
  std::shared_ptr<const pipeline::Recovery> recovery;
  Perturbation perturbation;
  Perturbed schedule;
};

Run run(const Analysis& a, const Perturbation& p,
        const std::vector<pipeline::Edit>& edits) {
  const auto& model = model_of(a);
  const py::gil_scoped_release release;
  return {a.report.timeline, a.report.recovery, p,
          pipeline::perturb(a.report, model, p, edits, heed_signals())};
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
    return moments_of(*with.recovery->model, with.perturbation, with.schedule,
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
  bind_insertion(m);
  py::class_<Perturbation>(m, "Perturbation", "What is put into a trace.")
      .def(py::init<>())
      .def("insert", [](Perturbation& p, const Draft& d) { p.insertions.push_back(d); })
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
           "thread.")
      .def(
          "text",
          [](const Run& r, const std::string& note,
             const std::vector<std::string>& metadata) {
            const auto text = [&] {
              const py::gil_scoped_release release;
              std::ostringstream out;
              write_perturbed(*r.recovery->model, r.perturbation, r.schedule, note,
                              metadata, out, heed_signals());
              return std::move(out).str();
            }();
            return py::bytes(text);
          },
          py::arg("note"), py::arg("metadata"),
          "The trace as JSON, with these members of its metadata.");
  m.def("perturb", &run, py::arg("report"), py::arg("perturbation"),
        py::arg("edits") = std::vector<pipeline::Edit>{},
        "Schedules a trace by events with a perturbation and edits made.");
}

}  // namespace tta::bindings
