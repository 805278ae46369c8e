// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_model.cpp: the model that ships, without the interpreter's lock.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <string>
#include <utility>

#include "bindings/signals.h"
#include "bindings/torch_bindings.h"
#include "detector/model.h"
#include "detector/tables.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace detector;  // NOLINT: this file is a list of its names

// A model, and the network of Python's that it shares.
struct HeldModel {
  std::shared_ptr<HeldNetwork> network;
  Model model;
};

HeldModel made_model(std::shared_ptr<HeldNetwork> network,
                     const std::optional<NamedArrays>& trees,
                     const std::optional<py::array>& mix,
                     std::array<float, 3> types_mix, float recoverable_mix,
                     const std::optional<std::array<py::array, 2>>& calibration,
                     const std::optional<NamedObjects>& known, Card card) {
  auto stack = stack_of({trees, mix, types_mix, recoverable_mix, calibration, known});
  Model model(network->detector, std::move(stack), std::move(card));
  return {std::move(network), std::move(model)};
}

HeldModel loaded(const std::string& path, const std::string& device) {
  const py::gil_scoped_release release;
  auto model = Model::load(path, device);
  auto network = std::make_shared<HeldNetwork>(model.network());
  return {std::move(network), std::move(model)};
}

py::typing::Dict<py::str, py::array> say(const HeldModel& self,
                                         const HeldArrays& arrays, std::int64_t events,
                                         std::size_t batch_tokens, int threads,
                                         bool bfloat16,
                                         const std::optional<py::array>& claimed) {
  const auto checkpoint = heed_signals();
  std::vector<py::array> kept;
  const auto shares =
      claimed ? view<float>(*claimed, "claimed", kept) : std::span<const float>();
  Said said;
  {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(self.network->turn);
    said = self.model.say(arrays.views, {events, batch_tokens, threads, bfloat16},
                          shares, checkpoint);
  }
  const auto rows = arrays.views.count();
  py::typing::Dict<py::str, py::array> out;
  out["probability"] = taken(std::move(said.probability), {rows, 2});
  out["network"] = taken(std::move(said.network), {rows, 2});
  out["trees"] = taken(std::move(said.trees), {rows, 2});
  const auto types = self.model.network()->tables().patterns.size();
  out["types"] = taken(std::move(said.types), {rows, types});
  out["recoverable"] = taken(std::move(said.recoverable), {rows});
  out["strangeness"] = taken(std::move(said.strangeness), {rows});
  if (events > 0) {
    const auto named = static_cast<std::size_t>(events);
    out["events"] = taken(std::move(said.events), {rows, named});
    out["event_shares"] = taken(std::move(said.event_shares), {rows, named});
  }
  return out;
}

std::vector<std::string> unknown_patterns(const HeldModel& self) {
  const auto& network = *self.model.network();
  const auto& places = network.matching().patterns;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) out.push_back(network.tables().patterns[i].name);
  }
  return out;
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<HeldModel, std::shared_ptr<HeldModel>>(
      m, "Model", "A network and its stack, in one file: see detector/model.h.")
      .def(py::init(&made_model), py::arg("network").none(false), py::kw_only(),
           py::arg("trees") = py::none(), py::arg("mix") = py::none(),
           py::arg("types_mix") = Mix().types,
           py::arg("recoverable_mix") = Mix().recoverable,
           py::arg("calibration") = py::none(), py::arg("known") = py::none(),
           py::arg("card") = Card())
      .def(
          "with_network",
          [](const HeldModel& self, std::shared_ptr<HeldNetwork> network, Card card) {
            Model model(network->detector, self.model.stack(), std::move(card));
            return HeldModel{std::move(network), std::move(model)};
          },
          py::arg("network").none(false), py::arg("card"),
          "Another network, read together with the same trees and thresholds.")
      .def_static("load", &loaded, py::arg("path"), py::arg("device") = "cpu")
      .def(
          "save",
          [](const HeldModel& self, const std::string& path) {
            const py::gil_scoped_release release;
            const std::scoped_lock lock(self.network->turn);
            self.model.save(path);
          },
          py::arg("path"))
      .def("say", &say, py::arg("arrays"), py::kw_only(), py::arg("events") = 0,
           py::arg("batch_tokens") = ScoreOptions().batch_tokens,
           py::arg("threads") = 0, py::arg("bfloat16") = false,
           py::arg("claimed") = py::none(),
           "All windows; `claimed` float32 [n, 2]: the shares that rules claim of CPU "
           "and GPU; None: those in the arrays.")
      .def(
          "with_mix",
          [](const HeldModel& self, const py::array& mix,
             const std::array<py::array, 2>& calibration, Card card) {
            const Mix usual;
            auto stack = stack_of({std::nullopt, mix, usual.types, usual.recoverable,
                                   calibration, std::nullopt});
            auto mixed = self.model.stack();
            mixed.mix.sides = stack.mix.sides;
            mixed.calibration = std::move(stack.calibration);
            Model model(self.network->detector, std::move(mixed), std::move(card));
            return HeldModel{self.network, std::move(model)};
          },
          py::arg("mix"), py::arg("calibration"), py::arg("card"),
          "The same network and trees, read together with other weights, and flagged "
          "by other thresholds.")
      .def(
          "threshold",
          [](const HeldModel& self, std::size_t side, double false_alarms) {
            return self.model.stack().calibration.threshold(side, false_alarms);
          },
          py::arg("side"), py::arg("false_alarms"))
      .def_property_readonly(
          "window_from",
          [](const HeldModel& self) { return self.model.stack().known.window_from; })
      .def_property_readonly(
          "trace_from",
          [](const HeldModel& self) { return self.model.stack().known.trace_from; })
      .def_property_readonly("card",
                             [](const HeldModel& self) { return self.model.card(); })
      .def_property_readonly(
          "patterns",
          [](const HeldModel& self) {
            return names_of(self.model.network()->tables().patterns);
          },
          "The patterns of the columns of `types`: those it was trained on.")
      .def_property_readonly(
          "unknown_patterns", &unknown_patterns,
          "Those of them that this version does not have or defines differently.")
      .def_property_readonly("network",
                             [](const HeldModel& self) { return self.network; })
      .def_property_readonly("device", [](const HeldModel& self) {
        return self.network->detector->device();
      });
  m.def(
      "relabel",
      [](const std::string& from, const std::string& to) {
        relabel(from, to, own_tables());
      },
      py::arg("from_file"), py::arg("to_file"),
      "Copy weights, naming their columns, kinds and patterns as this version does.");
}

}  // namespace tta::bindings
