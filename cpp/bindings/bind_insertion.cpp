// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_insertion.cpp: operations of an insertion, one by one.
#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/scheduled_model.h"
#include "replay/insertion_draft.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names

}  // namespace

void bind_insertion(py::module_& m) {
  py::enum_<TaskKind>(m, "TaskKind")
      .value("KERNEL", TaskKind::kKernel)
      .value("COPY", TaskKind::kCopy)
      .value("MEMSET", TaskKind::kMemset);
  py::class_<InsertionDraft>(
      m, "Insertion",
      "What a thread of a report's trace does besides, at a recorded moment of the "
      "trace's clock: see replay/insertion_draft.h. Lengths in nanoseconds, `args` "
      "more members of a row as JSON text. What means nothing is a ValueError.")
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
           "It is done in place of this device work.");
}

}  // namespace tta::bindings
