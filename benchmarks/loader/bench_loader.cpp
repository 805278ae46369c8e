// SPDX-License-Identifier: BSD-3-Clause
// benchmarks/loader/bench_loader.cpp: the loader against the least simdjson can do.
//
// The limit is simdjson's On-Demand parser with a warm parser, over a document that
// is already in memory, touching the fields the loader reads and keeping nothing: no
// file, no columns, no interning, and args skipped unchecked. Rounds take turns, so
// that a busy machine slows all rows alike; the best round of each counts.
//
// In the repository root (leave out ISA-L where it is absent):
//   g++ -std=c++20 -O3 -Icpp -DTTA_HAVE_ISAL=1 benchmarks/loader/bench_loader.cpp
//       cpp/trace/*.cpp -lsimdjson -lisal -lz -o /tmp/bench_loader
//   /tmp/bench_loader trace.json.gz [rounds]
#include <simdjson.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

#define TTA_TEXT_OF(x) #x
#define TTA_TEXT(x) TTA_TEXT_OF(x)

namespace {

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string inflate_all(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as well
  std::string text;
  std::vector<char> part(1 << 20);
  for (int n; (n = gzread(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  gzclose(file);
  return text;
}

std::string deflate_all(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Touches what the loader reads; the sum keeps the compiler from leaving it out.
double touch(simdjson::ondemand::value event) {
  double sum = 0;
  for (auto field : event.get_object()) {
    const std::string_view key(field.key().raw(), 4);
    auto value = field.value();
    if (key.starts_with("ts\"") || key.starts_with("dur\"")) {
      double number;
      if (value.get_double().get(number) == simdjson::SUCCESS) sum += number;
    } else if (key.starts_with("pid\"") || key.starts_with("tid\"")) {
      sum += static_cast<double>(value.raw_json_token().value().size());
    } else if (key.starts_with("ph\"") || key.starts_with("cat\"") ||
               key.starts_with("name")) {
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

struct Case {
  const char* name;
  std::function<void()> run;
  double best = 1e9;
};

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s TRACE [ROUNDS]\n", argv[0]);
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 11;
  const std::string text = inflate_all(argv[1]);
  const std::string stem = "/tmp/bench_loader." + std::to_string(getpid());
  write_file(stem + ".json", text);
  write_file(stem + ".json.gz", deflate_all(text));
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  const tta::trace::Trace trace = tta::trace::load_file(stem + ".json");
  const Touched touched = limit(parser, padded);
  if (touched.events != trace.columns.size()) {
    std::fprintf(stderr, "%zu events by simdjson, %zu loaded: nothing to compare\n",
                 touched.events, trace.columns.size());
    return 1;
  }
  volatile double sink = touched.sum;

  std::vector<Case> cases = {
      {"limit: On-Demand, touch the fields", [&] { sink = limit(parser, padded).sum; }},
      {"load_file, plain", [&] { tta::trace::load_file(stem + ".json"); }},
      {"load_file, gzip", [&] { tta::trace::load_file(stem + ".json.gz"); }},
  };
  for (int round = 0; round < rounds; ++round) {
    for (Case& each : cases) {
      const double start = cpu_seconds();
      each.run();
      each.best = std::min(each.best, cpu_seconds() - start);
    }
  }
  const auto events = static_cast<double>(trace.columns.size());
  std::printf("%s, simdjson %s (%s)\n", processor().c_str(), TTA_TEXT(SIMDJSON_VERSION),
              simdjson::get_active_implementation()->name().c_str());
  std::printf("%s: %.1f MB, %.0f events, %.0f B an event, best of %d, CPU time\n",
              argv[1], static_cast<double>(text.size()) / 1e6, events,
              static_cast<double>(text.size()) / events, rounds);
  std::printf("%-36s %9s %9s %9s %7s\n", "", "ms", "MB/s", "ns/event", "ratio");
  for (const Case& each : cases) {
    std::printf("%-36s %9.1f %9.0f %9.1f %7.2f\n", each.name, each.best * 1e3,
                static_cast<double>(text.size()) / 1e6 / each.best,
                each.best / events * 1e9, cases[0].best / each.best);
  }
  std::printf("gzip against plain: %.2f\n", cases[1].best / cases[2].best);
  std::remove((stem + ".json").c_str());
  std::remove((stem + ".json.gz").c_str());
}
