// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_report.cpp: analysis and its report, field by field.
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/own_rules.h"
#include "bindings/record.h"
#include "bindings/signals.h"
#include "graphs/read_capture.h"
#include "patterns/blocking_calls.h"
#include "pipeline/analyze.h"
#include "pipeline/quality/quality.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names

using Calls = std::vector<std::pair<timeline::Calls, std::int64_t>>;
using PythonLineOf = std::function<std::optional<std::int64_t>(
    const Location&, const Calls&, std::int64_t)>;

std::vector<Device> working_devices(const TraceFacts& trace) {
  std::vector<Device> out;
  std::ranges::copy_if(trace.devices, std::back_inserter(out),
                       [](const Device& d) { return d.events > 0; });
  return out;
}

// An event of a window's tree, which Python shares instead of copying it.
struct Node {
  Event event;
  std::string category;
  std::vector<std::shared_ptr<Node>> children;
};
using Nodes = std::vector<std::shared_ptr<Node>>;

void walk(const std::shared_ptr<Node>& node, Nodes& out) {
  out.push_back(node);
  for (const auto& child : node->children) walk(child, out);
}

Nodes window_tree(const Analysis& a, std::size_t index) {
  if (index >= a.report.tiles.size()) {
    throw py::index_error("there is no window " + std::to_string(index));
  }
  Nodes roots, all;
  for (const auto& node :
       timeline::window_tree(*a.report.timeline, a.report.tiles[index])) {
    all.push_back(std::make_shared<Node>(
        Node{event_of(*a.trace, node.row),
             category_names()[a.trace->columns.category[node.row]],
             {}}));
    auto& siblings =
        node.parent < 0 ? roots : all[static_cast<std::size_t>(node.parent)]->children;
    siblings.push_back(all.back());
  }
  return roots;
}

void bind_parts(py::module_& m) {
  bind_record<Unexplained>(m).def_property_readonly(
      "duration_us",
      [](const Unexplained& u) { return record::us_of(u.end_ns - u.start_ns); },
      "Length of the stretch.");
  bind_record<Note>(m);
  bind_record<Quality>(m).def_property_readonly(
      "reasons",
      [](const Quality& q) {
        std::vector<Note> worse;
        std::ranges::copy_if(q.warnings, std::back_inserter(worse),
                             [](const Note& n) { return n.verdict != Verdict::kOk; });
        return as_tuple(worse);
      },
      "The warnings that make the verdict worse than \"ok\".");
  bind_record<Device>(m);
  bind_record<Simulated>(m);
  bind_record<TraceFacts>(m)
      .def_property_readonly(
          "span_us",
          [](const TraceFacts& t) { return record::us_of(t.end_ns - t.start_ns); },
          "Length of the analyzed time, with or without device work.")
      .def_property_readonly(
          "device_time_us",
          [](const TraceFacts& t) {
            const auto rows = std::max(t.processes, working_devices(t).size());
            return record::us_of(t.end_ns - t.start_ns) *
                   static_cast<double>(std::max<std::size_t>(1, rows));
          },
          "The span once for each working device, or for each process in a trace "
          "without device work: shares of findings refer to it.")
      .def_property_readonly(
          "working_devices",
          [](const TraceFacts& t) { return as_tuple(working_devices(t)); },
          "The devices with work in the trace; none for a CPU-only one.");
  bind_record<Balance>(m).def_property_readonly(
      "busy_fraction",
      [](const Balance& b) {
        return b.span_ns ? record::us_of(b.busy_ns) / record::us_of(b.span_ns) : 0.0;
      },
      "Share of the span in which the device (or any operator) worked, 0 to 1.");
  bind_record<Step>(m);
  bind_record<RuleOutcome>(m);
  bind_record<Label>(m);
  bind_record<Window>(m)
      .def_property_readonly(
          "duration_us",
          [](const Window& w) { return record::us_of(w.end_ns - w.start_ns); },
          "Length of the window.")
      .def_property_readonly(
          "wasted_us",
          [](const Window& w) {
            double sum = 0;
            for (const auto& label : w.labels) sum += record::us_of(label.wasted_ns);
            return sum;
          },
          "Time that its labels waste together.")
      .def_property_readonly(
          "saved_us",
          [](const Window& w) {
            double most = 0;
            for (const auto& label : w.labels) {
              if (!label.probability) most = std::max(most, label.saved_fraction);
            }
            return most * record::us_of(w.end_ns - w.start_ns);
          },
          "The most time that a fix of one of its patterns saves, by rules and replay: "
          "lists rank windows by it.")
      .def_property_readonly(
          "rule_labels",
          [](const Window& w) {
            std::vector<Label> exact;
            std::ranges::copy_if(w.labels, std::back_inserter(exact),
                                 [](const Label& l) { return !l.probability; });
            return as_tuple(exact);
          },
          "The labels that are exact: without those of the learned detector.");
  py::class_<Node, std::shared_ptr<Node>>(
      m, "Node", "An event of a window's tree: device work, or a host event above it.")
      .def_property_readonly(
          "index", [](const Node& n) { return n.event.index; },
          "Row in `Trace.columns`.")
      .def_property_readonly(
          "name", [](const Node& n) { return text(n.event.name); },
          "Name in the trace.")
      .def_readonly("category", &Node::category, "Category in the trace.")
      .def_property_readonly(
          "start_us", [](const Node& n) { return record::us_of(n.event.start_ns); },
          "Start, on the trace's clock.")
      .def_property_readonly(
          "duration_us",
          [](const Node& n) { return record::us_of(n.event.duration_ns); }, "Length.")
      .def_readonly("children", &Node::children, "In order of time.")
      .def(
          "walk",
          [](const std::shared_ptr<Node>& node)
              -> py::typing::Iterator<std::shared_ptr<Node>> {
            Nodes out;
            walk(node, out);
            return py::iter(py::cast(out));
          },
          "Iterate over this node and all below it, parents first.")
      .def("__repr__", [](const Node& n) {
        return "<Node " + std::string(py::repr(py::str(n.event.name))) + ", " +
               std::to_string(n.children.size()) + " children>";
      });
}

}  // namespace

void bind_report(py::module_& m) {
  bind_parts(m);

  // Each access builds a new list: keep it in a variable for loops.
  py::class_<Analysis> report(m, "Report",
                              "The result of an analysis. Times in nanoseconds.");
  report
      .def_property_readonly("trace", [](const Analysis& a) { return a.report.trace; })
      .def_property_readonly("quality",
                             [](const Analysis& a) { return a.report.quality; })
      .def_property_readonly(
          "balance", [](const Analysis& a) { return as_tuple(list_balance(a.report)); })
      .def_property_readonly(
          "unexplained",
          [](const Analysis& a) { return as_tuple(a.report.unexplained); })
      .def(
          "steps",
          [](const Analysis& a, std::optional<std::size_t> most) {
            return as_tuple(list_steps(a.report, most.value_or(SIZE_MAX)));
          },
          py::arg("most") = py::none(), "The first steps, or all.")
      .def_property_readonly("step_count",
                             [](const Analysis& a) { return a.report.steps.size(); })
      .def_property_readonly("window_count",
                             [](const Analysis& a) { return a.report.windows.size(); })
      .def_property_readonly(
          "windows", [](const Analysis& a) { return as_tuple(a.report.windows); })
      .def(
          "findings",
          [](const Analysis& a, const PythonLineOf& line_of) {
            return as_tuple(list_findings(
                a.report,
                [&](const Location& where, const auto& calls, auto wasted_ns) {
                  Calls named;
                  for (const auto& call : calls)
                    named.emplace_back(call.names, call.ns);
                  return line_of(where, named, wasted_ns);
                }));
          },
          py::arg("line_of"),
          "`line_of(location, calls, wasted_ns)` returns the line of the call if "
          "the trace does not have it; `calls`: names, outermost first, and "
          "nanoseconds.")
      .def(
          "events",
          [](const Analysis& a, const std::vector<std::uint32_t>& rows) {
            std::vector<Event> events;
            for (const auto row : rows) {
              if (row >= a.trace->columns.size()) throw py::index_error("no such row");
              events.push_back(event_of(*a.trace, row));
            }
            return as_tuple(events);
          },
          py::arg("rows"), "Rows of the trace; all must have a start and a duration.")
      .def(
          "claims",
          [](const Analysis& a, std::size_t finding) {
            return a.report.findings.at(finding).claims;
          },
          py::arg("finding"), "The time that a finding claims, in order.")
      .def(
          "occurrences_ns",
          [](const Analysis& a, std::size_t finding) {
            return occurrences(a.report, finding);
          },
          py::arg("finding"), "Cost of each occurrence of a finding, in order of time.")
      .def_property_readonly(
          "lists_waits", [](const Analysis& a) { return a.report.lists_waits; },
          "Whether the trace lists the waits of a dry run.")
      .def_property_readonly(
          "own_rules", [](const Analysis& a) { return as_tuple(list_rules(a.report)); })
      .def_property_readonly(
          "pattern_names",
          [](const Analysis& a) {
            std::vector<std::string> out;
            for (const auto& p : a.report.patterns.rows()) out.emplace_back(p.name);
            return out;
          },
          "Of the built-in patterns, then of the user's own rules.")
      .def_property_readonly(
          "blocking_calls",
          [](const Analysis& a) {
            return patterns::blocking_calls(*a.report.timeline);
          },
          "Every call in which the host waited for a device, in order of time.")
      .def("window_tree", &window_tree, py::arg("index"),
           "The window's device work under the host events it came from: the roots.");
  bind_tables(m, report);
  bind_lanes(m, report);
  bind_perfetto(report);
  bind_features(m, report);
  bind_replay(m, report);

  py::class_<timeline::Capture, std::shared_ptr<timeline::Capture>>(
      m, "Capture", "What was launched while graphs were captured.")
      .def("__len__", [](const timeline::Capture& c) { return c.launches.size(); });
  m.def(
      "judge",
      [](const trace::Trace& trace) {
        const py::gil_scoped_release release;
        return judge(trace);
      },
      py::arg("trace"), "How far a trace can be trusted, without an analysis.");
  m.def(
      "analyze",
      [](std::shared_ptr<trace::Trace> trace, std::optional<std::uint32_t> max_events,
         const patterns::Settings& settings, const std::vector<BoundRule>& rules,
         const std::optional<StepNumbers>& steps,
         std::vector<std::shared_ptr<const timeline::Capture>> captures,
         std::vector<Note> notes) {
        Options options;
        options.captures = std::move(captures);
        options.notes = std::move(notes);
        options.settings = settings;
        options.own_rules = callable_rules(rules);
        if (max_events) options.window.max_events = *max_events;
        options.steps = steps;
        options.checkpoint = heed_signals();
        const py::gil_scoped_release release;
        auto report = pipeline::analyze(*trace, options);
        return Analysis{std::move(trace), std::move(report)};
      },
      py::arg("trace"), py::kw_only(), py::arg("max_events") = py::none(),
      py::arg_v("settings", patterns::Settings(), "Settings()"),
      py::arg_v("rules", std::vector<BoundRule>(), "[]"), py::arg("steps") = py::none(),
      py::arg_v("captures", std::vector<std::shared_ptr<const timeline::Capture>>(),
                "[]"),
      py::arg_v("notes", std::vector<Note>(), "[]"),
      "`steps`: the first and last of those that the trace was loaded for; `notes`: "
      "on the captures, for the quality's warnings.");
  m.def(
      "read_capture",
      [](const trace::Trace& trace, const std::string& file,
         std::optional<std::int64_t> batch_size, const std::string& mode) {
        const py::gil_scoped_release release;
        const auto timeline = timeline::make_timeline(trace);
        auto out = graphs::read_capture(timeline, timeline::EventArgs(timeline));
        out.file = file;
        out.batch_size = batch_size;
        out.mode = mode;
        return std::make_shared<const timeline::Capture>(std::move(out));
      },
      py::arg("trace"), py::arg("file"), py::arg("batch_size"), py::arg("mode"),
      "The launches of a trace as a capture of graphs, without the trace.");
}

}  // namespace tta::bindings
