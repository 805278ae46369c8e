// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_rule_context.cpp: what a rule written in Python sees, as NumPy arrays.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "bindings/bindings.h"
#include "bindings/own_rules.h"
#include "pipeline/report.h"
#include "timeline/frames.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using timeline::IntervalSet;
using Numbers = py::array_t<std::int64_t>;

// Copies: the timeline goes when its report does, arrays may stay.
Numbers row_numbers(const std::vector<std::uint32_t>& rows) {
  static_assert(timeline::kNoRow == timeline::kNoLane);
  Numbers out(static_cast<py::ssize_t>(rows.size()));
  std::transform(rows.begin(), rows.end(), out.mutable_data(), [](std::uint32_t row) {
    return row == timeline::kNoRow ? std::int64_t{-1} : std::int64_t{row};
  });
  return out;
}

template <std::size_t width, typename List, typename Row>
Numbers table(const List& list, const Row& row) {
  Numbers out({static_cast<py::ssize_t>(list.size()), py::ssize_t{width}});
  auto* to = out.mutable_data();
  for (const auto& item : list) {
    const std::array<std::int64_t, width> values = row(item);
    to = std::copy(values.begin(), values.end(), to);
  }
  return out;
}

Numbers intervals(const IntervalSet& set) {
  return table<2>(set,
                  [](const auto& part) { return std::array{part.begin, part.end}; });
}

std::size_t index_of(const timeline::Timeline& t, std::optional<std::int32_t> device,
                     std::optional<std::int64_t> pid = std::nullopt) {
  if (!device && t.host) {
    const auto index = pid ? t.host.index_of(*pid) : 0;
    if (index != timeline::HostTimes::kNone) return index;
    throw std::invalid_argument("process " + std::to_string(*pid) +
                                " did no work in this trace");
  }
  if (pid) throw std::invalid_argument("this trace has device work: name a device");
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (device == t.devices[i].device) return i;
  }
  throw std::invalid_argument(device ? "device " + std::to_string(*device) +
                                           " did no work in this trace"
                                     : "name a device: this trace has device work");
}

}  // namespace

void bind_rule_context(py::module_& m) {
  py::class_<RuleContext, std::shared_ptr<RuleContext>>(
      m, "RuleContext", "What a rule sees; torchtraceap.RuleView wraps it.")
      .def_property_readonly("span",
                             [](const RuleContext& c) {
                               return std::pair(c.timeline().span.begin,
                                                c.timeline().span.end);
                             })
      .def_property_readonly("devices",
                             [](const RuleContext& c) {
                               std::vector<std::int32_t> out;
                               for (const auto& d : c.timeline().devices)
                                 out.push_back(d.device);
                               return out;
                             })
      .def("parents",
           [](const RuleContext& c) { return row_numbers(c.timeline().tree.parent); })
      .def("launches",
           [](const RuleContext& c) { return row_numbers(c.timeline().links.launch); })
      .def("lanes",
           [](const RuleContext& c) { return row_numbers(c.timeline().lanes.lane); })
      .def("steps",
           [](const RuleContext& c) {
             return table<3>(c.timeline().spans.steps, [](const auto& step) {
               return std::array{step.number, step.begin, step.end};
             });
           })
      .def(
          "idle",
          [](const RuleContext& c, std::optional<std::int32_t> device,
             std::optional<std::int64_t> pid) {
            const auto& t = c.timeline();
            return intervals((*c).ledger.idle(index_of(t, device, pid), t.span));
          },
          py::arg("device"), py::arg("pid"))
      .def(
          "busy",
          [](const RuleContext& c, std::int32_t device) {
            const auto& t = c.timeline();
            return intervals((*c).ledger.busy(index_of(t, device), t.span));
          },
          py::arg("device"))
      .def(
          "on_stream",
          [](const RuleContext& c, std::uint32_t row) {
            const auto& lanes = c.timeline().lanes;
            return row < lanes.lane.size() && lanes.on_stream(row);
          },
          py::arg("row"), "Whether the event is device work.")
      .def(
          "device_of",
          [](const RuleContext& c, std::uint32_t row) {
            const auto& lanes = c.timeline().lanes;
            const bool known = row < lanes.lane.size() && lanes.on_stream(row);
            return known ? lanes.lanes[lanes.lane[row]].device : -1;
          },
          py::arg("row"), "The device of device work, as in `devices`; -1 of others.")
      .def(
          "frames",
          [](const RuleContext& c, const std::vector<std::uint32_t>& rows) {
            const auto& t = c.timeline();
            for (const auto row : rows) {
              if (row >= t.columns().size())
                throw py::index_error("there is no row " + std::to_string(row));
            }
            return pipeline::locations_of(timeline::user_frames(t, rows));
          },
          py::arg("rows"));
}

}  // namespace tta::bindings
