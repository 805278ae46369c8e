// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_report.cpp: analysis and its report, field by field.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/own_rules.h"
#include "bindings/signals.h"
#include "patterns/blocking_calls.h"
#include "pipeline/analyze.h"
#include "pipeline/quality/quality.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names
using patterns::PatternTable;

// A value for each row of the pattern table, by name; zeros are left out.
py::typing::Dict<py::str, py::int_> by_pattern(const std::vector<std::int64_t>& ns,
                                               const PatternTable& patterns) {
  py::typing::Dict<py::str, py::int_> out;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    if (ns[i] != 0)
      out[py::str(std::string(patterns.rows()[i].name))] = py::int_(ns[i]);
  }
  return out;
}

py::typing::Dict<py::str, py::int_> by_pattern(const std::vector<PatternTime>& times,
                                               const PatternTable& patterns) {
  py::typing::Dict<py::str, py::int_> out;
  for (const auto& time : times) {
    out[py::str(std::string(patterns[time.pattern].name))] = time.ns;
  }
  return out;
}

// A step, with names for the patterns of its balance.
struct NamedStep : StepRow {
  Table patterns;
};

std::vector<NamedStep> steps_of(const Analysis& a) {
  std::vector<NamedStep> out;
  for (const auto& step : a.report.steps) out.push_back({step, a.patterns});
  return out;
}

const char* verdict_name(Verdict verdict) {
  return std::array{"ok", "degraded", "unusable"}[static_cast<int>(verdict)];
}

const char* origin_name(Origin origin) {
  return std::array{"rule", "dry-run"}[static_cast<int>(origin)];
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
      .def_readonly("warnings", &Quality::notes);
  py::class_<Device>(m, "Device")
      .def_readonly("id", &Device::id)
      .def_readonly("name", &Device::name)
      .def_readonly("events", &Device::work_rows);
  py::class_<Simulated>(m, "Simulated", "What a simulated trace assumes.")
      .def_readonly("gpu", &Simulated::gpu)
      .def_readonly("host_us_per_op", &Simulated::host_us_per_op);
  py::class_<TraceFacts>(m, "TraceFacts")
      .def_readonly("path", &TraceFacts::path)
      .def_readonly("events", &TraceFacts::events)
      .def_readonly("begin_ns", &TraceFacts::begin_ns)
      .def_readonly("end_ns", &TraceFacts::end_ns)
      .def_readonly("devices", &TraceFacts::devices)
      .def_readonly("processes", &TraceFacts::processes)
      .def_readonly("rank", &TraceFacts::rank)
      .def_readonly("world_size", &TraceFacts::world_size)
      .def_readonly("simulated", &TraceFacts::simulated);
  py::class_<Named<BalanceRow>>(m, "BalanceRow")
      .def_property_readonly("device",
                             [](const Named<BalanceRow>& b) { return known(b.device); })
      .def_property_readonly(
          "devices", [](const Named<BalanceRow>& b) { return known(b.device) ? 1 : 0; })
      .def_readonly("key", &BalanceRow::key)
      .def_readonly("pid", &BalanceRow::pid)
      .def_readonly("span_ns", &BalanceRow::span_ns)
      .def_readonly("busy_ns", &BalanceRow::busy_ns)
      .def_property_readonly(
          "idle_ns",
          [](const Named<BalanceRow>& b) { return by_pattern(b.idle_ns, *b.patterns); })
      .def_readonly("unattributed_ns", &BalanceRow::unattributed_ns)
      .def_readonly("delay_ns", &BalanceRow::delay_ns)
      .def_property_readonly("excess_ns", [](const Named<BalanceRow>& b) {
        return by_pattern(b.excess_ns, *b.patterns);
      });
  py::class_<Unexplained>(m, "Unexplained")
      .def_property_readonly("device",
                             [](const Unexplained& u) { return known(u.device); })
      .def_readonly("pid", &Unexplained::pid)
      .def_readonly("begin_ns", &Unexplained::begin_ns)
      .def_readonly("end_ns", &Unexplained::end_ns)
      .def_readonly("during", &Unexplained::during);
  using Balance = Named<StepBalance>;
  py::class_<Balance>(m, "StepBalance")
      .def_readonly("devices", &Balance::devices)
      .def_property_readonly("device", [](const Balance& b) { return known(b.device); })
      .def_readonly("span_ns", &Balance::span_ns)
      .def_readonly("busy_ns", &Balance::busy_ns)
      .def_property_readonly(
          "idle_ns", [](const Balance& b) { return by_pattern(b.idle, *b.patterns); })
      .def_readonly("unattributed_ns", &Balance::unattributed_ns)
      .def_property_readonly("excess_ns", [](const Balance& b) {
        return by_pattern(b.excess, *b.patterns);
      });
  py::class_<NamedStep>(m, "StepRow")
      .def_readonly("number", &NamedStep::number)
      .def_readonly("pid", &NamedStep::pid)
      .def_readonly("begin_ns", &NamedStep::begin_ns)
      .def_readonly("end_ns", &NamedStep::end_ns)
      .def_readonly("busy_ns", &NamedStep::busy_ns)
      .def_property_readonly("balance",
                             [](const NamedStep& s) -> std::optional<Balance> {
                               if (!s.balance) return std::nullopt;
                               return Balance{*s.balance, s.patterns};
                             });
  py::class_<Named<Label>>(m, "Label")
      .def_property_readonly("pattern",
                             [](const Named<Label>& l) { return info(l).name; })
      .def_property_readonly(
          "side", [](const Named<Label>& l) { return side_name(info(l).side); })
      .def_property_readonly(
          "origin", [](const Named<Label>& l) { return origin_name(l.origin); })
      .def_readonly("wasted_ns", &Label::wasted_ns)
      .def_readonly("wasted_fraction", &Label::wasted_fraction)
      .def_readonly("saved_fraction", &Label::saved_fraction);
  using Outcome = Named<patterns::OwnOutcome>;
  py::class_<Outcome>(m, "OwnOutcome", "What became of an own rule's requests.")
      .def_property_readonly("rule", [](const Outcome& o) { return info(o).name; })
      .def_readonly("claims", &Outcome::requests)
      .def_readonly("asked_ns", &Outcome::asked_ns)
      .def_readonly("claimed_ns", &Outcome::claimed_ns)
      .def_readonly("taken_ns", &Outcome::taken_ns)
      .def_readonly("counted", &Outcome::counted);
  using Window = Named<WindowRow>;
  py::class_<Window>(m, "WindowRow")
      .def_readonly("index", &WindowRow::index)
      .def_property_readonly("begin_ns",
                             [](const Window& w) { return w.window.begin_ns; })
      .def_property_readonly("end_ns", [](const Window& w) { return w.window.end_ns; })
      .def_property_readonly("step",
                             [](const Window& w) { return known(w.window.step); })
      .def_property_readonly("device",
                             [](const Window& w) { return known(w.window.number); })
      .def_property_readonly("pid", [](const Window& w) { return w.window.pid; })
      .def_property_readonly("events", [](const Window& w) { return w.window.events; })
      .def_property_readonly("work", [](const Window& w) { return w.window.work; })
      .def_readonly("busy_ns", &WindowRow::busy_ns)
      .def_property_readonly(
          "labels", [](const Window& w) { return with_names(w.labels, w.patterns); })
      .def_readonly("cpu_wasted_fraction", &WindowRow::cpu_wasted_fraction)
      .def_readonly("gpu_wasted_fraction", &WindowRow::gpu_wasted_fraction);
}

}  // namespace

void bind_report(py::module_& m) {
  bind_parts(m);

  // Lists are made anew at each access: hold on to them in a loop.
  py::class_<Analysis> report(m, "Report",
                              "What an analysis says. Times in nanoseconds.");
  report
      .def_property_readonly("trace", [](const Analysis& a) { return a.report.trace; })
      .def_property_readonly(
          "origin", [](const Analysis& a) { return origin_name(a.report.origin); },
          "Of what rules found: rule, or dry-run of a simulated trace.")
      .def_property_readonly("quality",
                             [](const Analysis& a) { return a.report.quality; })
      .def_property_readonly(
          "balance",
          [](const Analysis& a) { return with_names(a.report.balance, a.patterns); })
      .def_property_readonly("unexplained",
                             [](const Analysis& a) { return a.report.unexplained; })
      .def_property_readonly("steps", steps_of)
      .def_property_readonly(
          "windows",
          [](const Analysis& a) { return with_names(a.report.windows, a.patterns); })
      .def_property_readonly(
          "findings",
          [](const Analysis& a) { return with_names(a.report.findings, a.patterns); })
      .def_property_readonly(
          "lists_waits", [](const Analysis& a) { return a.report.lists_waits; },
          "Whether the trace lists the waits of a dry run.")
      .def_property_readonly(
          "own_rules",
          [](const Analysis& a) { return with_names(a.report.own_rules, a.patterns); })
      .def_property_readonly(
          "pattern_names",
          [](const Analysis& a) {
            std::vector<std::string> out;
            for (const auto& p : a.patterns->rows()) out.emplace_back(p.name);
            return out;
          },
          "Of the built-in patterns, then of the user's own rules.")
      .def_property_readonly(
          "blocking_calls",
          [](const Analysis& a) {
            return patterns::blocking_calls(*a.report.timeline);
          },
          "Every call in which the host waited for a device, in order of time.")
      .def(
          "longest_pause",
          [](const Analysis& a, std::int32_t device) {
            for (const auto& d : a.report.timeline->devices) {
              if (d.device != device) continue;
              const auto pause = timeline::longest_pause(d);
              return std::pair(pause.begin, pause.end);
            }
            throw py::index_error("no device " + std::to_string(device) + " worked");
          },
          py::arg("device"),
          "Begin and end of the longest time between two pieces of a device's work; "
          "equal if there is none.")
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
  bind_lanes(m, report);
  bind_perfetto(report);
  bind_features(m, report);
  bind_replay(m, report);

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
         const std::optional<StepNumbers>& steps) {
        Options options;
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
      "`steps`: the first and last of those that the trace was loaded for.");
}

}  // namespace tta::bindings
