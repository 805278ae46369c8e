// SPDX-License-Identifier: BSD-3-Clause
// support/trace_text.h: writes small traces as text, so that tests read like one.
//
// Times are microseconds. The main thread is 1 of process 100, the device 0, its
// stream 7.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "trace/trace.h"

namespace tta::test {

class TraceText {
 public:
  /// Adds a host event.
  TraceText& host(const std::string& cat, const std::string& name, double ts,
                  double dur, const std::string& args = "", int tid = 1,
                  int pid = 100) {
    return event(cat, name, ts, dur, pid, tid, args);
  }
  TraceText& op(const std::string& name, double ts, double dur,
                const std::string& args = "", int tid = 1) {
    return host("cpu_op", name, ts, dur, args, tid);
  }
  TraceText& note(const std::string& name, double ts, double dur, int tid = 1) {
    return host("user_annotation", name, ts, dur, "", tid);
  }
  TraceText& python(const std::string& name, double ts, double dur, int tid = 1) {
    return host("python_function", name, ts, dur, "", tid);
  }
  TraceText& call(const std::string& name, double ts, double dur, int correlation,
                  int tid = 1, int pid = 100) {
    return host("cuda_runtime", name, ts, dur,
                "\"correlation\": " + std::to_string(correlation), tid, pid);
  }
  /// Adds work on the device.
  TraceText& kernel(double ts, double dur, int correlation,
                    const std::string& name = "gemm", int stream = 7, int device = 0) {
    return device_work("kernel", name, ts, dur, correlation, "", stream, device);
  }
  TraceText& copy(const std::string& name, double ts, double dur, int correlation,
                  int bytes) {
    return device_work("gpu_memcpy", name, ts, dur, correlation,
                       ", \"bytes\": " + std::to_string(bytes), 7, 0);
  }
  TraceText& device_work(const std::string& cat, const std::string& name, double ts,
                         double dur, int correlation, const std::string& more,
                         int stream, int device) {
    return event(cat, name, ts, dur, device, stream,
                 "\"device\": " + std::to_string(device) +
                     ", \"stream\": " + std::to_string(stream) +
                     ", \"correlation\": " + std::to_string(correlation) + more);
  }
  /// Launches a kernel by cudaLaunchKernel (5 us) at `at`, to run at [ts, ts + dur).
  TraceText& launched(double at, double ts, double dur, int correlation, int stream = 7,
                      const std::string& name = "gemm", int device = 0) {
    return call("cudaLaunchKernel", at, 5, correlation)
        .kernel(ts, dur, correlation, name, stream, device);
  }
  /// Adds an instant of the host.
  TraceText& instant(const std::string& name, double ts, const std::string& args,
                     int tid = 1, int pid = 100) {
    char text[96];
    std::snprintf(text, sizeof text, "\"pid\": %d, \"tid\": %d, \"ts\": %.3f", pid, tid,
                  ts);
    if (!events_.empty()) events_ += ",\n";
    events_ += "{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", ";
    events_ += "\"name\": \"" + name + "\", " + text + ", \"args\": {" + args + "}}";
    return *this;
  }
  /// Adds the range of a step of the profiler.
  TraceText& step(int number, double ts, double dur) {
    return note("ProfilerStep#" + std::to_string(number), ts, dur);
  }
  TraceText& header(const std::string& member) {
    header_ += member + ", ";
    return *this;
  }

  std::string text() const {
    return "{" + header_ + "\"traceEvents\": [" + events_ + "]}";
  }
  trace::Trace load() const { return trace::load_bytes(text()); }

 private:
  TraceText& event(const std::string& cat, const std::string& name, double ts,
                   double dur, int pid, int tid, const std::string& args) {
    char text[128];
    std::snprintf(text, sizeof text,
                  ", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f", pid, tid,
                  ts, dur);
    if (!events_.empty()) events_ += ",\n";
    events_ += "{\"ph\": \"X\", \"cat\": \"" + cat + "\", \"name\": \"" + name + "\"" +
               text + ", \"args\": {" + args + "}}";
    return *this;
  }

  std::string header_, events_;
};

}  // namespace tta::test
