// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_findings.cpp: the table of patterns, and findings with their claims.
#include <pybind11/stl.h>

#include <string>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/record.h"
#include "patterns/blocking_calls.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using patterns::Claim;
using patterns::PatternInfo;
using pipeline::Finding;
using pipeline::Location;
using pipeline::Origin;

std::string place_of(const Location& l) {
  if (l.line) return l.file + ":" + std::to_string(*l.line);
  // So that a function is read as one: step(), but <module>.
  return l.file + " in " + l.function + (l.function.starts_with('<') ? "" : "()");
}

std::optional<std::int64_t> begins(const Location& l) {
  return l.recorded_at == timeline::LineOf::kFunction ? l.recorded_line : std::nullopt;
}

}  // namespace

void bind_findings(py::module_& m) {
  py::class_<PatternInfo>(m, "PatternInfo", "A row of the table of anti-patterns.")
      .def_property_readonly("name", [](const PatternInfo& p) { return p.name; })
      .def_property_readonly("side",
                             [](const PatternInfo& p) { return side_name(p.side); })
      .def_readonly("user_finding", &PatternInfo::user_finding)
      .def_property_readonly("summary", [](const PatternInfo& p) { return p.summary; })
      .def_property_readonly("advice", [](const PatternInfo& p) { return p.advice; })
      .def_readonly("estimate", &PatternInfo::estimate)
      .def_readonly("on_host", &PatternInfo::on_host,
                    "Whether it can also be found in a trace without device work.")
      .def_property_readonly(
          "family", [](const PatternInfo& p) { return patterns::name_of(p.family); },
          "The kind of loss: patterns of one family have one color.")
      .def_property_readonly(
          "edit", [](const PatternInfo& p) { return patterns::info(p.fix).name; })
      .def_property_readonly("subtypes", [](const PatternInfo& p) {
        return std::vector<std::string>(p.subtypes.begin(), p.subtypes.end());
      });
  m.def("patterns", [] {
    const auto table = patterns::patterns();
    return std::vector<PatternInfo>(table.begin(), table.end());
  });

  m.def(
      "pattern_edits",
      [] {
        std::vector<std::pair<std::string, std::string>> out;
        for (const auto& fix : patterns::fixes()) out.emplace_back(fix.name, fix.doc);
        return out;
      },
      "Name of each edit that models a fix, and what it removes.");

  bind_record<Location>(m)
      .def("__str__", &place_of)
      .def_property_readonly(
          "text",
          [](const Location& l) {
            return l.line ? place_of(l) + " " + l.function : place_of(l);
          },
          "As ``train.py:88 step``; without a line, ``train.py in step()``.")
      .def_property_readonly("begins", &begins, "Where the function begins, if known.")
      .def_property_readonly(
          "nearest_line", [](const Location& l) { return l.line ? l.line : begins(l); },
          "The line; if unknown, the first line of the function.")
      .def_property_readonly(
          "names",
          [](const Location& l) {
            const auto recorded =
                l.recorded_line ? std::to_string(*l.recorded_line) : "None";
            return py::typing::Tuple<py::str, py::str>(
                py::make_tuple(place_of(l), l.file + ":" + recorded));
          },
          "The names that select it: also with the line in the trace, so that a name "
          "stays valid without the source file.");

  py::class_<Claim>(m, "Claim", "Time taken by one cause, in nanoseconds.")
      .def_readonly("idle", &Claim::idle)
      .def_readonly("device", &Claim::device)
      .def_readonly("begin", &Claim::begin)
      .def_readonly("end", &Claim::end)
      .def_readonly("evidence", &Claim::evidence);

  py::class_<patterns::BlockingCall>(m, "BlockingCall",
                                     "A call in which the host waited for a device.")
      .def_readonly("row", &patterns::BlockingCall::row)
      .def_readonly("begin_ns", &patterns::BlockingCall::begin)
      .def_readonly("end_ns", &patterns::BlockingCall::end)
      .def_property_readonly("subtype",
                             [](const patterns::BlockingCall& w) {
                               const auto& p =
                                   patterns::info(patterns::PatternId::kSyncStall);
                               return std::string(p.subtypes[w.subtype]);
                             })
      .def_property_readonly(
          "location",
          [](const patterns::BlockingCall& w) {
            return w.location ? std::optional(pipeline::location_of(*w.location))
                              : std::nullopt;
          })
      .def_readonly("operator_name", &patterns::BlockingCall::operator_name);

  bind_record<pipeline::Event>(m);
  bind_record<Finding>(m).def_property_readonly(
      "kind",
      [](const Finding& f) {
        if (f.origin == Origin::kModel) return std::string("unexplained, look here");
        return f.subtype ? f.pattern + " (" + *f.subtype + ")" : f.pattern;
      },
      "The pattern, with its sub-type if it has one: `sync_stall (event)`.");
}

}  // namespace tta::bindings
