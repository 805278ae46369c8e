// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_settings.cpp: arrays of NumPy as those of the detector, without a
// copy; sizes of a network, and its training.
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
      "The patterns of this version: those of the labels `types` of an example.");
}

namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names

// The defaults, except for the named settings.
template <typename T>
T made_of(const py::KWArgs<py::object>& settings) {
  T out;
  const auto object = py::cast(&out, py::return_value_policy::reference);
  for (const auto& [name, value] : settings) py::setattr(object, name, value);
  return out;
}

}  // namespace

void bind_settings(py::module_& m) {
  py::class_<Config> config(m, "Config",
                            "The settings of a network: see detector/config.h.");
  config.def(py::init(&made_of<Config>));
#define TTA_SIZE(name, value, least, most, doc) \
  config.def_readwrite(#name, &Config::name, doc);
  TTA_NETWORK_SIZES(TTA_SIZE)
#undef TTA_SIZE
#define TTA_SHARE(name, value, doc) config.def_readwrite(#name, &Config::name, doc);
  TTA_NETWORK_SHARES(TTA_SHARE)
#undef TTA_SHARE
  config.def_readwrite("without", &Config::without);

  py::class_<LossWeights>(m, "LossWeights", "The weight of each loss.")
      .def(py::init(&made_of<LossWeights>))
      .def_readwrite("any", &LossWeights::any)
      .def_readwrite("types", &LossWeights::types)
      .def_readwrite("recoverable", &LossWeights::recoverable)
      .def_readwrite("bags", &LossWeights::bags)
      .def_readwrite("pairs", &LossWeights::pairs)
      .def_readwrite("masked", &LossWeights::masked);
  py::class_<Training>(m, "Training", "The settings of a training.")
      .def(py::init(&made_of<Training>))
      .def_readwrite("learning_rate", &Training::learning_rate)
      .def_readwrite("weight_decay", &Training::weight_decay)
      .def_readwrite("warm_up", &Training::warm_up)
      .def_readwrite("steps", &Training::steps)
      .def_readwrite("clip", &Training::clip)
      .def_readwrite("top_share", &Training::top_share)
      .def_readwrite("masked_share", &Training::masked_share)
      .def_readwrite("batch_tokens", &Training::batch_tokens)
      .def_readwrite("threads", &Training::threads)
      .def_readwrite("weights", &Training::weights);
  py::class_<StepResult>(m, "StepResult", "The result of a training step.")
      .def_readonly("loss", &StepResult::loss)
      .def_readonly("any", &StepResult::any)
      .def_readonly("types", &StepResult::types)
      .def_readonly("recoverable", &StepResult::recoverable)
      .def_readonly("bags", &StepResult::bags)
      .def_readonly("pairs", &StepResult::pairs)
      .def_readonly("masked", &StepResult::masked)
      .def_readonly("gradient", &StepResult::gradient)
      .def_readonly("rate", &StepResult::rate)
      .def_readonly("step", &StepResult::step);
}

}  // namespace tta::bindings
