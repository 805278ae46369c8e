// SPDX-License-Identifier: BSD-3-Clause
// bindings/torch_module.cpp: the extension module _torch: the learned model.
#include <string>

#include "bindings/torch_bindings.h"
#include "detector/tensors_header.h"

namespace {

namespace py = pybind11;

// Another minor version has other classes under the same names.
void check_torch() {
  const auto there = py::module_::import("torch").attr("__version__");
  const auto version = py::str(there).cast<std::string>();
  const std::string built = tta::detector::kBuiltForTorch;
  if (version.rfind(built + ".", 0) == 0) return;
  throw py::import_error("torchtraceap's module _torch was built for torch " + built +
                         ", and torch is " + version +
                         ": build torchtraceap again with this torch (pip install "
                         "--no-build-isolation), or install torch " +
                         built);
}

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
  check_torch();
  m.doc() = "The learned model of torchtraceap, which needs torch.";
  py::register_local_exception_translator(&translate);
  tta::bindings::bind_arrays(m);
  tta::bindings::bind_settings(m);
  tta::bindings::bind_network(m);
  tta::bindings::bind_stack(m);
  tta::bindings::bind_model(m);
}
