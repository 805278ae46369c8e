// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_insertion.cpp: operations of an insertion, one by one.
#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/insertion_draft.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names

trace::Category category_of(const std::string& name) {
  for (const auto& c : trace::kCategories) {
    if (c.name == name) return c.id;
  }
  throw py::value_error("no category is named " + name);
}

std::uint32_t place(const InsertionDraft& d, std::int32_t device, std::int64_t stream) {
  return place_of_stream(*d.recovery->model, device, stream);
}

void add(InsertionDraft& d, Operation op, const std::string& category,
         std::string args) {
  op.args = std::move(args);
  d.operations.push_back(std::move(op));
  d.categories.push_back(category_of(category));
}

InsertionDraft draft(const Analysis& a, std::int64_t pid, std::int64_t tid,
                     std::int64_t at) {
  InsertionDraft out;
  out.lane = lane_of_thread(scheduled_model(a), pid, tid);
  out.at = at;
  out.timeline = a.report.timeline;
  out.recovery = a.report.recovery;
  return out;
}

// Launches work and may wait for it.
void launch(InsertionDraft& d, const std::string& call, std::int64_t call_ns,
            TaskKind kind, const std::string& name, std::int64_t ns,
            std::int32_t device, std::int64_t stream, std::int64_t bytes, bool waits,
            const std::string& category, const std::string& call_args,
            const std::string& work_args, double blocks_per_sm) {
  DeviceWork w{name, kind, place(d, device, stream), ns};
  w.bytes = bytes;
  w.blocks_per_sm = blocks_per_sm;
  if (kind == TaskKind::kCopy) w.copy = copy_kind(name, bytes);
  w.args = work_args;
  Operation op{OpKind::kCall, call_ns, call};
  const auto place = static_cast<std::uint32_t>(d.work.size());
  op.work = {place};
  if (waits) op.until.push_back({place});
  d.work.push_back(std::move(w));
  add(d, std::move(op), category, call_args);
}

}  // namespace

void bind_insertion(py::module_& m) {
  py::enum_<TaskKind>(m, "TaskKind")
      .value("KERNEL", TaskKind::kKernel)
      .value("COPY", TaskKind::kCopy)
      .value("MEMSET", TaskKind::kMemset);
  py::class_<InsertionDraft>(
      m, "Insertion",
      "What a thread of a report's trace does besides, at a recorded moment of the "
      "trace's clock: see replay/perturbation.h. Lengths in nanoseconds, `args` more "
      "members of a row as JSON text.")
      .def(py::init(&draft), py::arg("report"), py::arg("pid"), py::arg("tid"),
           py::arg("at"))
      .def(
          "open",
          [](InsertionDraft& d, std::string name, const std::string& category,
             std::string args) {
            add(d, {OpKind::kOpen, 0, std::move(name)}, category, std::move(args));
          },
          py::arg("name"), py::arg("category") = "cpu_op", py::arg("args") = "")
      .def("close",
           [](InsertionDraft& d) { add(d, {OpKind::kClose, 0, ""}, "cpu_op", ""); })
      .def(
          "host",
          [](InsertionDraft& d, std::int64_t ns, std::string name,
             const std::string& category, std::string args) {
            add(d, {OpKind::kHost, ns, std::move(name)}, category, std::move(args));
          },
          py::arg("ns"), py::arg("name") = "", py::arg("category") = "cpu_op",
          py::arg("args") = "")
      .def(
          "call",
          [](InsertionDraft& d, std::string name, std::int64_t ns,
             const std::string& category, std::string args) {
            add(d, {OpKind::kCall, ns, std::move(name)}, category, std::move(args));
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
          [](InsertionDraft& d, std::string name, std::int64_t ns, std::int32_t device,
             std::int64_t stream, bool whole_device, const std::string& category,
             std::string args) {
            const auto kind = whole_device ? OpKind::kDeviceSync : OpKind::kStreamSync;
            add(d, {kind, ns, std::move(name), kNone, place(d, device, stream)},
                category, std::move(args));
          },
          py::arg("name"), py::arg("ns"), py::kw_only(), py::arg("device"),
          py::arg("stream"), py::arg("whole_device") = false,
          py::arg("category") = "cuda_runtime", py::arg("args") = "")
      .def(
          "event_sync",
          [](InsertionDraft& d, std::string record, std::string wait,
             std::int64_t record_ns, std::int64_t wait_ns, std::int32_t device,
             std::int64_t stream, const std::string& category) {
            const auto id = d.events++;
            add(d,
                {OpKind::kEventRecord, record_ns, std::move(record), id,
                 place(d, device, stream)},
                category, "");
            add(d, {OpKind::kEventSync, wait_ns, std::move(wait), id}, category, "");
          },
          py::arg("record"), py::arg("wait"), py::arg("record_ns"), py::arg("wait_ns"),
          py::kw_only(), py::arg("device"), py::arg("stream"),
          py::arg("category") = "cuda_runtime", "Records an event and waits for it.")
      .def(
          "stand_for", [](InsertionDraft& d, std::uint32_t row) { d.stands_for = row; },
          py::arg("row"), "It is done in place of this device work.");
}

}  // namespace tta::bindings
