// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_perfetto.cpp: the copy of a trace with what its report says of it.
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/analysis.h"
#include "pipeline/drawing/perfetto.h"

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
}

}  // namespace tta::bindings
