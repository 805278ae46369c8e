// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_features.cpp: the arrays that a model reads as NumPy views, their
// tables, and the verdicts on its scores.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <utility>

#include "bindings/analysis.h"
#include "bindings/bindings.h"
#include "bindings/record.h"
#include "bindings/signals.h"
#include "features/feature_table.h"
#include "features/kind.h"
#include "pipeline/tables/windows_as_arrays.h"
#include "pipeline/verdicts/verdicts.h"
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

// --- Verdicts ------------------------------------------------------------------------

using pipeline::ModelScores;
using pipeline::Verdicts;

template <typename T>
using Values = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <typename T>
std::span<const T> span_of(const Values<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// As rows of windows, each of `columns` values.
template <typename T>
py::array rows_of(const std::vector<T>& values, std::size_t columns,
                  const py::object& owner) {
  const auto width = static_cast<py::ssize_t>(columns);
  const auto rows = static_cast<py::ssize_t>(columns ? values.size() / columns : 0);
  return view(values, {rows, width}, owner);
}

// A view of flags as NumPy's bool.
py::array flags(const py::array& bytes) { return bytes.attr("view")("bool"); }

Verdicts verdicts_of(
    const Analysis& a, const Values<float>& probability, const Values<float>& types,
    const Values<float>& recoverable, const Values<float>& strangeness,
    const Values<std::int64_t>& events, const Values<std::uint32_t>& token_rows,
    std::vector<std::string> patterns, std::vector<std::string> not_asked,
    std::array<double, 2> thresholds, double window_from, double trace_from) {
  const ModelScores scores{
      .patterns = std::move(patterns),
      .not_asked = std::move(not_asked),
      .probability = span_of(probability),
      .types = span_of(types),
      .recoverable = span_of(recoverable),
      .strangeness = span_of(strangeness),
      .tokens = span_of(events),
      .token_rows = span_of(token_rows),
      .thresholds = thresholds,
      .window_from = window_from,
      .trace_from = trace_from,
  };
  const py::gil_scoped_release release;
  return pipeline::model_verdicts(a.report, scores);
}

void bind_verdicts(py::module_& m, py::class_<Analysis>& report) {
  m.attr("LOSS") = pipeline::kLoss;
  bind_record<pipeline::Agreement>(m);
  bind_record<pipeline::VerdictCounts>(m);
  const auto held = [](const py::object& self) -> const Verdicts& {
    return self.cast<const Verdicts&>();
  };
  py::class_<Verdicts>(m, "Verdicts", "See pipeline/verdicts/verdicts.h.")
      .def(py::init<>(), "Without windows.")
      .def_readonly("strange", &Verdicts::strange,
                    "The trace as a whole is unlike the training traces.")
      .def_readonly("counts", &Verdicts::counts, "Windows by verdict.")
      .def_property_readonly("probability",
                             [held](const py::object& self) {
                               return rows_of(held(self).probability, 2, self);
                             })
      .def_property_readonly(
          "guess",
          [held](const py::object& self) { return rows_of(held(self).guess, 2, self); })
      .def_property_readonly("events",
                             [held](const py::object& self) {
                               const auto& v = held(self);
                               return rows_of(v.events, v.events_each, self);
                             })
      .def_property_readonly("abstained",
                             [held](const py::object& self) {
                               return flags(view(held(self).abstained, self));
                             })
      .def_property_readonly("follows",
                             [held](const py::object& self) {
                               return flags(rows_of(held(self).follows, 2, self));
                             })
      .def_property_readonly("flagged",
                             [held](const py::object& self) {
                               return flags(rows_of(held(self).flagged, 2, self));
                             })
      .def_property_readonly("by_rules",
                             [held](const py::object& self) {
                               return flags(rows_of(held(self).by_rules, 2, self));
                             })
      .def_property_readonly("unexplained",
                             [held](const py::object& self) {
                               return flags(view(held(self).unexplained, self));
                             })
      .def_property_readonly(
          "windows", [](const Verdicts& v) { return as_tuple(v.windows); },
          "The report's, with probabilities and the model's labels.")
      .def_property_readonly(
          "findings", [](const Verdicts& v) { return as_tuple(v.findings); },
          "Of windows that no rule explains, by place.");
  report.def("model_verdicts", &verdicts_of, py::kw_only(), py::arg("probability"),
             py::arg("types"), py::arg("recoverable"), py::arg("strangeness"),
             py::arg("events"), py::arg("token_rows"), py::arg("patterns"),
             py::arg("not_asked"), py::arg("thresholds"), py::arg("window_from"),
             py::arg("trace_from"),
             "Verdicts from the result of `Model.say`; ValueError names an array "
             "of another shape.");
  report.def(
      "claimed_shares",
      [](const Analysis& a) {
        const auto shares = pipeline::claimed_shares(a.report);
        const auto count = static_cast<py::ssize_t>(shares.size() / 2);
        return py::array_t<float>({count, py::ssize_t{2}}, shares.data());
      },
      "float32 [n, 2]: what rules claim that a fix of the CPU's or GPU's side saves at "
      "most, as a share of each window.");
}

}  // namespace

void bind_features(py::module_& m, py::class_<Analysis>& report) {
  py::class_<ColumnInfo>(m, "FeatureColumn", "See features/feature_table.h.")
      .def_readonly("name", &ColumnInfo::name, "Name of the column.")
      .def_readonly("type", &ColumnInfo::type, "NumPy's name of the type.")
      .def_readonly("unit", &ColumnInfo::unit, "Unit of its values.")
      .def_readonly("normalization", &ColumnInfo::normalization,
                    "The divisor; \"\" if there is none.")
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
  bind_verdicts(m, report);
}

}  // namespace tta::bindings
