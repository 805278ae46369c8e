// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_stack.cpp: a stack made of arrays of NumPy, which are copied.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "bindings/signals.h"
#include "bindings/torch_bindings.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names

// The values of an array of exactly this type; -1: any length.
template <typename T>
std::vector<T> copied(const py::array& array, const std::string& name,
                      const std::vector<py::ssize_t>& shape) {
  const auto fits = std::equal(
      shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim(),
      [](auto wants, auto has) { return wants == -1 || wants == has; });
  if (!fits) throw std::invalid_argument(name + " has the wrong shape");
  std::vector<py::array> kept;
  const auto values = view<T>(array, name, kept);
  return {values.begin(), values.end()};
}

// What a dict has under a name, and the refusal of others.
template <typename Map>
const typename Map::mapped_type& entry(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  if (found == map.end()) throw std::invalid_argument("there is no \"" + name + "\"");
  return found->second;
}

void refuse_others(std::size_t has, std::size_t known, const char* what) {
  if (has > known) throw std::invalid_argument(std::string(what) + " has unknown keys");
}

Trees trees_of(const NamedArrays& arrays) {
  Trees out;
  std::size_t known = 0;
#define TTA_TAKE(name, type, count, doc)                      \
  out.name = copied<type>(entry(arrays, #name), #name, {-1}); \
  ++known;
  TTA_TREES(TTA_TAKE)
#undef TTA_TAKE
  refuse_others(arrays.size(), known, "trees");
  return out;
}

Known known_of(const NamedObjects& objects) {
  Known out;
  const auto columns = static_cast<py::ssize_t>(own_tables().window_columns());
  const auto array = [&](const char* name) {
    return entry(objects, name).cast<py::array>();
  };
  out.center = copied<float>(array("center"), "center", {columns});
  out.middle = copied<float>(array("middle"), "middle", {columns});
  out.whiten = copied<float>(array("whiten"), "whiten", {-1, columns});
  out.window_from = entry(objects, "window_from").cast<float>();
  out.trace_from = entry(objects, "trace_from").cast<float>();
  refuse_others(objects.size(), 5, "known");
  return out;
}

Mix mix_of(const std::optional<py::array>& sides, std::array<float, 3> types,
           float recoverable) {
  Mix out;
  if (sides) {
    const auto values = copied<float>(*sides, "mix", {2, 4});
    for (std::size_t i = 0; i < 8; ++i) out.sides[i / 4][i % 4] = values[i];
  }
  out.types = types;
  out.recoverable = recoverable;
  return out;
}

// Rows of windows, for as long as `kept` stays.
std::span<const float> rows_in(const py::array& windows, std::vector<py::array>& kept) {
  const auto columns = static_cast<py::ssize_t>(own_tables().window_columns());
  if (windows.ndim() != 2 || windows.shape(1) != columns) {
    throw std::invalid_argument("windows must have " + std::to_string(columns) +
                                " columns");
  }
  return view<float>(windows, "windows", kept);
}

py::array trees_raw(const NamedArrays& trees, const py::array& windows, int threads) {
  const Forest forest(trees_of(trees));
  std::vector<py::array> kept;
  const auto rows = rows_in(windows, kept);
  const auto checkpoint = heed_signals();
  std::vector<float> raw;
  {
    const py::gil_scoped_release release;
    raw = forest.raw(rows, threads, checkpoint);
  }
  const auto outputs = own_tables().outputs(), count = raw.size() / outputs;
  return taken(std::move(raw), {count, outputs});
}

py::array rules_of(const py::array& windows) {
  std::vector<py::array> kept;
  const auto rows = rows_in(windows, kept);
  auto rules = rules_input(rows);
  const auto count = rules.size() / 2;
  return taken(std::move(rules), {count, 2});
}

py::array strangeness(const NamedObjects& known, const py::array& windows) {
  const auto made = known_of(known);
  check(made);
  std::vector<py::array> kept;
  const auto rows = rows_in(windows, kept);
  auto away = made.strangeness(rows);
  const auto count = away.size();
  return taken(std::move(away), {count});
}

}  // namespace

Stack stack_of(const StackArrays& a) {
  Stack out;
  if (a.trees) out.trees = Forest(trees_of(*a.trees));
  out.mix = mix_of(a.mix, a.types_mix, a.recoverable_mix);
  for (std::size_t side = 0; a.calibration && side < 2; ++side) {
    out.calibration.negatives[side] =
        copied<float>((*a.calibration)[side], "calibration", {-1});
  }
  if (a.known) out.known = known_of(*a.known);
  return out;
}

void bind_stack(py::module_& m) {
  m.def("trees_raw", &trees_raw, py::arg("trees"), py::arg("windows"), py::kw_only(),
        py::arg("threads") = 1,
        "The sum of the trees alone, for each window and output.");
  m.def("rules_input", &rules_of, py::arg("windows"),
        "The rules' verdict on CPU and GPU, as a logit.");
  m.def("strangeness", &strangeness, py::arg("known"), py::arg("windows"),
        "The distance of windows from known ones: see detector/stack.h.");
  m.def("rules_logit", py::vectorize(&rules_logit), py::arg("share"),
        "Shares that rules claim, as rules_input() returns them.");
}

}  // namespace tta::bindings
