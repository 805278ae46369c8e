// SPDX-License-Identifier: BSD-3-Clause
// benchmarks/loader/bench_loader.cpp: the loader against the least simdjson can do.
//
// The limit is simdjson's On-Demand parser with a warm parser, over a document that
// is already in memory, touching the fields the loader reads and keeping nothing: no
// file, no columns, no interning, and args skipped unchecked. Rows take turns, so that
// a busy machine slows all alike. Every loader's figures are counted before.
//
//   bench_loader ROUNDS RAW.json GZIP.json.gz COMPACT.json
//
// Writes JSON to standard output, seconds of wall clock and of CPU time (of all
// threads) of every round. bench_loader.cmake builds it; run.py runs it.
#include <simdjson.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/analyze.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

#define TTA_TEXT_OF(x) #x
#define TTA_TEXT(x) TTA_TEXT_OF(x)

namespace {

using tta::trace::Trace;

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Touches what the loader reads; the sum keeps the compiler from leaving it out.
double touch(simdjson::ondemand::value event) {
  double sum = 0;
  for (auto field : event.get_object()) {
    const std::string_view key(field.key().raw(), 4);
    auto value = field.value();
    if (key.starts_with("ts\"") || key == "dur\"") {
      double number;
      if (value.get_double().get(number) == simdjson::SUCCESS) sum += number;
    } else if (key == "pid\"" || key == "tid\"") {
      sum += static_cast<double>(value.raw_json_token().value().size());
    } else if (key.starts_with("ph\"") || key == "cat\"" || key == "name") {
      sum += value.raw_json_token().value()[1];
    }
  }
  return sum;
}

struct Touched {
  double sum = 0;
  std::size_t events = 0;
};

Touched limit(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  simdjson::ondemand::document document = parser.iterate(text);
  Touched touched;
  const auto walk = [&](simdjson::ondemand::array events) {
    for (auto event : events) {
      touched.sum += touch(event.value());
      ++touched.events;
    }
  };
  if (document.type() == simdjson::ondemand::json_type::array) {
    walk(document.get_array());
  } else {
    walk(document["traceEvents"].get_array());
  }
  return touched;
}

Trace load(const std::string& path, unsigned threads) {
  tta::trace::LoadOptions options;
  options.threads = threads;
  return tta::trace::load_file(path, options);
}

// As figures.py names them.
std::string figures(const Trace& trace) {
  const auto& columns = trace.columns;
  std::size_t x = 0, gpu = 0, flow_s = 0, flow_f = 0;
  std::int64_t sum = 0;
  std::int64_t first = tta::trace::kTimeLimit;
  for (std::uint32_t row = 0; row < columns.size(); ++row) {
    flow_s += columns.phase[row] == 's';
    flow_f += columns.phase[row] == 'f';
    if (columns.phase[row] != 'X') continue;
    ++x;
    gpu += columns.cat_info(row).device_work;
    if (columns.dur[row] > 0) sum += columns.dur[row];
    if (columns.ts[row] > -tta::trace::kTimeLimit) {
      first = std::min(first, columns.ts[row]);
    }
  }
  return "{\"events\": " + std::to_string(columns.size()) +
         ", \"x\": " + std::to_string(x) + ", \"sum_dur_ns\": " + std::to_string(sum) +
         ", \"min_ts_ns\": " + std::to_string(first) +
         ", \"gpu\": " + std::to_string(gpu) +
         ", \"flow_s\": " + std::to_string(flow_s) +
         ", \"flow_f\": " + std::to_string(flow_f) + "}";
}

struct Row {
  std::string name;
  std::function<void()> run;
  std::string figures;
  std::vector<double> wall;
  std::vector<double> cpu;
};

void measure(Row& row) {
  const double wall = seconds(CLOCK_MONOTONIC);
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  row.run();
  row.cpu.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  row.wall.push_back(seconds(CLOCK_MONOTONIC) - wall);
}

void print(const char* name, const std::vector<double>& values) {
  std::printf(", \"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%.6f", i == 0 ? "" : ", ", values[i]);
  }
  std::printf("]");
}

std::vector<Row> rows_of_limit(const char* name, const simdjson::padded_string& text,
                               simdjson::ondemand::parser& parser, double& sink) {
  const auto events = limit(parser, text).events;
  return {{name,
           [&] { sink = limit(parser, text).sum; },
           "{\"events\": " + std::to_string(events) + "}",
           {},
           {}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s ROUNDS RAW GZIP COMPACT\n", argv[0]);
    return 2;
  }
  const int rounds = std::atoi(argv[1]);
  const auto raw_text = simdjson::padded_string::load(argv[2]).value();
  const auto compact_text = simdjson::padded_string::load(argv[4]).value();
  simdjson::ondemand::parser raw_parser;
  simdjson::ondemand::parser compact_parser;
  double sink = 0;
  std::vector<Row> rows = rows_of_limit("limit, raw", raw_text, raw_parser, sink);
  for (Row& row : rows_of_limit("limit, compact", compact_text, compact_parser, sink)) {
    rows.push_back(std::move(row));
  }
  constexpr const char* kKinds[] = {"raw", "gzip", "compact"};
  for (int kind = 0; kind < 3; ++kind) {
    const std::string path = argv[2 + kind];
    for (const unsigned threads : {1U, 2U}) {
      rows.push_back({std::string(kKinds[kind]) + ", " + std::to_string(threads) +
                          (threads == 1 ? " thread" : " threads"),
                      [path, threads] { load(path, threads); },
                      figures(load(path, threads)),
                      {},
                      {}});
    }
  }
  const Trace trace = load(argv[2], 0);
  rows.push_back(
      {"timeline", [&] { tta::timeline::make_timeline(trace); }, {}, {}, {}});
  rows.push_back({"analysis", [&] { tta::pipeline::analyze(trace); }, {}, {}, {}});

  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) measure(row);
  }
  std::printf(
      "{\"simdjson\": \"%s (%s)\", \"compiler\": \"%s\", \"sum\": %.0f, "
      "\"rows\": [",
      TTA_TEXT(SIMDJSON_VERSION), simdjson::get_active_implementation()->name().c_str(),
      __VERSION__, sink);
  for (const Row& row : rows) {
    std::printf("%s\n{\"name\": \"%s\"", &row == rows.data() ? "" : ",",
                row.name.c_str());
    print("wall_s", row.wall);
    print("cpu_s", row.cpu);
    if (!row.figures.empty()) std::printf(", \"figures\": %s", row.figures.c_str());
    std::printf("}");
  }
  std::printf("]}\n");
}
