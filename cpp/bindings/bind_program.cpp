// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_program.cpp: a program that comes from no trace, the trace of it, and
// the table of GPUs.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/signals.h"
#include "replay/program.h"
#include "replay/scheduler.h"
#include "timeline/gpu_table.h"
#include "write/write_trace.h"

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
      "All of them; those without a name have only a bandwidth.");
}

namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names
using Members = py::typing::Dict<py::str, py::object>;

// The members of a JSON object, without its braces.
std::string members(const Members& note) {
  const auto dumps = py::module_::import("json").attr("dumps");
  const std::string text = py::str(dumps(note, py::arg("allow_nan") = false));
  return text.substr(1, text.size() - 2);
}

py::bytes trace_text(const Program& given, const Members& note, std::uint32_t rank) {
  const auto more = members(note);
  // Others may add to it when the lock is released.
  const Program program = given;
  const auto text = [&] {
    const py::gil_scoped_release release;
    std::ostringstream out;
    const auto times = schedule(program, heed_signals());
    write::write_program(program, times, out, rank, more, heed_signals());
    return std::move(out).str();
  }();
  return py::bytes(text);
}

using Times = py::array_t<std::int64_t>;

// Begin and end of all work, in its order, and the end of the last of all.
std::pair<Times, std::int64_t> times_of(const Program& given) {
  const Program program = given;
  const auto made = [&] {
    const py::gil_scoped_release release;
    return schedule(program, heed_signals());
  }();
  Times out({static_cast<py::ssize_t>(made.work.size()), py::ssize_t{2}});
  auto* at = out.mutable_data();
  for (const auto& one : made.work) {
    *at++ = one.begin;
    *at++ = one.end;
  }
  return {std::move(out), made.end};
}

using WaitMethod = void (Program::*)(std::uint32_t, std::uint32_t, WaitCall);

auto waits(WaitMethod method) {
  return
      [method](Program& p, std::uint32_t thread, std::uint32_t what, std::string name,
               std::optional<std::int64_t> ns, std::optional<std::int64_t> back) {
        (p.*method)(
            thread, what,
            {std::move(name), ns.value_or(kByConstant), back.value_or(kByConstant)});
      };
}

void bind_launches(py::class_<Program>& program) {
  program
      .def(
          "kernel",
          [](Program& p, std::uint32_t thread, std::uint32_t stream, std::string name,
             std::int64_t ns, std::int64_t call_ns, double blocks_per_sm,
             std::optional<std::uint32_t> collective, std::string args, bool blocking,
             std::optional<std::int64_t> latency, std::optional<std::int64_t> gap,
             std::string call) {
            DeviceWork w{std::move(name), TaskKind::kKernel, stream, ns};
            w.blocks_per_sm = blocks_per_sm;
            w.collective = collective.value_or(kNone);
            w.args = std::move(args);
            w.latency = latency.value_or(kByConstant);
            w.gap = gap.value_or(kByConstant);
            return p.launch(thread, std::move(w), call_ns, blocking, std::move(call));
          },
          py::arg("thread"), py::arg("stream"), py::arg("name"), py::arg("ns"),
          py::arg("call_ns"), py::kw_only(), py::arg("blocks_per_sm") = -1.0,
          py::arg("collective") = py::none(), py::arg("args") = "",
          py::arg("blocking") = false, py::arg("latency") = py::none(),
          py::arg("gap") = py::none(), py::arg("call") = "",
          "`latency`: launch to start on an idle stream; `gap`: end of the work before "
          "to start; `call`: the name of the launch.")
      .def(
          "copy",
          [](Program& p, std::uint32_t thread, std::uint32_t stream, std::string name,
             std::int64_t ns, std::int64_t call_ns, std::int64_t bytes,
             std::string args, bool blocking, std::optional<std::int64_t> latency,
             std::optional<std::int64_t> gap, std::string call) {
            DeviceWork w{std::move(name), TaskKind::kCopy, stream, ns};
            w.latency = latency.value_or(kByConstant);
            w.gap = gap.value_or(kByConstant);
            w.copy = copy_kind(w.name, bytes);
            w.bytes = bytes;
            w.args = std::move(args);
            return p.launch(thread, std::move(w), call_ns, blocking, std::move(call));
          },
          py::arg("thread"), py::arg("stream"), py::arg("name"), py::arg("ns"),
          py::arg("call_ns"), py::arg("bytes"), py::kw_only(), py::arg("args") = "",
          py::arg("blocking") = false, py::arg("latency") = py::none(),
          py::arg("gap") = py::none(), py::arg("call") = "",
          "The name gives direction and memory, as in Kineto: Memcpy HtoD (Pageable -> "
          "Device).")
      .def(
          "memset",
          [](Program& p, std::uint32_t thread, std::uint32_t stream, std::string name,
             std::int64_t ns, std::int64_t call_ns, std::int64_t bytes,
             std::string args, std::optional<std::int64_t> latency,
             std::optional<std::int64_t> gap) {
            DeviceWork w{std::move(name), TaskKind::kMemset, stream, ns};
            w.latency = latency.value_or(kByConstant);
            w.gap = gap.value_or(kByConstant);
            w.bytes = bytes;
            w.args = std::move(args);
            return p.launch(thread, std::move(w), call_ns);
          },
          py::arg("thread"), py::arg("stream"), py::arg("name"), py::arg("ns"),
          py::arg("call_ns"), py::arg("bytes"), py::kw_only(), py::arg("args") = "",
          py::arg("latency") = py::none(), py::arg("gap") = py::none())
      .def("call", &Program::call, py::arg("thread"), py::arg("name"), py::arg("ns"),
           py::arg("args") = "", "A call that launches nothing and waits for nothing.");
}

void bind_waits(py::class_<Program>& program) {
  program
      .def("record_event", &Program::record_event, py::arg("thread"), py::arg("stream"),
           py::arg("event"), py::arg("call_ns"))
      .def("stream_wait", &Program::stream_wait, py::arg("thread"), py::arg("stream"),
           py::arg("event"), py::arg("call_ns"))
      .def("event_sync", waits(&Program::event_sync), py::arg("thread"),
           py::arg("event"), py::kw_only(), py::arg("name") = "",
           py::arg("ns") = py::none(), py::arg("back") = py::none())
      .def("stream_sync", waits(&Program::stream_sync), py::arg("thread"),
           py::arg("stream"), py::kw_only(), py::arg("name") = "",
           py::arg("ns") = py::none(), py::arg("back") = py::none())
      .def(
          "device_sync", waits(&Program::device_sync), py::arg("thread"),
          py::arg("stream"), py::kw_only(), py::arg("name") = "",
          py::arg("ns") = py::none(), py::arg("back") = py::none(),
          "`name`: another call that waits for the device, such as cudaFree; `ns`: "
          "its length if it does not have to wait; `back`: from the end of the awaited "
          "work to its return.")
      .def("signal", &Program::signal, py::arg("thread"), py::arg("signal"))
      .def("wait", &Program::wait, py::arg("thread"), py::arg("signal"),
           py::arg("ns") = 0);
}

}  // namespace

void bind_program(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const ProgramError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const DeadlockError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  py::class_<Program> program(
      m, "Program",
      "Threads, streams and their operations, see replay/program.h. Each add_... "
      "returns the index by which the others refer to it. Lengths in nanoseconds; "
      "`args` are more members for a row, as JSON text: `\"key\": value, ...`.");
  program.def(py::init<>())
      .def(
          "add_device",
          [](Program& p, std::int32_t id, std::string name, std::int64_t memory,
             std::int64_t multiprocessors, std::int64_t major, std::int64_t minor,
             std::string args) {
            p.devices.push_back({id, std::move(name), multiprocessors, major, minor,
                                 memory, std::move(args)});
          },
          py::arg("id"), py::arg("name"), py::arg("memory") = 0,
          py::arg("multiprocessors") = 0, py::arg("compute_major") = 0,
          py::arg("compute_minor") = 0, py::arg("args") = "")
      .def("add_stream", &Program::add_stream, py::arg("number"), py::arg("device") = 0,
           py::arg("rank") = 0)
      .def("add_thread", &Program::add_thread, py::arg("tid"), py::arg("name"),
           py::arg("rank") = 0)
      .def("add_event", &Program::add_event)
      .def("add_signal", &Program::add_signal)
      .def("host", &Program::host, py::arg("thread"), py::arg("ns"),
           py::arg("name") = "", py::arg("args") = "")
      .def("open", &Program::open, py::arg("thread"), py::arg("name"),
           py::arg("args") = "", "Begins an operator, until close().")
      .def("open_span", &Program::open_span, py::arg("thread"), py::arg("name"),
           py::arg("args") = "", "Begins an annotation, until close().")
      .def("close", &Program::close, py::arg("thread"));
  bind_launches(program);
  bind_waits(program);
  program.def_readwrite("resolution_ns", &Program::resolution_ns,
                        "Times are written as multiples of it, rounded down.");
  program.def(
      "times", &times_of,
      "Schedules the program and returns int64 [work, 2], begin and end of each "
      "piece of work in the order of its launches' return values, and the end "
      "of the last one. Raises as trace_text does.");
  program.def("trace_text", &trace_text, py::arg_v("note", Members(), "{}"),
              py::arg("rank") = 0,
              "Schedules the program and returns one rank's trace as JSON. `note` is "
              "written next to the mark of a simulated trace. Raises ValueError if "
              "the program is invalid or never ends.");
}

}  // namespace tta::bindings
