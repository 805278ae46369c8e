// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_lanes.cpp: lanes as a page draws them, and the copy of a trace for
// Perfetto.
#include <pybind11/stl.h>
#include <pybind11/typing.h>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/analysis.h"
#include "pipeline/drawing/lane_view.h"
#include "pipeline/drawing/perfetto.h"
#include "write/write_pftrace.h"
#include "write/write_rows.h"

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
      "Writes a copy of the trace with additional tracks; `findings` are name and args "
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

namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names

// A lane of the timeline, with how it is drawn.
struct DrawnLane {
  timeline::Lane lane;
  LaneView view;
};

struct DrawnLanes {
  std::vector<DrawnLane> lanes;
  std::uint64_t left_out;
  std::int64_t cell_ns;
};

DrawnLanes draw(const Analysis& a, std::uint64_t limit,
                std::optional<std::pair<std::int64_t, std::int64_t>> time) {
  const py::gil_scoped_release release;
  LaneOptions options{limit, {}};
  if (time) options.time = {time->first, time->second};
  auto views = view_lanes(a.report, options);
  DrawnLanes out{{}, views.left_out, views.cell_ns};
  for (auto& view : views.lanes) {
    const auto& lane = a.report.timeline->lanes.lanes[view.lane];
    out.lanes.push_back({lane, std::move(view)});
  }
  return out;
}

using Slice = py::typing::Tuple<py::int_, py::int_, py::typing::Optional<py::int_>,
                                py::int_, py::int_, py::int_, py::int_>;

// Tuples, for there are ten thousands of them.
py::typing::List<Slice> slices_of(const DrawnLane& l) {
  py::typing::List<Slice> out;
  for (const auto& s : l.view.slices) {
    out.append(py::make_tuple(s.begin, s.end, s.row, static_cast<int>(s.category),
                              s.count, s.busy_ns, s.depth));
  }
  return out;
}

}  // namespace

void bind_lanes(py::module_& m, py::class_<Analysis>& report) {
  m.def(
      "write_pftrace",
      [](const std::variant<py::bytes, std::string>& source, const std::string& path) {
        const auto* const file = std::get_if<std::string>(&source);
        std::string bytes =
            file != nullptr ? "" : std::string(std::get<py::bytes>(source));
        const py::gil_scoped_release release;
        write::write_pftrace(file != nullptr ? trace::load_file(*file)
                                             : trace::load_bytes(std::move(bytes)),
                             path);
      },
      py::arg("source"), py::arg("path"),
      "Writes a trace, given as a path or bytes, as Perfetto's packets.");
  py::class_<DrawnLane>(m, "DrawnLane",
                        "See pipeline/drawing/lane_view.h; nanoseconds.")
      .def_property_readonly("is_stream",
                             [](const DrawnLane& l) { return l.lane.is_stream; })
      .def_property_readonly("pid", [](const DrawnLane& l) { return l.lane.pid; })
      .def_property_readonly("tid", [](const DrawnLane& l) { return l.lane.tid; })
      .def_property_readonly("device", [](const DrawnLane& l) { return l.lane.number; })
      .def_property_readonly("stream", [](const DrawnLane& l) { return l.lane.stream; })
      .def_property_readonly("name", [](const DrawnLane& l) { return l.view.name; })
      .def_property_readonly("events", [](const DrawnLane& l) { return l.view.events; })
      .def_property_readonly("hidden", [](const DrawnLane& l) { return l.view.hidden; })
      .def_property_readonly("busy_ns",
                             [](const DrawnLane& l) { return l.view.busy_ns; })
      .def_property_readonly("slices", &slices_of,
                             "Begin, end, row or None if several are merged, category, "
                             "count of events, their busy time, depth.");
  py::class_<DrawnLanes>(m, "DrawnLanes")
      .def_readonly("lanes", &DrawnLanes::lanes)
      .def_readonly("left_out", &DrawnLanes::left_out)
      .def_readonly("cell_ns", &DrawnLanes::cell_ns);
  report.def("lanes", &draw, py::arg("limit"), py::arg("time") = py::none());
}

}  // namespace tta::bindings
