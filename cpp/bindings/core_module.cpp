// SPDX-License-Identifier: BSD-3-Clause
// bindings/core_module.cpp: the extension module _core, which needs no torch.
#include "bindings/bindings.h"

PYBIND11_MODULE(_core_of_main, m) {
  m.doc() = "The C++ core of torchtraceap. Import torchtraceap instead.";
  tta::bindings::bind_trace(m);
  tta::bindings::bind_load(m);
  tta::bindings::bind_records(m);
  tta::bindings::bind_findings(m);
  tta::bindings::bind_rule_context(m);
  tta::bindings::bind_gpus(m);
  tta::bindings::bind_rules(m);
  tta::bindings::bind_job(m);
  tta::bindings::bind_report(m);
  tta::bindings::bind_program(m);
  m.attr("__version__") = TTA_VERSION;
  m.def(
      "built_for_torch", [] { return TTA_BUILT_FOR_TORCH; },
      "The version of torch, major and minor, that _torch was built for; empty: there "
      "is no _torch.");
}

// pybind11 waits forever in another interpreter than the main one before Python 3.12,
// already for its own data, so that is refused before pybind11 has its turn.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
    return PyInit__core_of_main();
  }
  PyErr_SetString(
      PyExc_ImportError,
      "torchtraceap works in the main interpreter of a process only, not in "
      "a subinterpreter. Use a process of its own, such as with subprocess "
      "or ProcessPoolExecutor");
  return nullptr;
}
