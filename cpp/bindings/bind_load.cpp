// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_load.cpp: loading a trace: options, progress, Ctrl-C.
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <utility>

#include "bindings/bindings.h"
#include "timeline/step_range.h"
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
  return std::make_shared<Trace>(load(options));
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

}  // namespace tta::bindings
