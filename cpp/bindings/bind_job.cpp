// SPDX-License-Identifier: BSD-3-Clause
// bindings/bind_job.cpp: ranks reduced, jobs of them, and the rows of a job as dicts.
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
#include "pipeline/ranks/job_result.h"
#include "replay/job.h"

namespace tta::bindings {
namespace {

namespace py = pybind11;
using namespace replay;  // NOLINT: this file is a list of its names
using namespace py::literals;
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
           py::arg("end"), "`key`: the same of all members; begin and end: stops.");
  py::class_<RankWork>(m, "RankWork",
                       "A rank reduced to its collectives and its work between them.")
      .def(
          py::init(&work_of), py::arg("rank"), py::arg("stage"), py::arg("recorded"),
          py::arg("kinds"), py::arg("passages"), py::arg("collectives"),
          py::arg("steps"),
          "Of operations that no trace holds: `recorded` are nanoseconds of stops, the "
          "first the begin of the recording; passages (from, to, ns, parts), parts "
          "(place in `kinds`, ns); steps (number, begin, end).")
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
                             "By number: length recorded, length replayed as it was.")
      .def("recorded_step_ns", &Job::recorded_step_ns)
      .def(
          "replayed_step_ns",
          [](const Job& job, bool usual, std::optional<std::uint32_t> rank,
             std::optional<std::int64_t> stage, std::optional<std::string> kind) {
            const py::gil_scoped_release release;
            if (!usual) return job.replayed_step_ns();
            return job.replayed_step_ns(Selection{rank, stage, std::move(kind), {}});
          },
          py::kw_only(), py::arg("usual") = false, py::arg("rank") = std::nullopt,
          py::arg("stage") = std::nullopt, py::arg("kind") = std::nullopt,
          "The mean step: as it was or, with `usual`, with what is selected as others "
          "have it, everything if nothing is selected.");
}

// --- The rows of a job, in the public names and units
// ---------------------------------

// As mypy wants dicts and lists of them.
using Row = py::typing::Dict<py::str, py::object>;
using Rows = py::typing::List<Row>;

py::dict form(const pipeline::JobFacts& f) {
  return py::dict("steps"_a = f.steps, "step_us"_a = f.step_us,
                  "replayed_us"_a = f.replayed_us, "even_us"_a = f.even_us,
                  "slowdown"_a = f.slowdown, "replay_error"_a = f.replay_error,
                  "waited_us"_a = record::us_of(f.waited_ns),
                  "joined_collectives"_a = f.joined_collectives,
                  "unmatched"_a = f.unmatched, "contradicted"_a = f.contradicted,
                  "clock_residual_us"_a = record::us_of(f.clock_residual_ns),
                  "culprit"_a = f.culprit);
}

py::dict form(const pipeline::RankRow& r) {
  return py::dict(
      "rank"_a = r.rank, "path"_a = r.path, "host"_a = r.host, "device"_a = r.device,
      "verdict"_a = words_of(r.verdict)[static_cast<std::size_t>(r.verdict)],
      "stage"_a = r.stage, "steps"_a = r.steps,
      "begin_us"_a = record::us_of(r.begin_ns), "end_us"_a = record::us_of(r.end_ns),
      "span_us"_a = record::us_of(r.span_ns), "busy_us"_a = record::us_of(r.busy_ns),
      "waited_us"_a = record::us_of(r.waited_ns),
      "transfer_us"_a = record::us_of(r.transfer_ns),
      "exposed_us"_a = record::us_of(r.exposed_ns),
      "caused_us"_a = record::us_of(r.caused_ns), "last"_a = r.last,
      "gain_us"_a = r.gain_us, "clock_shift_us"_a = record::us_of(r.clock_shift_ns),
      "clock_residual_us"_a = record::us_of(r.clock_residual_ns));
}

py::dict form(const pipeline::Late& l) {
  const auto location =
      l.location ? std::optional(pipeline::location_of(*l.location)) : std::nullopt;
  return py::dict(
      "rank"_a = l.rank, "kind"_a = l.kind, "location"_a = location, "name"_a = l.name,
      "finding"_a = l.finding, "late_us"_a = record::us_of(l.late_ns),
      "waited_us"_a = record::us_of(l.waited_ns), "count"_a = l.count,
      "collective"_a = l.collective, "sequence"_a = l.sequence, "waiting"_a = l.waiting,
      "gain_us"_a = l.gain_us, "culprit"_a = l.culprit);
}

py::dict form(const pipeline::CollectiveWait& c) {
  return py::dict("collective"_a = c.collective, "rank"_a = c.rank, "late"_a = c.late,
                  "late_us"_a = record::us_of(c.late_ns),
                  "waited_us"_a = record::us_of(c.waited_ns));
}

py::dict form(const pipeline::StepOfRank& s) {
  return py::dict("rank"_a = s.rank, "number"_a = s.number,
                  "begin_us"_a = record::us_of(s.begin_ns),
                  "end_us"_a = record::us_of(s.end_ns));
}

py::dict form(const pipeline::Arrival& a) {
  return py::dict("rank"_a = a.rank, "begin_us"_a = record::us_of(a.begin_ns),
                  "end_us"_a = record::us_of(a.end_ns),
                  "wait_us"_a = record::us_of(a.wait_ns));
}

py::dict form(const pipeline::CollectiveRow& c) {
  return py::dict("name"_a = c.name, "bytes"_a = c.bytes, "count"_a = c.count,
                  "wait_us"_a = record::us_of(c.wait_ns),
                  "transfer_us"_a = record::us_of(c.transfer_ns),
                  "exposed_us"_a = record::us_of(c.exposed_ns), "small"_a = c.small);
}

py::dict form(const pipeline::Culprit& c) {
  return py::dict("what"_a = c.what, "name"_a = c.name, "gain_us"_a = c.gain_us,
                  "share"_a = c.share);
}

py::dict form(const pipeline::JoinedCollective& c);

template <typename T>
Rows forms(const std::vector<T>& rows) {
  Rows out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = form(rows[i]);
  return out;
}

py::dict form(const pipeline::JoinedCollective& c) {
  return py::dict("name"_a = c.name, "group"_a = c.group, "sequence"_a = c.sequence,
                  "step"_a = c.step, "bytes"_a = c.bytes,
                  "transfer_us"_a = record::us_of(c.transfer_ns),
                  "wait_us"_a = record::us_of(c.wait_ns), "last"_a = c.last,
                  "arrivals"_a = forms(c.arrivals));
}

pipeline::RankRecord record_of(std::int64_t rank, std::string path, std::string host,
                               std::string device, const std::string& verdict,
                               std::uint64_t steps, std::int64_t span_ns,
                               std::int64_t busy_ns, std::vector<std::string> findings,
                               const std::optional<py::bytes>& work) {
  pipeline::RankRecord out;
  out.row.rank = rank;
  out.row.path = std::move(path);
  out.row.host = std::move(host);
  out.row.device = std::move(device);
  const auto verdicts = words_of(pipeline::Verdict::kOk);
  const auto at = std::ranges::find(verdicts, verdict);
  if (at == verdicts.end()) throw py::value_error("no verdict is " + verdict);
  out.row.verdict = static_cast<pipeline::Verdict>(at - verdicts.begin());
  out.row.steps = steps;
  out.row.span_ns = span_ns;
  out.row.busy_ns = busy_ns;
  out.findings = std::move(findings);
  if (work) out.work = rank_work_from(std::string(*work));
  return out;
}

void bind_result(py::module_& m) {
  py::class_<pipeline::RankRecord>(m, "RankRecord", "What a job needs of one rank.")
      .def(py::init(&record_of), py::kw_only(), py::arg("rank"), py::arg("path"),
           py::arg("host"), py::arg("device"), py::arg("verdict"), py::arg("steps"),
           py::arg("span_ns"), py::arg("busy_ns"), py::arg("findings"), py::arg("work"),
           "`findings`: their patterns; `work`: RankWork.to_bytes(), None without a "
           "schedule.");
  py::class_<JobResult>(m, "JobResult", "The rows of a job, by their public names.")
      .def(py::init([](std::vector<pipeline::RankRecord> ranks) {
             const py::gil_scoped_release release;
             return pipeline::join_ranks(std::move(ranks));
           }),
           py::arg("ranks"), "Raises RuntimeError if ranks contradict each other.")
      .def_property_readonly("facts",
                             [](const JobResult& j) -> Row { return form(j.facts); })
      .def_property_readonly("ranks", [](const JobResult& j) { return forms(j.ranks); })
      .def_property_readonly("late", [](const JobResult& j) { return forms(j.late); })
      .def_property_readonly("causes",
                             [](const JobResult& j) { return forms(j.causes); })
      .def_property_readonly("steps", [](const JobResult& j) { return forms(j.steps); })
      .def_property_readonly(
          "joined_collectives",
          [](const JobResult& j) { return forms(j.joined_collectives); })
      .def_property_readonly("collectives",
                             [](const JobResult& j) { return forms(j.collectives); })
      .def_property_readonly("culprits",
                             [](const JobResult& j) { return forms(j.culprits); });
}

}  // namespace

void bind_job(py::module_& m) {
  bind_rank_work(m);
  bind_joined(m);
  bind_result(m);
}

}  // namespace tta::bindings
