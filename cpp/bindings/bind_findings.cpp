// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_findings.cpp: the table of patterns, and findings with their claims.
#include <pybind11/stl.h>

#include <array>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "patterns/blocking_calls.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using patterns::Claim;
using patterns::Finding;
using patterns::PatternInfo;
using patterns::PatternSide;
using timeline::Frame;

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
          "What the time is lost to: patterns of one family have one color.")
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
      "Name of each edit that stands for a fix, and what it takes away.");

  py::class_<Frame>(m, "Frame",
                    "A place in Python code: see timeline/frames.h for which line.")
      .def_readonly("file", &Frame::file)
      .def_readonly("line", &Frame::line)
      .def_readonly("function", &Frame::function)
      .def_readonly("user", &Frame::user)
      .def_property_readonly(
          "line_of",
          [](const Frame& f) {
            return std::array{"function", "start", "call"}[static_cast<int>(f.line_of)];
          },
          "Whose line it is: of the function's begin, of where the function was when "
          "recording began, or of the call.");

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
      .def_readonly("location", &patterns::BlockingCall::location)
      .def_readonly("operator_name", &patterns::BlockingCall::operator_name);

  py::class_<replay::Gain>(m, "Gain",
                           "What a change takes off the span, in nanoseconds.")
      .def_readonly("low_ns", &replay::Gain::low)
      .def_readonly("high_ns", &replay::Gain::high)
      .def_property_readonly("recomputed_share",
                             [](const replay::Gain& g) { return known(g.recomputed); })
      .def_property_readonly("inferred_share",
                             [](const replay::Gain& g) { return known(g.inferred); });
  py::class_<Named<Finding>>(m, "Finding", "One anti-pattern at one place.")
      .def_readonly("id", &Finding::id)
      .def_property_readonly("pattern",
                             [](const Named<Finding>& f) { return info(f).name; })
      .def_property_readonly("subtype",
                             [](const Named<Finding>& f) -> std::string {
                               const auto& kinds = info(f).subtypes;
                               if (kinds.empty()) return "";
                               return std::string(kinds[f.subtype]);
                             })
      .def_property_readonly(
          "side", [](const Named<Finding>& f) { return side_name(info(f).side); })
      .def_property_readonly("severity",
                             [](const Named<Finding>& f) {
                               return std::array{"low", "medium",
                                                 "high"}[static_cast<int>(f.severity)];
                             })
      .def_readonly("count", &Finding::count)
      .def_readonly("waits", &Finding::waits)
      .def_readonly("gain", &Finding::gain)
      .def_readonly("doubt", &Finding::doubt)
      .def_readonly("wasted_ns", &Finding::wasted_ns)
      .def_readonly("idle_ns", &Finding::idle_ns)
      .def_readonly("estimate", &Finding::estimate)
      .def_property_readonly(
          "edit",
          [](const Named<Finding>& f) -> std::string_view {
            // Of what claims no time, nothing is taken away.
            return f.claims.empty() ? "" : patterns::info(info(f).fix).name;
          })
      .def_readonly("location", &Finding::location)
      .def_readonly("pids", &Finding::pids)
      .def_property_readonly(
          "calls",
          [](const Named<Finding>& f) {
            std::vector<std::pair<timeline::Calls, std::int64_t>> out;
            for (const auto& call : f.calls) out.emplace_back(call.names, call.ns);
            return out;
          },
          "What the location was calling, and nanoseconds of each.")
      .def_readonly("deepest", &Finding::deepest)
      .def_readonly("operator", &Finding::operator_name)
      .def_readonly("message", &Finding::message)
      .def_readonly("advice", &Finding::advice)
      .def_readonly("events", &Finding::events)
      .def_readonly("windows", &Finding::windows)
      .def_property_readonly("shares_gain_with",
                             [](const Named<Finding>& f) {
                               std::vector<std::string_view> out;
                               for (const auto id : f.shares) {
                                 out.push_back((*f.patterns)[id].name);
                               }
                               return out;
                             })
      .def_readonly("claims", &Finding::claims);
}

}  // namespace tta::bindings
