// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_rules.cpp: thresholds, settings, rules written in Python, and the
// arrays that these read.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/own_rules.h"
#include "patterns/rule.h"
#include "patterns/settings.h"
#include "pipeline/report.h"
#include "timeline/frames.h"

namespace tta::bindings {

namespace {

namespace py = pybind11;
using timeline::IntervalSet;
using Numbers = py::array_t<std::int64_t>;

// Copies: the timeline goes when its report does, arrays may stay.
Numbers row_numbers(const std::vector<std::uint32_t>& rows) {
  static_assert(timeline::kNoRow == timeline::kNoLane);
  Numbers out(static_cast<py::ssize_t>(rows.size()));
  std::transform(rows.begin(), rows.end(), out.mutable_data(), [](std::uint32_t row) {
    return row == timeline::kNoRow ? std::int64_t{-1} : std::int64_t{row};
  });
  return out;
}

template <std::size_t width, typename List, typename Row>
Numbers table(const List& list, const Row& row) {
  Numbers out({static_cast<py::ssize_t>(list.size()), py::ssize_t{width}});
  auto* to = out.mutable_data();
  for (const auto& item : list) {
    const std::array<std::int64_t, width> values = row(item);
    to = std::copy(values.begin(), values.end(), to);
  }
  return out;
}

Numbers intervals(const IntervalSet& set) {
  return table<2>(set,
                  [](const auto& part) { return std::array{part.begin, part.end}; });
}

std::size_t index_of(const timeline::Timeline& t, std::optional<std::int32_t> device,
                     std::optional<std::int64_t> pid = std::nullopt) {
  if (!device && t.host) {
    const auto index = pid ? t.host.index_of(*pid) : 0;
    if (index != timeline::HostTimes::kNone) return index;
    throw std::invalid_argument("process " + std::to_string(*pid) +
                                " did no work in this trace");
  }
  if (pid) throw std::invalid_argument("this trace has device work: name a device");
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (device == t.devices[i].device) return i;
  }
  throw std::invalid_argument(device ? "device " + std::to_string(*device) +
                                           " did no work in this trace"
                                     : "name a device: this trace has device work");
}

}  // namespace

void bind_rule_context(py::module_& m) {
  py::class_<RuleContext, std::shared_ptr<RuleContext>>(
      m, "RuleContext", "A rule's view of the trace; torchtraceap.RuleView wraps it.")
      .def_property_readonly("span",
                             [](const RuleContext& c) {
                               return std::pair(c.timeline().span.begin,
                                                c.timeline().span.end);
                             })
      .def_property_readonly("devices",
                             [](const RuleContext& c) {
                               std::vector<std::int32_t> out;
                               for (const auto& d : c.timeline().devices)
                                 out.push_back(d.device);
                               return out;
                             })
      .def("parents",
           [](const RuleContext& c) { return row_numbers(c.timeline().tree.parent); })
      .def("launches",
           [](const RuleContext& c) { return row_numbers(c.timeline().links.launch); })
      .def("lanes",
           [](const RuleContext& c) { return row_numbers(c.timeline().lanes.lane); })
      .def("steps",
           [](const RuleContext& c) {
             return table<3>(c.timeline().spans.steps, [](const auto& step) {
               return std::array{step.number, step.begin, step.end};
             });
           })
      .def(
          "idle",
          [](const RuleContext& c, std::optional<std::int32_t> device,
             std::optional<std::int64_t> pid) {
            const auto& t = c.timeline();
            return intervals((*c).ledger.idle(index_of(t, device, pid), t.span));
          },
          py::arg("device"), py::arg("pid"))
      .def(
          "busy",
          [](const RuleContext& c, std::int32_t device) {
            const auto& t = c.timeline();
            return intervals((*c).ledger.busy(index_of(t, device), t.span));
          },
          py::arg("device"))
      .def(
          "on_stream",
          [](const RuleContext& c, std::uint32_t row) {
            const auto& lanes = c.timeline().lanes;
            return row < lanes.lane.size() && lanes.on_stream(row);
          },
          py::arg("row"), "Whether the event is device work.")
      .def(
          "device_of",
          [](const RuleContext& c, std::uint32_t row) {
            const auto& lanes = c.timeline().lanes;
            const bool known = row < lanes.lane.size() && lanes.on_stream(row);
            return known ? lanes.lanes[lanes.lane[row]].device : -1;
          },
          py::arg("row"), "The device of device work, as in `devices`; -1 of others.")
      .def(
          "frames",
          [](const RuleContext& c, const std::vector<std::uint32_t>& rows) {
            const auto& t = c.timeline();
            for (const auto row : rows) {
              if (row >= t.columns().size())
                throw py::index_error("there is no row " + std::to_string(row));
            }
            return pipeline::locations_of(timeline::user_frames(t, rows));
          },
          py::arg("rows"));
}

namespace {

namespace py = pybind11;
using patterns::Context;
using patterns::OwnRule;
using patterns::Request;
using patterns::Settings;

// begin, end, evidence, device, busy: what a function gives for each Request.
using Asked = std::tuple<std::int64_t, std::int64_t, std::uint32_t,
                         std::optional<std::int32_t>, bool>;

struct ThresholdRow {
  std::string pattern;
  patterns::Threshold threshold;
};

std::vector<ThresholdRow> thresholds() {
  std::vector<ThresholdRow> out;
  for (const auto& pattern : patterns::patterns()) {
    for (const auto& threshold : patterns::thresholds(pattern.id))
      out.push_back({std::string(pattern.name), threshold});
  }
  return out;
}

std::vector<Request> call(const py::object& propose, const Context& context) {
  const py::gil_scoped_acquire acquire;
  const auto seen = std::make_shared<RuleContext>(context);
  const std::shared_ptr<void> closing(nullptr, [&](void*) { seen->close(); });
  std::vector<Request> out;
  for (const auto& [begin, end, evidence, device, busy] :
       propose(seen).cast<std::vector<Asked>>()) {
    out.push_back({begin, end, evidence, device, busy});
  }
  return out;
}

}  // namespace

std::vector<OwnRule> callable_rules(const std::vector<BoundRule>& bound) {
  std::vector<OwnRule> out;
  for (const auto& one : bound) {
    out.push_back(one.rule);
    out.back().propose = [propose = &one.propose](const Context& context) {
      return call(*propose, context);
    };
  }
  return out;
}

void bind_rules(py::module_& m) {
  py::class_<ThresholdRow>(m, "Threshold", "A threshold of a rule.")
      .def_readonly("pattern", &ThresholdRow::pattern)
      .def_property_readonly("name",
                             [](const ThresholdRow& r) { return r.threshold.name; })
      .def_property_readonly("default",
                             [](const ThresholdRow& r) { return r.threshold.value; })
      .def_property_readonly("unit",
                             [](const ThresholdRow& r) { return r.threshold.unit; })
      .def_property_readonly("why",
                             [](const ThresholdRow& r) { return r.threshold.why; });
  m.def("thresholds", &thresholds, "Of all patterns, in the order of their table.");
  m.def("duration_text", &patterns::duration_text_us, py::arg("us"),
        "Microseconds as text, with three digits: 412 µs, 12.4 ms.");

  py::class_<Settings>(m, "Settings", "patterns::Settings; see patterns/settings.h.")
      .def(py::init<>())
      .def("set", &Settings::set, py::arg("pattern"), py::arg("threshold"),
           py::arg("value"))
      .def("enable", &Settings::enable, py::arg("pattern"), py::arg("on"));

  py::class_<BoundRule>(m, "OwnRule", "patterns::OwnRule; see patterns/own_rule.h.")
      .def(py::init([](std::string name, const std::string& side, std::string summary,
                       std::string advice, double min_share,
                       const std::optional<std::string>& before, py::object propose) {
             BoundRule out{{}, std::move(propose)};
             out.rule.name = std::move(name);
             out.rule.side = side == "gpu" ? patterns::PatternSide::kGpu
                                           : patterns::PatternSide::kCpu;
             out.rule.summary = std::move(summary);
             out.rule.advice = std::move(advice);
             out.rule.min_share = min_share;
             if (before) out.rule.before = patterns::pattern_named(*before);
             return out;
           }),
           py::kw_only(), py::arg("name"), py::arg("side"), py::arg("summary"),
           py::arg("advice"), py::arg("min_share"), py::arg("before"),
           py::arg("propose"));
}

}  // namespace tta::bindings
