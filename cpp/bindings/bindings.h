// SPDX-License-Identifier: BSD-3-Clause
// bindings/bindings.h: the files that fill the module _core, one for each part.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

namespace tta::bindings {

/// Returns text of a trace; bytes that are not UTF-8 are U+FFFD.
pybind11::str text(std::string_view bytes);

/// Names by the category column.
std::vector<std::string> category_names();

void bind_trace(pybind11::module_& m);
void bind_load(pybind11::module_& m);
void bind_findings(pybind11::module_& m);
void bind_rule_context(pybind11::module_& m);
void bind_gpus(pybind11::module_& m);
void bind_records(pybind11::module_& m);
void bind_rules(pybind11::module_& m);
void bind_report(pybind11::module_& m);
void bind_job(pybind11::module_& m);
void bind_program(pybind11::module_& m);

}  // namespace tta::bindings
