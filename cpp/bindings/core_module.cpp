// SPDX-License-Identifier: BSD-3-Clause
// bindings/core_module.cpp: the extension module _core, which needs no torch.
#include "bindings/bindings.h"

PYBIND11_MODULE(_core, m) {
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
