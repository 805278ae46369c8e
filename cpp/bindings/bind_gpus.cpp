// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_gpus.cpp: the table of GPUs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "timeline/gpu_table.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using timeline::Gpu;

std::map<std::string, double> peaks(const Gpu& gpu) {
  const auto& p = gpu.peak;
  std::map<std::string, double> out;
  for (const auto& [name, tera] : {std::pair("float64", p.float64),
                                   {"float32", p.float32},
                                   {"tf32", p.tf32},
                                   {"float16", p.float16},
                                   {"bfloat16", p.bfloat16},
                                   {"float8_e4m3fn", p.float8},
                                   {"float8_e5m2", p.float8},
                                   {"int8", p.int8}}) {
    if (tera > 0) out[name] = tera;
  }
  return out;
}

}  // namespace

void bind_gpus(py::module_& m) {
  py::class_<Gpu>(m, "Gpu", "A row of the table of GPUs, see timeline/gpu_table.h.")
      .def_property_readonly("name", [](const Gpu& g) { return g.name; })
      .def_readonly("bandwidth_gb_s", &Gpu::bandwidth_gb_s)
      .def_property_readonly("driver_name", [](const Gpu& g) { return g.driver_name; })
      .def_readonly("memory_bytes", &Gpu::memory_bytes)
      .def_property_readonly("peak_teraflops", &peaks,
                             "By data type as torch names it, and tf32.")
      .def_readonly("multiprocessors", &Gpu::multiprocessors)
      .def_readonly("clock_ghz", &Gpu::clock_ghz)
      .def_property_readonly(
          "compute_capability",
          [](const Gpu& g) { return std::pair(g.compute_major, g.compute_minor); })
      .def_readonly("l2_bytes", &Gpu::l2_bytes)
      .def_readonly("threads_per_multiprocessor", &Gpu::threads_per_multiprocessor)
      .def_readonly("pcie_generation", &Gpu::pcie_generation);
  m.def(
      "gpus",
      [] {
        const auto table = timeline::gpus();
        return std::vector<Gpu>(table.begin(), table.end());
      },
      "All of them; those without a name have a bandwidth alone.");
}

}  // namespace tta::bindings
