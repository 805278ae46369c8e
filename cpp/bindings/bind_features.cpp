// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_features.cpp: a report's arrays as NumPy views, and their tables.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <utility>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/signals.h"
#include "features/feature_table.h"
#include "features/kind.h"
#include "pipeline/tables/windows_as_arrays.h"
#include "timeline/frames.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace features;  // NOLINT: this file is a list of its names

// A read-only view that keeps its owner alive and copies nothing.
template <typename T>
py::array view(const std::vector<T>& values, std::vector<py::ssize_t> shape,
               const py::object& owner) {
  std::vector<py::ssize_t> strides(shape.size(), sizeof(T));
  if (shape.size() == 2) strides[0] *= shape[1];
  py::array array(py::dtype::of<T>(), std::move(shape), std::move(strides),
                  values.data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

template <typename T>
py::array view(const std::vector<T>& values, const py::object& owner) {
  return view(values, {static_cast<py::ssize_t>(values.size())}, owner);
}

py::array windows_of(const py::object& self) {
  const auto& f = self.cast<const Features&>();
  return view(f.windows,
              {static_cast<py::ssize_t>(f.token_begin.size() - 1),
               static_cast<py::ssize_t>(window_columns().size())},
              self);
}

py::typing::Dict<py::str, py::array> tokens_of(const py::object& self) {
  const auto& tokens = self.cast<const Features&>().tokens;
  py::typing::Dict<py::str, py::array> out;
#define TTA_VIEW(name, type, unit, normalization, missing, doc) \
  out[#name] = view(tokens.name, self);
  TTA_TOKENS(TTA_VIEW)
#undef TTA_VIEW
  return out;
}

template <auto values>
py::array view_of(const py::object& self) {
  return view(self.cast<const Features&>().*values, self);
}

std::vector<ColumnInfo> list(std::span<const ColumnInfo> columns) {
  return {columns.begin(), columns.end()};
}

}  // namespace

void bind_features(py::module_& m, py::class_<Analysis>& report) {
  py::class_<ColumnInfo>(m, "FeatureColumn", "See features/feature_table.h.")
      .def_readonly("name", &ColumnInfo::name, "Name of the column.")
      .def_readonly("type", &ColumnInfo::type, "As NumPy calls it.")
      .def_readonly("unit", &ColumnInfo::unit, "Unit of its values.")
      .def_readonly("normalization", &ColumnInfo::normalization,
                    "What it is divided by; \"\" if by nothing.")
      .def_readonly("missing", &ColumnInfo::missing,
                    "When a value is missing, NaN of a window and -1 of a token; "
                    "\"\" if it never is.")
      .def_readonly("doc", &ColumnInfo::doc, "Meaning.");
  py::class_<Features>(m, "Features", "Arrays that a model reads.")
      .def_property_readonly("windows", &windows_of)
      .def_property_readonly("tokens", &tokens_of)
      .def_property_readonly("row", &view_of<&Features::row>)
      .def_property_readonly("token_begin", &view_of<&Features::token_begin>)
      .def_property_readonly("window_begin", &view_of<&Features::window_begin>);
  m.def("feature_columns", [] { return list(window_columns()); });
  m.def("token_columns", [] { return list(token_columns()); });
  m.def(
      "event_kinds",
      [] {
        std::vector<std::pair<std::string, std::string>> out;
        for (const auto& kind : kinds()) out.emplace_back(kind.name, kind.doc);
        return out;
      },
      "Name and meaning of each number of the token column `kind`.");
  m.def("feature_fingerprint", &fingerprint);
  report.def(
      "features",
      [](const Analysis& a, std::size_t merge) {
        const auto checkpoint = heed_signals();
        const py::gil_scoped_release release;
        return pipeline::make_arrays(a.report, checkpoint, merge);
      },
      py::arg("merge") = 1);
  report.def(
      "frames",
      [](const Analysis& a, const std::vector<std::uint32_t>& rows) {
        for (const auto row : rows) {
          if (row >= a.trace->columns.size()) throw py::index_error("no such row");
        }
        return pipeline::locations_of(timeline::user_frames(*a.report.timeline, rows));
      },
      py::arg("rows"),
      "The line of the program behind each row, None if none is known.");
}

}  // namespace tta::bindings
