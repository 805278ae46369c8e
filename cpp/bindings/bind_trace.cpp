// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_trace.cpp: loading a trace, its columns as NumPy views, and errors.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/signals.h"
#include "timeline/rank_processes.h"
#include "timeline/step_range.h"
#include "trace/only_processes.h"
#include "trace/order.h"
#include "trace/trace.h"

namespace tta::bindings {

namespace {

namespace py = pybind11;
using trace::LoadOptions;
using trace::LoadProgress;
using trace::Trace;

// What Python sets. The callable is apart: copies of LoadOptions are made and dropped
// without the interpreter's lock.
struct LoadArguments {
  LoadOptions core;
  py::object progress = py::none();
};

// Loads without the interpreter's lock, and takes it some times a second to let Ctrl-C
// and the caller's callable end the load by raising.
template <typename Load>
std::shared_ptr<Trace> load(const LoadArguments& given, const Load& load) {
  LoadOptions options = given.core;
  const py::object progress = given.progress;
  options.progress = [&progress](const LoadProgress& done) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(done.fraction, done.text_bytes, done.events);
  };
  const py::gil_scoped_release release;
  auto out = std::make_shared<Trace>(load(options));
  trace::order_rows(*out, heed_signals());
  return out;
}

// The number of a category by any of its names, also those of other years.
std::optional<int> category_number(const std::string& name) {
  const trace::Category category = trace::category_of(name);
  if (category == trace::Category::kUnknown && name != trace::info(category).name) {
    return std::nullopt;
  }
  return static_cast<int>(category);
}

}  // namespace

void bind_load(py::module_& m) {
#define TTA_OPTION(name, member)                                  \
  def_property(                                                   \
      name, [](const LoadArguments& o) { return o.core.member; }, \
      [](LoadArguments& o, decltype(LoadOptions::member) value) { \
        o.core.member = value;                                    \
      })
#define TTA_FILTER(name, member)                                       \
  def_property(                                                        \
      name, [](const LoadArguments& o) { return o.core.keep.member; }, \
      [](LoadArguments& o, decltype(trace::RowFilter::member) value) { \
        o.core.keep.member = value;                                    \
      })
  py::class_<LoadArguments>(m, "LoadOptions",
                            "trace::LoadOptions; see cpp/trace/trace.h.")
      .def(py::init<>())
      .TTA_OPTION("recover", recover)
      .TTA_OPTION("threads", threads)
      .TTA_OPTION("max_text_bytes", max_text_bytes)
      .TTA_OPTION("max_ratio", max_ratio)
      .TTA_FILTER("categories", categories)
      .TTA_FILTER("begin_ns", begin)
      .TTA_FILTER("end_ns", end)
      .def_readwrite("progress", &LoadArguments::progress,
                     "Called with fraction, text_bytes and events; or None.");
#undef TTA_OPTION
#undef TTA_FILTER

  m.def(
      "load_file",
      [](const std::string& path, const LoadArguments& options) {
        return load(options,
                    [&](const LoadOptions& core) { return load_file(path, core); });
      },
      py::arg("path"), py::arg_v("options", LoadArguments(), "LoadOptions()"));
  m.def(
      "load_bytes",
      [](const py::bytes& data, const LoadArguments& options) {
        std::string copy = data;
        return load(options, [&](const LoadOptions& core) {
          return load_bytes(std::move(copy), core);
        });
      },
      py::arg("data"), py::arg_v("options", LoadArguments(), "LoadOptions()"));

  m.def("category_number", &category_number, py::arg("name"),
        "A category by any of its names; None if there is none of this name.");
  m.def("step_categories", &timeline::step_categories,
        "The mask of the categories that step_range needs.");
  m.def(
      "step_range",
      [](const Trace& trace, std::int64_t first, std::int64_t last) {
        const auto range = [&] {
          const py::gil_scoped_release release;
          return timeline::step_range(trace, first, last);
        }();
        return std::pair(range.begin, range.end);
      },
      py::arg("trace"), py::arg("first"), py::arg("last"),
      "When ProfilerStep#first to #last ran: (begin_ns, end_ns).");
}

namespace {

namespace py = pybind11;
using trace::Trace;

// A read-only view of a column that keeps the trace alive and copies nothing.
template <typename T>
py::array view(const std::vector<T>& column, const py::object& owner) {
  py::array array(py::dtype::of<T>(), {column.size()}, {sizeof(T)}, column.data(),
                  owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

// A char is one byte of text to NumPy ("S1"), not a number.
py::array view(const std::vector<char>& column, const py::object& owner) {
  py::array array(py::dtype("S1"), {column.size()}, {std::size_t{1}}, column.data(),
                  owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::typing::Dict<py::str, py::array> columns_of(const py::object& self) {
  const auto& columns = self.cast<const Trace&>().columns;
  py::typing::Dict<py::str, py::array> out;
#define TTA_VIEW(name, type, doc) out[#name] = view(columns.name, self);
  TTA_COLUMNS(TTA_VIEW)
#undef TTA_VIEW
  return out;
}

py::typing::List<py::str> strings_of(const Trace& t) {
  py::typing::List<py::str> out;
  for (std::uint32_t id = 0; id < t.strings.size(); ++id) {
    out.append(text(t.strings.view(id)));
  }
  return out;
}

std::uint32_t checked(const Trace& t, std::int64_t row) {
  if (row < 0 || static_cast<std::size_t>(row) >= t.columns.size()) {
    throw py::index_error("row " + std::to_string(row) + " is not in [0, " +
                          std::to_string(t.columns.size()) + ")");
  }
  return static_cast<std::uint32_t>(row);
}

// The one place where C++ errors become Python's.
void bind_errors() {
  py::register_exception_translator([](std::exception_ptr p) {
    const auto position = [](std::int64_t at) -> py::object {
      return at < 0 ? py::object(py::none()) : py::object(py::int_(at));
    };
    try {
      if (p) std::rethrow_exception(p);
    } catch (const trace::TraceError& e) {
      const auto type =
          py::module_::import("torchtraceap.base.errors").attr("TraceError");
      const py::object error =
          type(text(e.what()), text(e.path()), text(e.kind()), text(e.hint()),
               position(e.offset()), position(e.event()), position(e.line()));
      PyErr_SetObject(type.ptr(), error.ptr());
    } catch (const trace::FileNotFound& e) {
      PyErr_SetObject(PyExc_FileNotFoundError, text(e.what()).ptr());
    }
  });
}

}  // namespace

py::str text(std::string_view s) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(s.data(), static_cast<py::ssize_t>(s.size()), "replace"));
}

std::vector<std::string> category_names() {
  std::vector<std::string> names;
  for (const auto& category : trace::kCategories) names.emplace_back(category.name);
  return names;
}

void bind_trace(py::module_& m) {
  bind_errors();

  py::class_<trace::Warning>(m, "Warning", "An anomaly, counted by kind.")
      .def_readonly("kind", &trace::Warning::kind)
      .def_readonly("count", &trace::Warning::count)
      .def_readonly("detail", &trace::Warning::detail);

  py::class_<Trace, std::shared_ptr<Trace>>(m, "Trace", "A profiler trace in memory.")
      .def_readonly("path", &Trace::path)
      .def_readonly("text_bytes", &Trace::text_bytes,
                    "Length of the uncompressed JSON text.")
      .def_readonly("warnings", &Trace::warnings)
      .def_readonly(
          "left_out", &Trace::left_out,
          "Valid events that the loading options left out; they have no rows.")
      .def_property_readonly("columns", &columns_of,
                             "Column name to a read-only NumPy view, one value a row.")
      .def_property_readonly(
          "category_names", [](const Trace&) { return category_names(); },
          "Names of the categories, by the numbers in the category column.")
      .def_property_readonly("strings", &strings_of, "Names by the ids in columns.")
      .def_property_readonly(
          "metadata",
          [](const Trace& t) {
            py::typing::Dict<py::str, py::str> out;
            for (const auto& [key, json] : t.metadata) out[text(key)] = text(json);
            return out;
          },
          "Top-level keys other than traceEvents, with their raw JSON.")
      .def(
          "name",
          [](const Trace& t, std::int64_t row) {
            return text(t.name(checked(t, row)));
          },
          py::arg("row"))
      .def(
          "read_args",
          [](const Trace& t, const std::vector<std::int64_t>& rows) {
            std::vector<std::uint32_t> checked_rows;
            for (const auto row : rows) checked_rows.push_back(checked(t, row));
            std::vector<std::string> texts;
            {
              const py::gil_scoped_release release;
              texts = t.read_args(checked_rows);
            }
            py::typing::List<py::str> out;
            for (const auto& json : texts) out.append(text(json));
            return out;
          },
          py::arg("rows"), "Raw JSON of the args of each row, '' where there are none.")
      .def(
          "identity",
          [](const Trace& t, std::int64_t id) -> py::typing::Union<py::int_, py::str> {
            if (id < trace::kTextIdentity) return py::int_(id);
            return text(t.identity(id));
          },
          py::arg("pid_or_tid"), "A pid or tid as in the file.")
      .def(
          "of_processes",
          [](const Trace& t, const std::vector<std::int64_t>& pids,
             std::optional<std::int64_t> rank) {
            const py::gil_scoped_release release;
            return std::make_shared<Trace>(trace::only_processes(t, pids, rank));
          },
          py::arg("pids"), py::arg("rank") = py::none(),
          "The trace of these processes alone, by their values in columns['pid']: "
          "rows are renumbered, and its rank is `rank`, or unknown.")
      .def("__len__", [](const Trace& t) { return t.columns.size(); });

  m.def(
      "rank_processes",
      [](const Trace& t) {
        std::vector<timeline::RankProcesses> ranks;
        {
          const py::gil_scoped_release release;
          ranks = timeline::rank_processes(timeline::make_timeline(t));
        }
        py::typing::List<py::typing::Tuple<py::str, std::vector<std::int64_t>>> out;
        for (const auto& rank : ranks) {
          out.append(py::make_tuple(text(rank.label), rank.pids));
        }
        return out;
      },
      py::arg("trace"),
      "Of a file merged from several ranks, the name of each ('' if it has none) and "
      "the pids of its processes and devices; empty for any other file.");

  m.def("category_names", &category_names, "Names by the category column.");
  m.attr("NO_TIME") = trace::kNoTime;
  m.attr("NO_ID") = trace::kNoId;
}

}  // namespace tta::bindings
