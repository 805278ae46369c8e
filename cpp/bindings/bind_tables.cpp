// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_tables.cpp: the parts of a report that are made when asked for.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <array>
#include <utility>

#include "bindings/analysis.h"
#include "pipeline/story/story.h"
#include "pipeline/tables/event_sorts.h"
#include "pipeline/tables/tables.h"
#include "timeline/device_facts.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace pipeline;  // NOLINT: this file is a list of its names

// A row of a table, with the name that the trace gives it.
template <typename Row>
struct Titled {
  std::string name;
  Row row;
};

template <typename Row>
std::vector<Titled<Row>> with_titles(const Analysis& a, const std::vector<Row>& rows) {
  std::vector<Titled<Row>> out;
  for (const auto& row : rows) {
    out.push_back({std::string(a.trace->strings.view(row.name)), row});
  }
  return out;
}

struct WorkTablesWithNames {
  std::vector<Titled<KernelRow>> kernels;
  std::vector<CopyRow> copies;
};

WorkTablesWithNames work_tables(const Analysis& a) {
  const py::gil_scoped_release release;
  // An unusable trace was not read for them.
  auto tables = a.report.args
                    ? make_work_tables(*a.report.timeline, *a.report.args)
                    : make_work_tables(*a.report.timeline,
                                       timeline::EventArgs(*a.report.timeline));
  return {with_titles(a, tables.kernels), std::move(tables.copies)};
}

std::vector<ThreadRow> thread_table(const Analysis& a) {
  return a.report.args ? make_thread_table(*a.report.timeline, *a.report.args)
                       : make_thread_table(*a.report.timeline,
                                           timeline::EventArgs(*a.report.timeline));
}

template <typename Row>
auto names_of() {
  return [](const Titled<Row>& n) { return n.name; };
}

template <typename Class, typename Times>
void bind_times(Class& row, Times times_of) {
  using Row = typename Class::type;
  const auto number = [&](const char* name, auto member) {
    row.def_property_readonly(
        name, [times_of, member](const Row& r) { return times_of(r).*member; });
  };
  number("count", &WorkTimes::count);
  number("total_ns", &WorkTimes::sum_ns);
  number("union_ns", &WorkTimes::union_ns);
  number("min_ns", &WorkTimes::min_ns);
  number("max_ns", &WorkTimes::max_ns);
}

void bind_rows(py::module_& m) {
  using Kernel = Titled<KernelRow>;
  py::class_<Kernel> kernel(m, "KernelRow",
                            "See pipeline/tables/tables.h; nanoseconds.");
  bind_times(kernel, [](const Kernel& k) -> const WorkTimes& { return k.row.times; });
  kernel.def_property_readonly("name", names_of<KernelRow>())
      .def_property_readonly("communication",
                             [](const Kernel& k) { return k.row.communication; })
      .def_property_readonly("blocks",
                             [](const Kernel& k) { return known(k.row.blocks); })
      .def_property_readonly("block_threads",
                             [](const Kernel& k) { return known(k.row.block_threads); })
      .def_property_readonly("occupancy",
                             [](const Kernel& k) { return known(k.row.occupancy); });
  py::class_<CopyRow> copy(m, "CopyRow");
  bind_times(copy, [](const CopyRow& c) -> const WorkTimes& { return c.times; });
  copy.def_readonly("direction", &CopyRow::direction)
      .def_readonly("memory", &CopyRow::memory)
      .def_property_readonly(
          "bytes", [](const CopyRow& c) { return known(c.with_bytes ? c.bytes : -1); })
      .def_property_readonly(
          "median_bytes",
          [](const CopyRow& c) { return known(c.with_bytes ? c.median_bytes : -1); })
      .def_property_readonly("bandwidth",
                             [](const CopyRow& c) { return known(c.bandwidth); });
  py::class_<WorkTablesWithNames>(m, "WorkTables")
      .def_readonly("kernels", &WorkTablesWithNames::kernels)
      .def_readonly("copies", &WorkTablesWithNames::copies);
  using Operator = Titled<OperatorRow>;
  py::class_<Operator>(m, "OperatorRow")
      .def_property_readonly("name", names_of<OperatorRow>())
      .def_property_readonly("count", [](const Operator& o) { return o.row.count; })
      .def_property_readonly("total_ns",
                             [](const Operator& o) { return o.row.total_ns; })
      .def_property_readonly("self_ns", [](const Operator& o) { return o.row.self_ns; })
      .def_property_readonly("min_ns", [](const Operator& o) { return o.row.min_ns; })
      .def_property_readonly("max_ns", [](const Operator& o) { return o.row.max_ns; })
      .def_property_readonly("device_ns",
                             [](const Operator& o) { return o.row.device_ns; })
      .def_property_readonly("self_device_ns",
                             [](const Operator& o) { return o.row.self_device_ns; })
      .def_property_readonly("work", [](const Operator& o) { return o.row.work; });
  py::class_<ThreadRow>(m, "ThreadRow", "See pipeline/tables/tables.h; nanoseconds.")
      .def_readonly("pid", &ThreadRow::pid)
      .def_readonly("tid", &ThreadRow::tid)
      .def_readonly("name", &ThreadRow::name)
      .def_readonly("events", &ThreadRow::events)
      .def_readonly("operators_ns", &ThreadRow::operators_ns)
      .def_readonly("calls_ns", &ThreadRow::calls_ns)
      .def_readonly("compile_ns", &ThreadRow::compile_ns)
      .def_readonly("python_ns", &ThreadRow::python_ns)
      .def_property_readonly("waiting_ns",
                             [](const ThreadRow& t) {
                               return t.loader_ns + t.wait_comm_ns + t.wait_device_ns +
                                      t.wait_other_ns;
                             })
      .def_readonly("wait_loader_ns", &ThreadRow::loader_ns)
      .def_readonly("wait_comm_ns", &ThreadRow::wait_comm_ns)
      .def_readonly("wait_device_ns", &ThreadRow::wait_device_ns)
      .def_readonly("wait_other_ns", &ThreadRow::wait_other_ns)
      .def_readonly("profiler_ns", &ThreadRow::profiler_ns)
      .def_readonly("idle_ns", &ThreadRow::idle_ns)
      .def_property_readonly("busy_ns", &ThreadRow::busy_ns);
  py::class_<Counts>(m, "Counts")
      .def_readonly("each", &Counts::each)
      .def_readonly("min", &Counts::min)
      .def_readonly("median", &Counts::median)
      .def_readonly("max", &Counts::max);
  py::class_<KernelCounts>(m, "KernelCounts")
      .def_readonly("steps", &KernelCounts::steps)
      .def_readonly("windows", &KernelCounts::windows);
  py::class_<SortOfEvent>(m, "SortOfEvent")
      .def_readonly("kind", &SortOfEvent::kind)
      .def_readonly("letter", &SortOfEvent::letter);
  using timeline::OverlapFacts;
  py::class_<OverlapFacts>(m, "OverlapFacts")
      .def_readonly("device", &OverlapFacts::device)
      .def_readonly("pid", &OverlapFacts::pid)
      .def_readonly("compute_ns", &OverlapFacts::compute_ns)
      .def_readonly("communication_ns", &OverlapFacts::comm_ns)
      .def_readonly("copy_ns", &OverlapFacts::copy_ns)
      .def_readonly("communication_hidden_ns", &OverlapFacts::comm_hidden_ns)
      .def_readonly("copy_hidden_ns", &OverlapFacts::copy_hidden_ns);
}

void bind_story(py::module_& m) {
  py::class_<Figure>(m, "Figure")
      .def_readonly("name", &Figure::name)
      .def_readonly("value", &Figure::value)
      .def_readonly("is_time", &Figure::is_time);
  py::class_<Stage>(m, "Stage",
                    "One question of the story, see pipeline/story/story.h.")
      .def_readonly("id", &Stage::id)
      .def_readonly("question", &Stage::question)
      .def_readonly("answer", &Stage::answer)
      .def_readonly("verdict", &Stage::verdict)
      .def_readonly("known", &Stage::known)
      .def_property_readonly("severity",
                             [](const Stage& s) -> std::optional<std::string> {
                               if (!s.severity) return std::nullopt;
                               return std::array{"low", "medium",
                                                 "high"}[static_cast<int>(*s.severity)];
                             })
      .def_readonly("figures", &Stage::figures);
}

}  // namespace

void bind_tables(py::module_& m, py::class_<Analysis>& report) {
  bind_story(m);
  bind_rows(m);
  using release = py::call_guard<py::gil_scoped_release>;
  report.def(
            "story", [](const Analysis& a) { return tell_story(a.report); }, release())
      .def("work_tables", &work_tables)
      .def(
          "operators",
          [](const Analysis& a) {
            return with_titles(a, make_operator_table(*a.report.timeline));
          },
          release())
      .def(
          "sorts",
          [](const Analysis& a, const std::vector<std::uint32_t>& rows) {
            return sorts_of(a.report, rows);
          },
          py::arg("rows"), "What kind of event each row is, and its letter.")
      .def("threads", &thread_table, release())
      .def(
          "kernel_counts", [](const Analysis& a) { return count_kernels(a.report); },
          release())
      .def(
          "overlap",
          [](const Analysis& a) { return timeline::overlap_facts(*a.report.timeline); },
          release());
}

}  // namespace tta::bindings
