// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_job.cpp: ranks reduced, and jobs of them, field by field.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "pipeline/report.h"
#include "replay/job.h"
#include "replay/job_blame.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names

using Parts = std::vector<std::pair<std::uint32_t, std::int64_t>>;
using Passages =
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, Parts>>;

RankWork work_of(
    std::int64_t rank, std::int64_t stage, std::vector<std::int64_t> recorded,
    const std::vector<std::string>& kinds, const Passages& passages,
    std::vector<RankMeeting> meetings,
    const std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>>& steps) {
  RankWork out;
  out.rank = rank;
  out.stage = stage;
  out.recorded = std::move(recorded);
  for (const auto& kind : kinds) out.places.push_back({kind, {}, kind});
  for (const auto& [from, to, ns, parts] : passages) {
    const auto first = static_cast<std::uint32_t>(out.parts.size());
    for (const auto& [place, part] : parts) out.parts.push_back({place, part});
    out.passages.push_back(
        {from, to, ns, first, static_cast<std::uint32_t>(out.parts.size())});
  }
  out.meetings = std::move(meetings);
  for (const auto& [number, begin, end] : steps)
    out.steps.push_back({number, begin, end});
  out.check();
  return out;
}

void bind_rank_work(py::module_& m) {
  py::class_<RankMeeting>(m, "RankMeeting", "A collective as one rank recorded it.")
      .def(py::init([](std::string key, std::string name, std::int64_t step,
                       std::uint32_t begin, std::uint32_t end) {
             return RankMeeting{.key = std::move(key),
                                .group = "",
                                .ranks = "",
                                .name = std::move(name),
                                .step = step,
                                .begin = begin,
                                .end = end};
           }),
           py::arg("key"), py::arg("name"), py::arg("step"), py::arg("begin"),
           py::arg("end"), "`key`: the same of all members; begin and end: stops.")
      .def_readonly("group", &RankMeeting::group)
      .def_readonly("name", &RankMeeting::name)
      .def_readonly("sequence", &RankMeeting::sequence)
      .def_readonly("step", &RankMeeting::step)
      .def_readonly("bytes", &RankMeeting::bytes)
      .def_readonly("exposed_ns", &RankMeeting::exposed)
      .def_readonly("begin", &RankMeeting::begin)
      .def_readonly("end", &RankMeeting::end);
  py::class_<RankStep>(m, "RankStep")
      .def_readonly("number", &RankStep::number)
      .def_readonly("begin", &RankStep::begin)
      .def_readonly("end", &RankStep::end);
  py::class_<WorkPlace>(m, "WorkPlace", "Where time goes, on each rank the same.")
      .def_readonly("kind", &WorkPlace::kind)
      .def_property_readonly(
          "location",
          [](const WorkPlace& w) {
            return w.frame ? std::optional(pipeline::location_of(*w.frame))
                           : std::nullopt;
          })
      .def_readonly("name", &WorkPlace::name);
  py::class_<RankWork>(m, "RankWork",
                       "A rank reduced to where it met others and what it did between.")
      .def(
          py::init(&work_of), py::arg("rank"), py::arg("stage"), py::arg("recorded"),
          py::arg("kinds"), py::arg("passages"), py::arg("meetings"), py::arg("steps"),
          "Of operations that no trace holds: `recorded` are nanoseconds of stops, the "
          "first the begin of the recording; passages (from, to, ns, parts), parts "
          "(place in `kinds`, ns); steps (number, begin, end).")
      .def_readwrite("rank", &RankWork::rank)
      .def_readonly("stage", &RankWork::stage)
      .def_readonly("meetings", &RankWork::meetings)
      .def_readonly("steps", &RankWork::steps)
      .def_readonly("recorded_ns", &RankWork::recorded)
      .def("to_bytes", [](const RankWork& w) { return py::bytes(to_bytes(w)); })
      .def_static(
          "from_bytes",
          [](const py::bytes& b) { return rank_work_from(std::string(b)); },
          py::arg("data"));
}

void bind_meetings(py::module_& m) {
  py::class_<JoinedMember>(m, "JoinedMember")
      .def_readonly("rank", &JoinedMember::rank)
      .def_readonly("meeting", &JoinedMember::meeting)
      .def_readonly("begin_ns", &JoinedMember::begin)
      .def_readonly("end_ns", &JoinedMember::end)
      .def_readonly("wait_ns", &JoinedMember::wait)
      .def_readonly("transfer_ns", &JoinedMember::transfer)
      .def_readonly("waited", &JoinedMember::waited);
  py::class_<JoinedMeeting>(m, "JoinedMeeting", "A collective of which two ranks know.")
      .def_readonly("name", &JoinedMeeting::name)
      .def_readonly("group", &JoinedMeeting::group)
      .def_readonly("sequence", &JoinedMeeting::sequence)
      .def_readonly("step", &JoinedMeeting::step)
      .def_readonly("bytes", &JoinedMeeting::bytes)
      .def_readonly("members", &JoinedMeeting::members)
      .def_readonly("last", &JoinedMeeting::last)
      .def_readonly("transfer_ns", &JoinedMeeting::transfer)
      .def_property_readonly("wait_ns", &JoinedMeeting::wait);
  py::class_<Clock>(m, "Clock", "How a rank's clock stands to the others'.")
      .def_readonly("shift_ns", &Clock::shift)
      .def_readonly("residual_ns", &Clock::residual)
      .def_readonly("shared", &Clock::shared);
  py::class_<Lateness>(m, "Lateness", "Waiting, and what kept whom.")
      .def_readonly("meeting", &Lateness::meeting)
      .def_readonly("rank", &Lateness::rank)
      .def_property_readonly("place",
                             [](const Lateness& l) -> std::optional<std::uint32_t> {
                               if (l.place == Job::kNoPlace) return {};
                               return l.place;
                             })
      .def_readonly("late_ns", &Lateness::late)
      .def_readonly("waited_ns", &Lateness::waited);
}

}  // namespace

void bind_job(py::module_& m) {
  bind_rank_work(m);
  bind_meetings(m);
  py::class_<Job>(m, "Job", "The ranks of a job as one schedule. Times in nanoseconds.")
      .def(py::init([](std::vector<RankWork> ranks, bool by_kind) {
             const py::gil_scoped_release release;
             return Job(std::move(ranks), by_kind ? Usual::kKind : Usual::kPeers);
           }),
           py::arg("ranks"), py::kw_only(), py::arg("by_kind") = false)
      .def_property_readonly("ranks", &Job::ranks)
      .def_property_readonly("meetings", &Job::meetings)
      .def_property_readonly("places", &Job::places)
      .def_property_readonly("clocks", &Job::clocks)
      .def_property_readonly("unmatched", &Job::unmatched)
      .def_property_readonly("contradicted", &Job::contradicted)
      .def_property_readonly("steps", &Job::steps,
                             "By number: length recorded, length replayed as it was.")
      .def("finding_of", &Job::finding_of, py::arg("rank"), py::arg("place"),
           "Place among the findings of the rank's report; -1: none.")
      .def("recorded_step_ns", &Job::recorded_step_ns)
      .def(
          "replayed_step_ns",
          [](const Job& job, bool usual, std::optional<std::uint32_t> rank,
             std::optional<std::int64_t> stage, std::optional<std::string> kind,
             std::optional<std::uint32_t> place) {
            const py::gil_scoped_release release;
            if (!usual) return job.replayed_step_ns();
            return job.replayed_step_ns(Selection{rank, stage, std::move(kind), place});
          },
          py::kw_only(), py::arg("usual") = false, py::arg("rank") = std::nullopt,
          py::arg("stage") = std::nullopt, py::arg("kind") = std::nullopt,
          py::arg("place") = std::nullopt,
          "The mean step: as it was or, with `usual`, with what is selected as others "
          "have it, everything if nothing is selected.")
      .def(
          "lateness",
          [](const Job& job) {
            const py::gil_scoped_release release;
            return blame_for_waits(job);
          },
          "Waiting, given to what made others late, each nanosecond once.");
}

}  // namespace tta::bindings
