// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_report.cpp: analysis and its report, field by field.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "patterns/waits.h"
#include "pipeline/analyze.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names
using patterns::PatternSide;

std::string side_name(PatternSide side) {
  return side == PatternSide::kCpu ? "cpu" : "gpu";
}

std::string pattern_name(patterns::PatternId id) {
  return std::string(patterns::info(id).name);
}

// A value for each row of the pattern table, by name; zeros are left out.
py::typing::Dict<py::str, py::int_> by_pattern(const std::vector<std::int64_t>& ns) {
  py::typing::Dict<py::str, py::int_> out;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    if (ns[i] != 0)
      out[py::str(std::string(patterns::patterns()[i].name))] = py::int_(ns[i]);
  }
  return out;
}

py::typing::Dict<py::str, py::int_> by_pattern(const std::vector<PatternTime>& times) {
  py::typing::Dict<py::str, py::int_> out;
  for (const auto& time : times) out[py::str(pattern_name(time.pattern))] = time.ns;
  return out;
}

const char* verdict_name(Verdict verdict) {
  return std::array{"ok", "degraded", "unusable"}[static_cast<int>(verdict)];
}

void bind_parts(py::module_& m) {
  py::class_<QualityNote>(m, "QualityNote")
      .def_readonly("kind", &QualityNote::kind)
      .def_readonly("count", &QualityNote::count)
      .def_readonly("detail", &QualityNote::detail)
      .def_property_readonly(
          "verdict", [](const QualityNote& n) { return verdict_name(n.verdict); });
  py::class_<Quality>(m, "Quality")
      .def_property_readonly("verdict",
                             [](const Quality& q) { return verdict_name(q.verdict); })
      .def_readonly("incomplete", &Quality::incomplete)
      .def_readonly("linking_rate", &Quality::linking_rate)
      .def_readonly("notes", &Quality::notes);
  py::class_<Device>(m, "Device")
      .def_readonly("id", &Device::id)
      .def_readonly("name", &Device::name)
      .def_readonly("work_rows", &Device::work_rows);
  py::class_<TraceFacts>(m, "TraceFacts")
      .def_readonly("path", &TraceFacts::path)
      .def_readonly("events", &TraceFacts::events)
      .def_readonly("begin_ns", &TraceFacts::begin_ns)
      .def_readonly("end_ns", &TraceFacts::end_ns)
      .def_readonly("devices", &TraceFacts::devices)
      .def_readonly("rank", &TraceFacts::rank)
      .def_readonly("world_size", &TraceFacts::world_size);
  py::class_<BalanceRow>(m, "BalanceRow")
      .def_readonly("device", &BalanceRow::device)
      .def_readonly("span_ns", &BalanceRow::span_ns)
      .def_readonly("busy_ns", &BalanceRow::busy_ns)
      .def_property_readonly("idle_ns",
                             [](const BalanceRow& b) { return by_pattern(b.idle_ns); })
      .def_readonly("unattributed_ns", &BalanceRow::unattributed_ns)
      .def_property_readonly(
          "excess_ns", [](const BalanceRow& b) { return by_pattern(b.excess_ns); });
  py::class_<Unexplained>(m, "Unexplained")
      .def_readonly("device", &Unexplained::device)
      .def_readonly("begin_ns", &Unexplained::begin_ns)
      .def_readonly("end_ns", &Unexplained::end_ns)
      .def_readonly("during", &Unexplained::during);
  py::class_<StepBalance>(m, "StepBalance")
      .def_readonly("devices", &StepBalance::devices)
      .def_readonly("device", &StepBalance::device)
      .def_readonly("span_ns", &StepBalance::span_ns)
      .def_readonly("busy_ns", &StepBalance::busy_ns)
      .def_property_readonly("idle_ns",
                             [](const StepBalance& b) { return by_pattern(b.idle); })
      .def_readonly("unattributed_ns", &StepBalance::unattributed_ns)
      .def_property_readonly("excess_ns",
                             [](const StepBalance& b) { return by_pattern(b.excess); });
  py::class_<StepRow>(m, "StepRow")
      .def_readonly("number", &StepRow::number)
      .def_readonly("begin_ns", &StepRow::begin_ns)
      .def_readonly("end_ns", &StepRow::end_ns)
      .def_readonly("busy_ns", &StepRow::busy_ns)
      .def_readonly("balance", &StepRow::balance);
  py::class_<timeline::Window>(m, "Window")
      .def_readonly("begin_ns", &timeline::Window::begin_ns)
      .def_readonly("end_ns", &timeline::Window::end_ns)
      .def_readonly("step", &timeline::Window::step)
      .def_readonly("device", &timeline::Window::device)
      .def_readonly("pid", &timeline::Window::pid)
      .def_readonly("events", &timeline::Window::events)
      .def_readonly("work", &timeline::Window::work);
  py::class_<Label>(m, "Label")
      .def_property_readonly("pattern",
                             [](const Label& l) { return pattern_name(l.pattern); })
      .def_property_readonly(
          "side",
          [](const Label& l) { return side_name(patterns::info(l.pattern).side); })
      .def_property_readonly(
          "origin",
          [](const Label& l) { return l.origin == Origin::kRule ? "rule" : "model"; })
      .def_readonly("score", &Label::score)
      .def_readonly("wasted_ns", &Label::wasted_ns);
  py::class_<WindowRow>(m, "WindowRow")
      .def_readonly("index", &WindowRow::index)
      .def_readonly("window", &WindowRow::window)
      .def_readonly("busy_ns", &WindowRow::busy_ns)
      .def_readonly("labels", &WindowRow::labels)
      .def_readonly("cpu_score", &WindowRow::cpu_score)
      .def_readonly("gpu_score", &WindowRow::gpu_score);
}

}  // namespace

void bind_report(py::module_& m) {
  bind_findings(m);
  bind_parts(m);

  // Lists are made anew at each access: hold on to them in a loop.
  py::class_<Analysis> report(m, "Report",
                              "What an analysis says. Times in nanoseconds.");
  report
      .def_property_readonly("trace", [](const Analysis& a) { return a.report.trace; })
      .def_property_readonly("quality",
                             [](const Analysis& a) { return a.report.quality; })
      .def_property_readonly("balance",
                             [](const Analysis& a) { return a.report.balance; })
      .def_property_readonly("unexplained",
                             [](const Analysis& a) { return a.report.unexplained; })
      .def_property_readonly("steps", [](const Analysis& a) { return a.report.steps; })
      .def_property_readonly("windows",
                             [](const Analysis& a) { return a.report.windows; })
      .def_property_readonly("findings",
                             [](const Analysis& a) { return a.report.findings; })
      .def_property_readonly(
          "waits",
          [](const Analysis& a) { return patterns::list_waits(*a.report.timeline); },
          "Every call in which the host waited for a device, in order of time.")
      .def(
          "window_tree",
          [](const Analysis& a, std::size_t index) {
            if (index >= a.report.windows.size()) {
              throw py::index_error("there is no window " + std::to_string(index));
            }
            std::vector<std::pair<std::uint32_t, std::int32_t>> out;
            for (const auto& node : timeline::window_tree(
                     *a.report.timeline, a.report.windows[index].window)) {
              out.emplace_back(node.row, node.parent);
            }
            return out;
          },
          py::arg("index"),
          "The window's device work under the host events it came from: (row, index of "
          "the parent in this list or -1), parents first.");
  bind_tables(m, report);

  m.def(
      "analyze",
      [](std::shared_ptr<trace::Trace> trace, std::optional<std::uint32_t> max_events) {
        Options options;
        if (max_events) options.window.max_events = *max_events;
        const py::gil_scoped_release release;
        auto report = pipeline::analyze(*trace, options);
        return Analysis{std::move(trace), std::move(report)};
      },
      py::arg("trace"), py::kw_only(), py::arg("max_events") = py::none());
}

}  // namespace tta::bindings
