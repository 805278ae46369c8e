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

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names
using Examples = std::vector<std::shared_ptr<HeldExample>>;

// Threads of Python take turns.
struct Network {
  explicit Network(Detector d) : detector(std::move(d)) {}
  Detector detector;
  std::mutex turn;
};

template <typename T>
py::array taken(std::vector<T> values, py::ssize_t rows) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const auto* const data = owned->data();
  const auto size = static_cast<py::ssize_t>(owned->size());
  const py::capsule owner(owned.release(),
                          [](void* p) { delete static_cast<std::vector<T>*>(p); });
  if (rows == 0 || size == rows) return py::array_t<T>({size}, data, owner);
  return py::array_t<T>({rows, size / rows}, data, owner);
}

py::typing::Dict<py::str, py::array> score(Network& self, const HeldArrays& arrays,
                                           std::int64_t events,
                                           std::size_t batch_tokens, int threads) {
  const auto checkpoint = heed_signals();
  Scores scores;
  {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(self.turn);
    scores =
        self.detector.score(arrays.views, {events, batch_tokens, threads}, checkpoint);
  }
  const auto rows = static_cast<py::ssize_t>(arrays.views.count());
  py::typing::Dict<py::str, py::array> out;
  out["any"] = taken(std::move(scores.any), rows);
  out["types"] = taken(std::move(scores.types), rows);
  out["recoverable"] = taken(std::move(scores.recoverable), rows);
  if (events > 0) {
    out["events"] = taken(std::move(scores.events), rows);
    out["event_shares"] = taken(std::move(scores.event_shares), rows);
  }
  return out;
}

StepResult train_step(Network& self, const Examples& held, const Training& training) {
  std::vector<Example> examples;
  for (const auto& one : held) examples.push_back(one->example);
  const auto checkpoint = heed_signals();
  const py::gil_scoped_release release;
  const std::scoped_lock lock(self.turn);
  return self.detector.train(examples, training, checkpoint);
}

void fit_columns(Network& self, const std::vector<std::shared_ptr<HeldArrays>>& held) {
  std::vector<const Arrays*> traces;
  for (const auto& one : held) traces.push_back(&one->views);
  const py::gil_scoped_release release;
  const std::scoped_lock lock(self.turn);
  self.detector.fit_columns(traces);
}

}  // namespace

void bind_network(py::module_& m) {
  py::class_<Network>(m, "Network", "The learned model: see detector/detector.h.")
      .def(py::init(
               [](const Config& config, std::uint64_t seed, const std::string& device) {
                 return std::make_unique<Network>(Detector(config, seed, device));
               }),
           py::arg("config") = Config(), py::arg("seed") = 0, py::arg("device") = "cpu")
      .def_static(
          "load",
          [](const std::string& path, const std::string& device) {
            return std::make_unique<Network>(Detector::load(path, device));
          },
          py::arg("path"), py::arg("device") = "cpu")
      .def(
          "save",
          [](const Network& self, const std::string& path, bool training) {
            self.detector.save(path, training);
          },
          py::arg("path"), py::kw_only(), py::arg("training"))
      .def_property_readonly("config",
                             [](const Network& self) { return self.detector.config(); })
      .def_property_readonly(
          "parameters", [](const Network& self) { return self.detector.parameters(); })
      .def_property_readonly(
          "steps_done", [](const Network& self) { return self.detector.steps_done(); })
      .def("fit_columns", &fit_columns, py::arg("traces"))
      .def("score", &score, py::arg("arrays"), py::kw_only(), py::arg("events") = 0,
           py::arg("batch_tokens") = ScoreOptions().batch_tokens,
           py::arg("threads") = 0)
      .def("train_step", &train_step, py::arg("examples"), py::arg("training"));
}

}  // namespace tta::bindings
