// SPDX-License-Identifier: BSD-3-Clause
// benchmarks/replay/bench_replay.cpp: how near replays come to what was recorded, with
// parts of the model left out, and what making and replaying a model takes.
//
//   bench_replay ROUNDS TRACE...
//
// Prints a JSON list, an object a trace. Errors are shares, replayed over recorded less
// 1; times are the least wall time of all rounds, in milliseconds. Traces without
// device work are left out.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "json_object.h"
#include "replay/fidelity.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

namespace {

using namespace tta;
using replay::bit;

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - since_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since_ = Clock::now();
};

double error(std::int64_t replayed, std::int64_t recorded) {
  return recorded == 0
             ? 0
             : static_cast<double>(replayed) / static_cast<double>(recorded) - 1;
}

double span_error(const replay::Model& m, replay::KindSet without = 0) {
  const auto times = m.graph.schedule(m.graph.weights(without));
  return error(replay::span_of(times), replay::span_of(m.recorded()));
}

void print_waits(Object& o, const char* key, const replay::Recomputed& waits) {
  o.open(key, '{');
  o.count("count", waits.count);
  o.ms("recorded_ms", waits.recorded);
  o.ms("error_ms", waits.error);
  o.close('}');
}

void print_control(Object& o, const char* key, const replay::Control& of, bool used) {
  o.open(key, '{');
  o.count("delays", of.delays);
  o.number("rate", of.rate());
  o.number("chance", of.chance());
  o.truth("used", used);
  o.close('}');
}

void print_fidelity(Object& o, const replay::Model& m, const replay::Fidelity& f) {
  o.truth("replayable", f.replayable);
  o.open("refusals", '[');
  for (const auto& r : f.refusals) o.text("", r.kind);
  o.close(']');
  o.truth("informative", f.informative);
  o.ms("span_ms", f.span.recorded);
  o.ms("path_on_anchors_ms", f.anchored_ns);
  double worst = 0;
  for (const auto& s : f.steps) {
    worst = std::max(worst, std::abs(error(s.times.replayed, s.times.recorded)));
  }
  o.count("steps", f.steps.size());
  o.number("worst_step_error", worst);
  o.count("tasks", f.tasks);
  o.count("launched", f.launched);
  o.count("queued_before", f.queued_before);
  o.count("explained", f.explained);
  o.count("contradicted", f.contradicted);
  o.count("dropped_edges", m.dropped_edges);
  print_control(o, "crowding", m.crowding, m.crowding.plausible());
  print_control(o, "tails", m.tails, m.tails.believed());
  print_control(o, "coincidences", m.coincidences, m.coincidences.believed());
  o.ms("unexplained_ms", f.unexplained_ns);
  o.count("anchored_tasks", m.anchored_tasks);
  o.count("queue_places", static_cast<std::uint64_t>(m.queue_places));
  print_waits(o, "long_waits", f.long_waits);
  print_waits(o, "queue_waits", f.queue_waits);
  print_waits(o, "hand_overs", f.hand_overs);
  o.ms("copied_waits_ms", f.copied_waits);
  o.open("path_ms", '{');
  for (const auto& kind : replay::kEdgeKinds) {
    o.ms(kind.name.data(), f.path[static_cast<std::size_t>(kind.id)]);
  }
  o.close('}');
  o.open("path_sources_ms", '{');
  for (std::size_t i = 0; i < replay::kSourceNames.size(); ++i) {
    o.ms(replay::kSourceNames[i].data(), f.path_sources[i]);
  }
  o.close('}');
}

// Makes a model by other options, and returns the error of its span.
double other(const timeline::Timeline& t, const timeline::EventArgs& args,
             bool calibrate, bool keep_anomalies, bool hand_overs = true) {
  replay::ModelOptions options;
  options.calibrate = calibrate;
  options.keep_anomalies = keep_anomalies;
  options.hand_overs = hand_overs;
  return span_error(replay::make_model(t, args, options));
}

bool measure(const std::string& path, int rounds, bool first) {
  Stopwatch loading;
  const auto trace = trace::load_file(path);
  const auto load_ms = loading.ms();
  const auto t = timeline::make_timeline(trace);
  const timeline::EventArgs args(t);
  const auto m = replay::make_model(t, args);
  if (m.tasks.all.empty()) return false;
  double make_ms = 1e9, judge_ms = 1e9, replay_ms = 1e9;
  const auto weights = m.graph.weights();
  for (int round = 0; round < rounds; ++round) {
    Stopwatch making;
    const auto again = replay::make_model(t, args);
    make_ms = std::min(make_ms, making.ms());
    Stopwatch judging;
    const auto judged = replay::judge(again);
    judge_ms = std::min(judge_ms, judging.ms());
    Stopwatch replaying;
    const auto times = m.graph.schedule(weights);
    replay_ms = std::min(replay_ms, replaying.ms());
    if (times.size() != m.points.size() || judged.tasks == 0) std::abort();
  }
  std::printf(first ? "{" : ",\n{");
  Object o;
  auto name = path.substr(path.rfind('/') + 1);
  o.text("trace", name.substr(0, name.find(".json")));
  o.count("points", m.points.size());
  o.count("edges", m.graph.edges().size());
  o.number("load_ms", load_ms);
  o.number("make_ms", make_ms);
  o.number("judge_ms", judge_ms);
  o.number("replay_ms", replay_ms);
  print_fidelity(o, m, replay::judge(m));
  o.open("span_error", '{');
  o.number("model", span_error(m));
  o.number("null", span_error(m, replay::kNullWithout));
  o.number("strict", other(t, args, true, false));
  o.number("constants", other(t, args, false, true));
  o.number("constants_strict", other(t, args, false, false));
  o.number("hand_overs_not_looked_for", other(t, args, true, true, false));
  o.close('}');
  o.open("span_error_without", '{');
  for (const auto& kind : replay::kEdgeKinds) {
    o.number(kind.name.data(), span_error(m, bit(kind.id)));
  }
  constexpr auto kBetweenStreams =
      bit(replay::EdgeKind::kStreamWait) | bit(replay::EdgeKind::kContention);
  o.number("all_waits_of_streams", span_error(m, kBetweenStreams));
  o.close('}');
  std::printf("\n}");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s ROUNDS TRACE...\n", argv[0]);
    return 2;
  }
  bool first = true;
  std::printf("[");
  for (int i = 2; i < argc; ++i) {
    try {
      first = !measure(argv[i], rounds, first) && first;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", argv[i], e.what());
      return 1;
    }
  }
  std::printf("]\n");
  return 0;
}
