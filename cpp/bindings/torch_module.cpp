// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_module.cpp: the extension module _torch: the learned model.
#include "bindings/torch_bindings.h"
#include "detector/tensors_header.h"

namespace {

namespace py = pybind11;

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const tta::detector::WeightsError& error) {
    py::set_error(py::module_::import("torchtraceap.base.errors").attr("WeightsError"),
                  error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_torch, m) {
  m.doc() = "The learned model of torchtraceap, which needs torch.";
  py::register_local_exception_translator(&translate);
  tta::bindings::bind_arrays(m);
  tta::bindings::bind_settings(m);
  tta::bindings::bind_network(m);
  tta::bindings::bind_stack(m);
  tta::bindings::bind_model(m);
}
