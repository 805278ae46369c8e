// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_rules.cpp: thresholds, settings, and rules written in Python.
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/own_rules.h"
#include "patterns/rule.h"
#include "patterns/settings.h"

namespace tta::bindings {
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
  py::class_<ThresholdRow>(m, "Threshold", "A number that a rule decides by.")
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
        "Microseconds for people, with three digits: 412 µs, 12.4 ms.");

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
