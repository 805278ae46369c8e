// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_settings.cpp: sizes of a network, and how it is trained.
#include <pybind11/stl.h>

#include "bindings/torch_bindings.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names

// The defaults, but for what is named.
template <typename T>
T made_of(const py::KWArgs<py::object>& settings) {
  T out;
  const auto object = py::cast(&out, py::return_value_policy::reference);
  for (const auto& [name, value] : settings) py::setattr(object, name, value);
  return out;
}

}  // namespace

void bind_settings(py::module_& m) {
  py::class_<Config> config(m, "Config", "What a network is: see detector/config.h.");
  config.def(py::init(&made_of<Config>));
#define TTA_SIZE(name, value, least, most, doc) \
  config.def_readwrite(#name, &Config::name, doc);
  TTA_NETWORK_SIZES(TTA_SIZE)
#undef TTA_SIZE
#define TTA_SHARE(name, value, doc) config.def_readwrite(#name, &Config::name, doc);
  TTA_NETWORK_SHARES(TTA_SHARE)
#undef TTA_SHARE
  config.def_readwrite("without", &Config::without);

  py::class_<LossWeights>(m, "LossWeights", "What each loss counts.")
      .def(py::init(&made_of<LossWeights>))
      .def_readwrite("any", &LossWeights::any)
      .def_readwrite("types", &LossWeights::types)
      .def_readwrite("recoverable", &LossWeights::recoverable)
      .def_readwrite("bags", &LossWeights::bags)
      .def_readwrite("pairs", &LossWeights::pairs)
      .def_readwrite("masked", &LossWeights::masked);
  py::class_<Training>(m, "Training", "How weights move.")
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
  py::class_<StepResult>(m, "StepResult", "What a step did.")
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
