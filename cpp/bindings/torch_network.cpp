// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_network.cpp: the detector, without the interpreter's lock.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "bindings/signals.h"
#include "bindings/torch_bindings.h"
#include "detector/stack_file.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names
std::shared_ptr<HeldNetwork> held(Detector detector) {
  return std::make_shared<HeldNetwork>(std::make_shared<Detector>(std::move(detector)));
}

using Examples = std::vector<std::shared_ptr<HeldExample>>;

py::typing::Dict<py::str, py::array> score(HeldNetwork& self, const HeldArrays& arrays,
                                           std::int64_t events,
                                           std::size_t batch_tokens, int threads,
                                           bool bfloat16) {
  const auto checkpoint = heed_signals();
  Scores scores;
  {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(self.turn);
    scores = self.detector->score(
        arrays.views, {events, batch_tokens, threads, bfloat16}, checkpoint);
  }
  const auto rows = arrays.views.count();
  py::typing::Dict<py::str, py::array> out;
  out["any"] = taken(std::move(scores.any), {rows, 2});
  const auto& tables = self.detector->tables();
  out["types"] = taken(std::move(scores.types), {rows, tables.patterns.size()});
  out["recoverable"] = taken(std::move(scores.recoverable), {rows});
  out["logits"] = taken(std::move(scores.logits), {rows, tables.outputs()});
  if (events > 0) {
    const auto named = static_cast<std::size_t>(events);
    out["events"] = taken(std::move(scores.events), {rows, named});
    out["event_shares"] = taken(std::move(scores.event_shares), {rows, named});
  }
  return out;
}

StepResult train_step(HeldNetwork& self, const Examples& held,
                      const Training& training) {
  std::vector<Example> examples;
  for (const auto& one : held) examples.push_back(one->example);
  const auto checkpoint = heed_signals();
  const py::gil_scoped_release release;
  const std::scoped_lock lock(self.turn);
  return self.detector->train(examples, training, checkpoint);
}

void fit_columns(HeldNetwork& self,
                 const std::vector<std::shared_ptr<HeldArrays>>& held) {
  std::vector<const Arrays*> traces;
  for (const auto& one : held) traces.push_back(&one->views);
  const py::gil_scoped_release release;
  const std::scoped_lock lock(self.turn);
  self.detector->fit_columns(traces);
}

}  // namespace

void bind_network(py::module_& m) {
  py::class_<HeldNetwork, std::shared_ptr<HeldNetwork>>(
      m, "Network", "The learned model: see detector/detector.h.")
      .def(py::init(
               [](const Config& config, std::uint64_t seed, const std::string& device) {
                 return held(Detector(config, seed, device));
               }),
           py::arg("config") = Config(), py::arg("seed") = 0, py::arg("device") = "cpu")
      .def_static(
          "load",
          [](const std::string& path, const std::string& device) {
            const py::gil_scoped_release release;
            return held(Detector::load(path, device));
          },
          py::arg("path"), py::arg("device") = "cpu")
      .def(
          "save",
          [](HeldNetwork& self, const std::string& path, bool training,
             const Card& card) {
            check(card);
            const py::gil_scoped_release release;
            const std::scoped_lock lock(self.turn);
            self.detector->save(path, training, parts_of({}, card));
          },
          py::arg("path"), py::kw_only(), py::arg("training"), py::arg("card") = Card())
      .def(
          "restart",
          [](HeldNetwork& self, std::uint64_t seed) {
            const py::gil_scoped_release release;
            const std::scoped_lock lock(self.turn);
            self.detector->restart(seed);
          },
          py::arg("seed"), "Keep the weights and start a new training with this seed.")
      .def_property_readonly(
          "card", [](const HeldNetwork& self) { return self.detector->card(); },
          "The metadata of the file that it was read from.")
      .def_property_readonly(
          "config", [](const HeldNetwork& self) { return self.detector->config(); })
      .def_property_readonly(
          "parameters",
          [](const HeldNetwork& self) { return self.detector->parameters(); })
      .def_property_readonly(
          "steps_done",
          [](const HeldNetwork& self) { return self.detector->steps_done(); })
      .def("fit_columns", &fit_columns, py::arg("traces"))
      .def("score", &score, py::arg("arrays"), py::kw_only(), py::arg("events") = 0,
           py::arg("batch_tokens") = ScoreOptions().batch_tokens,
           py::arg("threads") = 0, py::arg("bfloat16") = false)
      .def("train_step", &train_step, py::arg("examples"), py::arg("training"));
}

}  // namespace tta::bindings
