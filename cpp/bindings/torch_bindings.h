// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_bindings.h: the files that fill the module _torch, and what they
// share.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <vector>

#include "detector/detector.h"

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

void bind_arrays(pybind11::module_& m);
void bind_settings(pybind11::module_& m);
void bind_network(pybind11::module_& m);

}  // namespace tta::bindings
