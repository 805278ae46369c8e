// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_job.cpp: ranks reduced, jobs of them, and the rows of a job.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/record.h"
#include "pipeline/ranks/job_result.h"
#include "replay/job.h"
#include "replay/job_culprits.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names
using pipeline::JobResult;

using Parts = std::vector<std::pair<std::uint32_t, std::int64_t>>;
using Passages =
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, Parts>>;

RankWork work_of(
    std::int64_t rank, std::int64_t stage, std::vector<std::int64_t> recorded,
    const std::vector<std::string>& kinds, const Passages& passages,
    std::vector<RankCollective> collectives,
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
  out.collectives = std::move(collectives);
  for (const auto& [number, begin, end] : steps)
    out.steps.push_back({number, begin, end});
  out.check();
  return out;
}

void bind_rank_work(py::module_& m) {
  py::class_<RankCollective>(m, "RankCollective", "A collective of one rank.")
      .def(py::init([](std::string key, std::string name, std::int64_t step,
                       std::uint32_t begin, std::uint32_t end) {
             return RankCollective{.key = std::move(key),
                                   .group = "",
                                   .ranks = "",
                                   .name = std::move(name),
                                   .step = step,
                                   .begin = begin,
                                   .end = end};
           }),
           py::arg("key"), py::arg("name"), py::arg("step"), py::arg("begin"),
           py::arg("end"), "`key`: equal for all members; begin and end: stops.");
  py::class_<RankWork>(m, "RankWork",
                       "A rank reduced to its collectives and its work between them.")
      .def(py::init(&work_of), py::arg("rank"), py::arg("stage"), py::arg("recorded"),
           py::arg("kinds"), py::arg("passages"), py::arg("collectives"),
           py::arg("steps"),
           "Made from operations without a trace: `recorded` are nanoseconds of stops, "
           "the first one the beginning of the recording; passages (from, to, ns, "
           "parts), parts (place in `kinds`, ns); steps (number, begin, end).")
      .def_readonly("rank", &RankWork::rank)
      .def_readonly("stage", &RankWork::stage)
      .def_property_readonly("step_count",
                             [](const RankWork& w) { return w.steps.size(); })
      .def_readonly("recorded_ns", &RankWork::recorded)
      .def("to_bytes", [](const RankWork& w) { return py::bytes(to_bytes(w)); });
}

void bind_joined(py::module_& m) {
  py::class_<Job>(m, "Job", "The ranks of a job as one schedule. Times in nanoseconds.")
      .def(py::init([](std::vector<RankWork> ranks, bool by_kind) {
             const py::gil_scoped_release release;
             return Job(std::move(ranks), by_kind ? Usual::kKind : Usual::kPeers);
           }),
           py::arg("ranks"), py::kw_only(), py::arg("by_kind") = false)
      .def_property_readonly("ranks", &Job::ranks)
      .def_property_readonly("kinds", &Job::kinds,
                             "Kinds of work, and names of collectives.")
      .def_property_readonly("steps", &Job::steps,
                             "By number: recorded length, length replayed unchanged.")
      .def("recorded_step_ns", &Job::recorded_step_ns)
      .def(
          "replayed_step_ns",
          [](const Job& job, bool usual, std::optional<std::uint32_t> rank,
             std::optional<std::int64_t> stage, std::optional<std::string> kind) {
            const py::gil_scoped_release release;
            if (!usual) return job.replayed_step_ns();
            Selection selected{.stage = stage, .kind = std::move(kind)};
            if (rank) selected.ranks = {*rank};
            return job.replayed_step_ns(selected);
          },
          py::kw_only(), py::arg("usual") = false, py::arg("rank") = std::nullopt,
          py::arg("stage") = std::nullopt, py::arg("kind") = std::nullopt,
          "The mean step: unchanged or, with `usual`, with the selected work at the "
          "others' time; all work if nothing is selected.")
      .def(
          "gain_ns",
          [](const Job& job) {
            const py::gil_scoped_release release;
            const auto gain = job.gain({});
            return std::tuple(gain.low_ns.value_or(gain.ns), gain.ns,
                              gain.high_ns.value_or(gain.ns));
          },
          "How much shorter steps are with all work at the others' time: low, mean, "
          "high.")
      .def(
          "slow_work",
          [](const Job& job) {
            const py::gil_scoped_release release;
            const auto found = slow_work(job);
            return std::tuple(found.ranks.ranks, found.ranks.gain_ns, found.stages,
                              found.stage_gains_ns);
          },
          "Slow ranks (places in `ranks`) and what a step gains without all of them; "
          "slow stages and what it gains without each.");
}

// --- The rows of a job
// ------------------------------------------------------------------

pipeline::RankRecord record_of(pipeline::RankRow row,
                               std::vector<pipeline::RankFinding> findings,
                               const std::optional<py::bytes>& work) {
  pipeline::RankRecord out{std::move(row), std::move(findings), {}};
  if (work) out.work = rank_work_from(std::string(*work));
  return out;
}

void bind_result(py::module_& m) {
  bind_record<pipeline::RankRow>(m);
  bind_record<pipeline::RankFinding>(m);
  bind_record<pipeline::Late>(m).def_property_readonly(
      "what",
      [](const pipeline::Late& l) {
        if (l.finding) return l.finding->pattern;
        auto kind = l.kind.empty() ? "not explained by its trace" : l.kind;
        std::ranges::replace(kind, '_', ' ');
        return kind;
      },
      "The cause: a pattern, else the kind of work.");
  bind_record<pipeline::LateRank>(m);
  bind_record<pipeline::SharedFinding>(m);
  bind_record<pipeline::DecodeSkew>(m);
  bind_record<pipeline::CollectiveWait>(m);
  bind_record<pipeline::StepOfRank>(m);
  bind_record<pipeline::Arrival>(m);
  bind_record<pipeline::JoinedCollective>(m);
  bind_record<pipeline::CollectiveRow>(m);
  bind_record<pipeline::Culprit>(m);
  bind_record<pipeline::JobFacts>(m);
  bind_record<pipeline::JobAnswerRow>(m);
  bind_record<pipeline::JobAnswer>(m);
  py::class_<pipeline::RankRecord>(m, "RankRecord",
                                   "The data of one rank that a job needs.")
      .def(py::init(&record_of), py::arg("row"), py::arg("findings"), py::arg("work"),
           "`row`: all that does not depend on other ranks; `findings`: of its report; "
           "`work`: RankWork.to_bytes(), None without a schedule.");
  const auto rows = [](auto JobResult::* list) {
    return [list](const JobResult& j) { return as_tuple(j.*list); };
  };
  py::class_<JobResult>(m, "JobResult", "The rows of a job.")
      .def(py::init([](std::vector<pipeline::RankRecord> ranks) {
             const py::gil_scoped_release release;
             return pipeline::join_ranks(std::move(ranks));
           }),
           py::arg("ranks"), "Raises RuntimeError if ranks contradict each other.")
      .def_readonly("facts", &JobResult::facts)
      .def_readonly("answer", &JobResult::answer)
      .def_property_readonly("ranks", rows(&JobResult::ranks))
      .def_property_readonly("late", rows(&JobResult::late))
      .def_property_readonly("late_ranks", rows(&JobResult::late_ranks))
      .def_property_readonly("shared", rows(&JobResult::shared))
      .def_property_readonly("decode_skew", rows(&JobResult::decode_skew))
      .def_property_readonly("causes", rows(&JobResult::causes))
      .def_property_readonly("steps", rows(&JobResult::steps))
      .def_property_readonly("joined_collectives", rows(&JobResult::joined_collectives))
      .def_property_readonly("collectives", rows(&JobResult::collectives))
      .def_property_readonly("culprits", rows(&JobResult::culprits));
}

}  // namespace

void bind_job(py::module_& m) {
  bind_rank_work(m);
  bind_joined(m);
  bind_result(m);
}

}  // namespace tta::bindings
