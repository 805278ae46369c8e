// SPDX-License-Identifier: BSD-3-Clause
// robust/large.cpp: a trace of more than 4 GiB, where 32 bits end.
//
//   large write FILE [MIB]     writes it, 4,500 MiB unless told
//   large check FILE THREADS   loads it and compares it with what was written
//
// What event i holds follows from i, so nothing but the file is needed to check it.
// Not a test of ctest: it takes disk and minutes (`make large`).
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace tta::robust {
namespace {

constexpr std::size_t kArgsBytes = 3000;
constexpr std::int64_t kNames = 1000;

std::string name_of(std::int64_t i) { return "kernel " + std::to_string(i % kNames); }

// Duration in nanoseconds.
std::int64_t dur_of(std::int64_t i) { return 1 + i % 997; }

std::string args_of(std::int64_t i) {
  std::string args =
      "{\n      \"correlation\": " + std::to_string(i) + ", \"note\": \"";
  args.append(kArgsBytes - args.size(), static_cast<char>('a' + i % 26));
  return args + "\"\n    }";
}

std::string event(std::int64_t i) {
  char dur[32];
  std::snprintf(dur, sizeof dur, "0.%03lld", static_cast<long long>(dur_of(i)));
  return "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" + name_of(i) +
         "\", \"pid\": 0, \"tid\": 7,\n    \"ts\": " + std::to_string(i) +
         ".000, \"dur\": " + dur + ",\n    \"args\": " + args_of(i) + "\n  }";
}

void write(const std::string& path, std::uint64_t mebibytes) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::space(folder).available >> 20 < mebibytes + 500) {
    throw std::runtime_error("there is no room for " + std::to_string(mebibytes) +
                             " MiB in " + folder.string());
  }
  std::ofstream file(path, std::ios::binary);
  file << "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n" << event(0);
  std::int64_t count = 1;
  for (std::uint64_t size = 0; size < mebibytes << 20; ++count) {
    const std::string text = ",\n" + event(count);
    file << text;
    size += text.size();
  }
  file << "\n  ],\n  \"count\": " << count << "\n}\n";
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong: ") + what);
}

void check(const std::string& path, unsigned threads) {
  trace::LoadOptions options;
  options.threads = threads;
  const auto begin = std::chrono::steady_clock::now();
  const trace::Trace trace = trace::load_file(path, options);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;

  const std::uintmax_t size = std::filesystem::file_size(path);
  require(size > std::uintmax_t{1} << 32, "the file has no more than 4 GiB");
  require(trace.text_bytes == size, "text_bytes");
  require(trace.warnings.empty(), "warnings");
  const auto rows = static_cast<std::int64_t>(trace.columns.size());
  require(trace.metadata_json("count") == std::to_string(rows), "rows");
  require(trace.strings.size() == kNames + 1, "names");
  std::int64_t expected = 0;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::uint32_t>(i);
    expected += dur_of(i);
    found += trace.columns.dur[row];
    require(trace.columns.ts[row] == 1000 * i, "ts");
    require(trace.columns.correlation[row] == i, "correlation");
  }
  require(found == expected, "the sum of durations");
  const auto last = static_cast<std::uint32_t>(rows - 1);
  require(trace.name(last) == name_of(rows - 1), "the last name");
  require(trace.columns.args_offset[last] > std::uint64_t{1} << 32, "the last offset");
  const std::vector<std::uint32_t> some = {last, 0, last / 2};
  const std::vector<std::string> args = trace.read_args(some);
  for (std::size_t i = 0; i < some.size(); ++i) {
    require(args[i] == args_of(some[i]), "args");
  }

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak = static_cast<double>(usage.ru_maxrss) / 1024;
  const double mebibytes = static_cast<double>(size) / (1 << 20);
  std::printf(
      "%u threads: %.0f MiB, %lld events, loaded in %.2f s (%.0f MiB/s), "
      "peak %.0f MiB (%.2f of the text)\n",
      threads, mebibytes, static_cast<long long>(rows), spent.count(),
      mebibytes / spent.count(), peak, peak / mebibytes);
}

}  // namespace
}  // namespace tta::robust

int main(int argc, char** argv) try {
  const std::string mode = argc > 2 ? argv[1] : "";
  const auto number = std::strtoull(argc > 3 ? argv[3] : "0", nullptr, 10);
  if (mode == "write") {
    tta::robust::write(argv[2], number > 0 ? number : 4500);
  } else if (mode == "check") {
    tta::robust::check(argv[2], static_cast<unsigned>(number));
  } else {
    std::fprintf(stderr, "large write FILE [MIB] | large check FILE THREADS\n");
    return 2;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "large: %s\n", error.what());
  return 1;
}
