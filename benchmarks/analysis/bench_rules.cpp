// SPDX-License-Identifier: BSD-3-Clause
// benchmarks/analysis/bench_rules.cpp: what each stage and each rule of an analysis
// takes.
//
//   bench_rules ROUNDS TRACE...
//
// Prints the least CPU time of all rounds, in milliseconds and as a share of the load
// with one thread. Traces take turns, so that a busy machine slows all alike. Of facts
// that rules share, the first that asks pays; no claims are taken out of the time.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "patterns/facts.h"
#include "patterns/find.h"
#include "patterns/rule.h"
#include "pipeline/analyze.h"
#include "pipeline/pricing/price.h"
#include "timeline/event_args.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

namespace {

double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) +
         1e-6 * static_cast<double>(time.tv_nsec);
}

struct Times {
  std::vector<std::string> order;
  std::map<std::string, double> least;
};

class Clock {
 public:
  explicit Clock(Times& times) : times_(times), since_(now()) {}
  void lap(const std::string& name) {
    const auto at = now();
    const auto [it, first] = times_.least.emplace(name, at - since_);
    if (first) times_.order.push_back(name);
    it->second = std::min(it->second, at - since_);
    since_ = now();
  }

 private:
  Times& times_;
  double since_;
};

void measure(const std::string& path, Times& times) {
  Clock clock(times);
  tta::trace::LoadOptions options;
  options.threads = 1;
  const auto trace = tta::trace::load_file(path, options);
  clock.lap("load");
  const auto report = tta::pipeline::analyze(trace, {});
  clock.lap("analysis");
  const auto timeline = tta::timeline::make_timeline(trace);
  clock.lap("timeline");
  const tta::timeline::EventArgs args(timeline);
  clock.lap("args");
  const auto findings = tta::patterns::find(timeline, args);
  clock.lap("rules, with grouping");
  const auto replay = tta::pipeline::replay_unchanged(timeline, args);
  clock.lap("replay as it is");
  tta::patterns::Search search(timeline, args);
  auto found = search.run();
  const auto windows = tta::timeline::make_windows(timeline, {});
  clock.lap("rules");
  if (replay.fidelity.replayable && !timeline.host) {
    search.complete_sites(found);
    const tta::replay::Pricer pricer(*replay.model);
    const auto gains = tta::pipeline::blame(search, pricer, windows, found);
    clock.lap("blame, " + std::to_string(gains.size()) + " patterns left");
  }
  tta::patterns::Ledger ledger(timeline);
  clock.lap("ledger");
  tta::patterns::Facts facts;
  const tta::patterns::Settings settings;
  for (const auto* rule : tta::patterns::rules()) {
    const tta::patterns::Context context{timeline, args, ledger,
                                         settings.limits(rule->pattern), facts};
    const auto claims = rule->propose(context);
    clock.lap("  " + std::string(tta::patterns::info(rule->pattern).name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s ROUNDS TRACE...\n", argv[0]);
    return 2;
  }
  std::vector<Times> all(static_cast<std::size_t>(argc - 2));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) measure(argv[i + 2], all[i]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf("%s\n", argv[i + 2]);
    const auto load = all[i].least.at("load");
    for (const auto& name : all[i].order) {
      const auto ms = all[i].least.at(name);
      std::printf("  %-34s %9.3f ms %7.3f x load\n", name.c_str(), ms, ms / load);
    }
  }
  return 0;
}
