// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_bindings.h: the files that fill the module _torch, and what they
// share.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "detector/detector.h"
#include "detector/stack.h"
#include "detector/tables.h"

namespace tta::bindings {

/// The arrays of a trace as NumPy keeps them, and the views of the detector.
struct HeldArrays {
  std::vector<pybind11::array> kept;
  detector::Arrays views;
};

/// An example with the arrays that it is of.
struct HeldExample {
  std::shared_ptr<HeldArrays> arrays;
  std::vector<pybind11::array> kept;
  detector::Example example;
};

/// A network, which a model may share; threads of Python take turns.
struct HeldNetwork {
  explicit HeldNetwork(std::shared_ptr<detector::Detector> d)
      : detector(std::move(d)) {}
  std::shared_ptr<detector::Detector> detector;
  std::mutex turn;
};

using NamedArrays = std::map<std::string, pybind11::array>;
using NamedObjects = std::map<std::string, pybind11::object>;

/// The parts of a stack from Python; missing parts have their defaults.
struct StackArrays {
  std::optional<NamedArrays> trees;
  std::optional<pybind11::array> mix;
  std::array<float, 3> types_mix;
  float recoverable_mix;
  std::optional<std::array<pybind11::array, 2>> calibration;
  std::optional<NamedObjects> known;
};

/// Throws std::invalid_argument for arrays of other types or shapes, and names that are
/// missing or unknown.
detector::Stack stack_of(const StackArrays& arrays);

/// Returns a view of an array of exactly this type, row by row in memory, and keeps it.
template <typename T>
std::span<const T> view(const pybind11::array& array, const std::string& name,
                        std::vector<pybind11::array>& kept) {
  if (!array.dtype().is(pybind11::dtype::of<T>()) ||
      (array.flags() & pybind11::array::c_style) == 0) {
    throw std::invalid_argument(
        name + " must be a contiguous array of " +
        pybind11::str(pybind11::dtype::of<T>()).cast<std::string>() + ", not of " +
        pybind11::str(array.dtype()).cast<std::string>());
  }
  kept.push_back(array);
  return {static_cast<const T*>(array.data()), static_cast<std::size_t>(array.size())};
}

/// Returns an array of this shape that owns the values.
template <typename T>
pybind11::array taken(std::vector<T> values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const auto* const data = owned->data();
  const pybind11::capsule owner(
      owned.release(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return pybind11::array_t<T>(std::move(shape), data, owner);
}

inline std::vector<std::string> names_of(
    const std::vector<detector::NamedPattern>& patterns) {
  std::vector<std::string> out;
  for (const auto& pattern : patterns) out.push_back(pattern.name);
  return out;
}

void bind_arrays(pybind11::module_& m);
void bind_settings(pybind11::module_& m);
void bind_network(pybind11::module_& m);
void bind_stack(pybind11::module_& m);
void bind_model(pybind11::module_& m);

}  // namespace tta::bindings
