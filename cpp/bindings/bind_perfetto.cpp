// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_perfetto.cpp: a trace for Perfetto: alone, with what its
// report says of it, and among those of its job.
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings/analysis.h"
#include "pipeline/drawing/perfetto.h"
#include "write/write_rank.h"

namespace tta::bindings {

namespace py = pybind11;

void bind_perfetto(py::class_<Analysis>& report) {
  report.def(
      "write_perfetto",
      [](const Analysis& a,
         const std::vector<std::pair<std::string, std::string>>& findings,
         const std::string& path) {
        const py::gil_scoped_release release;
        std::vector<pipeline::FindingText> texts;
        for (const auto& [name, args] : findings) texts.push_back({name, args});
        pipeline::write_perfetto(a.report, texts, path);
      },
      py::arg("findings"), py::arg("path"),
      "Writes a copy of the trace with tracks of its own; `findings` are name and args "
      "(a JSON object) of each finding.");
  report.def(
      "append_rank",
      [](const Analysis& a, const std::string& path, const std::string& label,
         std::int64_t first_pid, std::int64_t ids, std::int64_t shift_ns) {
        const py::gil_scoped_release release;
        return write::append_rank(*a.trace, {label, first_pid, ids, shift_ns}, path);
      },
      py::arg("path"), py::arg("label"), py::kw_only(), py::arg("first_pid"),
      py::arg("ids"), py::arg("shift_ns"),
      "Adds the trace's rows to a file of several ranks that ends with an event, with "
      "pids from `first_pid` on and ids moved by `ids`; returns the first free pid.");
}

}  // namespace tta::bindings
