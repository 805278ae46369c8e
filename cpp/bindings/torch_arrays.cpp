// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_arrays.cpp: arrays of NumPy as those of the detector, without a copy.
#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings/torch_bindings.h"
#include "detector/tables.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;

std::shared_ptr<HeldArrays> hold_arrays(const py::array& windows,
                                        const std::map<std::string, py::array>& tokens,
                                        const py::array& token_begin) {
  auto out = std::make_shared<HeldArrays>();
  out->views.windows = view<float>(windows, "windows", out->kept);
  out->views.token_begin = view<std::int64_t>(token_begin, "token_begin", out->kept);
#define TTA_TAKE(name, type, unit, normalization, missing, doc)   \
  if (tokens.count(#name) == 0) {                                 \
    throw std::invalid_argument("tokens lack the column " #name); \
  }                                                               \
  out->views.name = view<type>(tokens.at(#name), #name, out->kept);
  TTA_TOKENS(TTA_TAKE)
#undef TTA_TAKE
  check(out->views);
  return out;
}

HeldExample hold_example(std::shared_ptr<HeldArrays> arrays, std::int64_t first,
                         std::optional<std::int64_t> last,
                         const std::optional<py::array>& any,
                         const std::optional<py::array>& types,
                         const std::optional<py::array>& recoverable,
                         std::optional<bool> bad, std::int64_t pair) {
  HeldExample out;
  auto& e = out.example;
  e.arrays = &arrays->views;
  e.first = first;
  e.last = last.value_or(static_cast<std::int64_t>(arrays->views.count()));
  if (any) e.any = view<std::int8_t>(*any, "any", out.kept);
  if (types) e.types = view<std::int8_t>(*types, "types", out.kept);
  if (recoverable) e.recoverable = view<float>(*recoverable, "recoverable", out.kept);
  e.bad = bad ? static_cast<std::int8_t>(*bad) : std::int8_t{-1};
  e.pair = pair;
  out.arrays = std::move(arrays);
  return out;
}

}  // namespace

void bind_arrays(py::module_& m) {
  py::class_<HeldArrays, std::shared_ptr<HeldArrays>>(
      m, "Arrays", "Those of Features, checked; nothing is copied.")
      .def(py::init(&hold_arrays), py::arg("windows"), py::arg("tokens"),
           py::arg("token_begin"))
      .def("__len__", [](const HeldArrays& a) { return a.views.count(); });
  py::class_<HeldExample, std::shared_ptr<HeldExample>>(
      m, "Example", "Windows of a trace and their labels: see detector/detector.h.")
      .def(py::init(&hold_example), py::arg("arrays"), py::arg("first") = 0,
           py::arg("last") = py::none(), py::kw_only(), py::arg("any") = py::none(),
           py::arg("types") = py::none(), py::arg("recoverable") = py::none(),
           py::arg("bad") = py::none(), py::arg("pair") = -1);
  m.def(
      "pattern_names", [] { return names_of(detector::own_tables().patterns); },
      "The patterns of this version: what the labels `types` of an example are of.");
}

}  // namespace tta::bindings
