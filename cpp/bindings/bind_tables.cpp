// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_tables.cpp: the parts of a report that are made when asked for.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>

#include "bindings/analysis.h"
#include "bindings/record.h"
#include "pipeline/comparison/align.h"
#include "pipeline/comparison/call_tree.h"
#include "pipeline/quality/serving_checks.h"
#include "pipeline/story/answer.h"
#include "pipeline/story/story.h"
#include "pipeline/tables/event_sorts.h"
#include "pipeline/tables/tables.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names

// An unusable trace was not read for them.
std::shared_ptr<const timeline::EventArgs> args_of(const Report& r) {
  return r.args ? r.args : std::make_shared<const timeline::EventArgs>(*r.timeline);
}

std::shared_ptr<const work::OperatorTimes> operators_of(const Report& r) {
  return r.operators
             ? r.operators
             : std::make_shared<const work::OperatorTimes>(*r.timeline, *args_of(r));
}

WorkTables work_tables(const Analysis& a) {
  const auto& t = *a.report.timeline;
  std::int64_t busy_ns = 0;
  for (const auto& row : a.report.balance) busy_ns += row.busy_ns;
  return make_work_tables(t, *args_of(a.report), busy_ns);
}

}  // namespace

void bind_tables(py::module_& m, py::class_<Analysis>& report) {
  bind_record<Stage>(m);
  bind_record<AnswerRow>(m);
  bind_record<Answer>(m);
  bind_record<Kernel>(m);
  bind_record<Copy>(m);
  bind_record<Operator>(m);
  bind_record<RooflineRow>(m);
  bind_record<Utilization>(m);
  bind_record<CollectiveRate>(m);
  bind_record<RecordingCheck>(m);
  bind_record<EngineStep>(m);
  bind_record<EngineKind>(m);
  bind_record<GraphPart>(m);
  bind_record<Graph>(m);
  bind_record<GraphNode>(m);
  bind_record<Reason>(m);
  bind_record<AlignedSide>(m);
  bind_record<AlignedOperator>(m);
  bind_record<Alignment>(m);
  bind_record<MemoryHolder>(m);
  bind_record<MemoryGrowth>(m);
  bind_record<MemoryPoint>(m);
  bind_record<Memory>(m);
  bind_record<Counts>(m);
  bind_record<KernelCounts>(m);
  bind_record<Overlap>(m);
  bind_record<Thread>(m);
  py::class_<WorkTables>(m, "WorkTables")
      .def_property_readonly("kernels",
                             [](const WorkTables& w) { return as_tuple(w.kernels); })
      .def_property_readonly("copies",
                             [](const WorkTables& w) { return as_tuple(w.copies); });
  py::class_<SortOfEvent>(m, "SortOfEvent")
      .def_readonly("kind", &SortOfEvent::kind)
      .def_readonly("letter", &SortOfEvent::letter);
  using release = py::call_guard<py::gil_scoped_release>;
  py::class_<CallTree>(m, "CallTree",
                       "A trace reduced to its calls, with the device time of each.");
  m.def("align", &align, py::arg("before"), py::arg("after"), release(),
        "Align the operators of two traces.");
  report
      .def("story",
           [](const Analysis& a) {
             return tuple_of([&] { return tell_story(a.report); });
           })
      .def(
          "answer", [](const Analysis& a) { return answer_of(a.report); }, release())
      .def("work_tables", &work_tables, release())
      .def("operators",
           [](const Analysis& a) {
             return tuple_of([&] { return make_operator_table(*a.report.timeline); });
           })
      .def(
          "sorts",
          [](const Analysis& a, const std::vector<std::uint32_t>& rows) {
            return sorts_of(a.report, rows);
          },
          py::arg("rows"), "What kind of event each row is, and its letter.")
      .def("roofline",
           [](const Analysis& a) {
             return tuple_of([&] {
               return make_roofline_table(*a.report.timeline, *operators_of(a.report));
             });
           })
      .def("collectives",
           [](const Analysis& a) {
             return tuple_of([&] {
               return list_collectives(*a.report.timeline, *args_of(a.report));
             });
           })
      .def(
          "check_serving",
          [](const Analysis& a, const std::string& engine) {
            return tuple_of(
                [&] { return check_serving(a.report, *args_of(a.report), engine); });
          },
          py::arg("engine"))
      .def("engine_steps",
           [](const Analysis& a) {
             return tuple_of([&] { return make_engine_steps(a.report); });
           })
      .def("engine_kinds",
           [](const Analysis& a) {
             return tuple_of([&] { return make_engine_kinds(a.report); });
           })
      .def("graphs",
           [](const Analysis& a) {
             return tuple_of([&] { return list_graphs(a.report); });
           })
      .def("graph_nodes",
           [](const Analysis& a) {
             return tuple_of([&] { return list_graph_nodes(a.report); });
           })
      .def_property_readonly(
          "has_captures",
          [](const Analysis& a) {
            return a.report.graphs && a.report.graphs->captured;
          },
          "Whether there was a capture to look for graphs in.")
      .def("utilization",
           [](const Analysis& a) {
             return tuple_of(
                 [&] { return list_utilization(a.report, *operators_of(a.report)); });
           })
      .def(
          "call_tree", [](const Analysis& a) { return make_call_tree(a.report); },
          release())
      .def("memory",
           [](const Analysis& a) {
             return tuple_of([&] { return make_memory_table(*a.report.timeline); });
           })
      .def("threads",
           [](const Analysis& a) {
             return tuple_of([&] {
               return make_thread_table(*a.report.timeline, *args_of(a.report));
             });
           })
      .def(
          "kernel_counts", [](const Analysis& a) { return count_kernels(a.report); },
          release())
      .def("overlap", [](const Analysis& a) {
        return tuple_of([&] { return list_overlap(*a.report.timeline); });
      });
}

}  // namespace tta::bindings
