// SPDX-License-Identifier: BSD-3-Clause
// robust/seeds.cpp: real traces cut to size, and texts written for their anomalies.
#include "robust/seeds.h"

#include <zlib.h>

#include <cctype>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/gzip.h"
#include "support/trace_text.h"
#include "trace/order.h"
#include "write/write_pftrace.h"

namespace tta::robust {
namespace {

constexpr std::size_t kSmall = 1000;
constexpr std::size_t kLarge = 40'000;

// Kineto's layout with text pids, escapes, decoy borders in nested lists, an unknown
// category, odd numbers, and metadata behind the events.
constexpr const char* kKineto = R"json(
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA {H100}, ]", "computeMajor": 9
    }
  ],
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::\u00e9\n\"q\" \\ 漢", "pid": 4711, "tid": 4712,
    "ts": 4372189311950.743, "dur": 12.500,
    "args": {
      "External id": 3, "Input Dims": [[2, 3], [], [[-1.5e3]]], "s": "},{\"ph\""
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "void gemm<7>(int, {})", "pid": 0, "tid": "stream 7",
    "ts": 4372189311961.000, "dur": 3,
    "args": {
      "device": 0, "stream": 7, "correlation": 9, "External id": 3, "queued": 0
    }
  },
  {
    "ph": "X", "cat": "no such category", "name": "", "pid": "Spans", "tid": -1,
    "ts": "5", "dur": -1,
    "args": {
      "list": [
  {
    "ph": "decoy"
  },
  {
    "ph": "decoy"
  }], "b": [true, false, null]
    }
  },
  {
    "ph": "s", "id": 9, "pid": 4711, "tid": 4712, "ts": 1.5e3, "cat": "ac2g", "name": "ac2g"
  },
  {
    "name": "process_name", "ph": "M", "ts": 0, "pid": 4711, "tid": 0,
    "args": {
      "name": "python"
    }
  }
  ],
  "traceName": "/tmp/]},{.json",
  "baseTimeNanoseconds": 1759000000000000000
}
)json";

// The list form, compact; launches and work of a device, so that the analysis has
// something to do.
std::string list_form() {
  std::string text = "[";
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i + 1);
    const std::string at = std::to_string(100 * i);
    if (i > 0) text += ',';
    text +=
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" +
        at + R"(,"dur":5,"args":{"correlation":)" + n + "}}," +
        R"({"ph":"X","cat":"kernel","name":"k\u0041","pid":0,"tid":7,"ts":)" + at +
        R"(9,"dur":30,"args":{"device":0,"stream":7,"correlation":)" + n + "}}";
  }
  return text + "]";
}

// Collectives alone on a device without a number, and slow copies to it: rules claim
// their busy time.
std::string unnumbered_device() {
  std::string text = "[";
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    if (i > 1) text += ',';
    text +=
        R"({"ph":"X","cat":"kernel","name":"ncclKernel_x","pid":"","tid":7,"ts":)" + n +
        R"(000,"dur":400,"args":{"stream":7,"correlation":)" + n + "}}," +
        R"j({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)",)j" +
        R"("pid":-1,"tid":7,"ts":)" + n +
        R"(500,"dur":400,"args":{"device":-1,"stream":7,"bytes":)" + n + "000000}}";
  }
  return text + "]";
}

// Steps that load, launch, copy back and reduce, so that the rules have something to
// do.
std::string steps() {
  test::TraceText text;
  text.step(1, 0, 400)
      .step(2, 405, 400)
      .python("train.py(3): step", 1, 800)
      .note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2, 100);
  for (int i = 0; i < 4; ++i) {
    const double at = 120 + i * 90;
    text.op("aten::add", at, 60)
        .launched(at + 5, at + 20, 30 + i, i + 1, 7 + i % 2)
        .call("cudaMemcpyAsync", at + 40, 20, 100 + i)
        .copy("Memcpy DtoH (Device -> Pageable)", at + 55, 2, 100 + i, 4);
  }
  return text.kernel(600, 100, 50, "ncclDevKernel_AllReduce", 20)
      .host("overhead", "Buffer Flush", 750, 40, "", 0, -1)
      .text();
}

}  // namespace

std::string read_sample(const std::string& name) {
  const std::string path = std::string(TTA_TEST_DATA) + "/" + name;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + " cannot be opened");
  std::string text;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  gzclose(file);
  return text;
}

std::string cut_between_events(std::string_view text, std::size_t bytes) {
  // Real headers are longer than small documents may be.
  const std::size_t events = text.find("\"traceEvents\": [");
  if (events == text.npos) throw std::runtime_error("no traceEvents in a seed");
  std::string cut = events > bytes / 2 ? "{\n  \"schemaVersion\": 1,\n  "
                                       : std::string(text.substr(0, events));
  const std::size_t room = bytes - cut.size();
  std::size_t end = text.rfind("\n  },", events + room);
  if (end == text.npos || end < events) end = text.find("\n  },", events);
  if (end == text.npos) throw std::runtime_error("no border of events in a seed");
  cut += text.substr(events, end + 4 - events);
  return cut + "\n  ]\n}\n";
}

std::string compact(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      out += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && std::isspace(static_cast<unsigned char>(text[i]))) {
      continue;
    }
    out += text[i];
  }
  return out;
}

std::string gzip(std::string_view text) {
  constexpr int kFast = 1;
  return test::gzip(text, kFast);
}

std::string packets(const std::string& text) {
  auto trace = trace::load_bytes(text);
  trace::order_rows(trace);
  std::ostringstream out;
  write::write_pftrace(trace, out);
  return std::move(out).str();
}

std::vector<std::string> small_seeds() {
  std::vector<std::string> seeds = {kKineto, compact(kKineto), list_form(),
                                    unnumbered_device(), steps()};
  for (const char* name :
       {"a100-event-sync-3streams-tiny.json.gz", "mi250-rocm62-tiny.json.gz",
        "old-catnames-tiny-no-schema.json.gz", "mi300-torch-compile-triton.json.gz"}) {
    seeds.push_back(cut_between_events(read_sample(name), kSmall));
  }
  seeds.push_back(compact(seeds.back()));
  for (const auto& text : {steps(), list_form(), seeds[5]}) {
    seeds.push_back(packets(text));
  }
  return seeds;
}

std::vector<std::string> large_seeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"mi250-rocm62-tiny.json.gz", "cpu-macos-resnet18.json.gz",
                           "kineto2021-computeProperties-tiny.json.gz"}) {
    seeds.push_back(cut_between_events(read_sample(name), kLarge));
  }
  seeds.push_back(compact(seeds.front()));
  return seeds;
}

std::string prefix_seed() { return large_seeds().front(); }

}  // namespace tta::robust
