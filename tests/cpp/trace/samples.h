// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/samples.h: small texts to load, and what to ask of the result.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/gzip.h"
#include "support/says.h"
#include "trace/trace.h"

namespace tta::trace {

using test::gzip;
using test::says;

/// Makes the object form of a trace around comma-separated events.
inline std::string around(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

/// Loads one complete event with these members besides ph, cat and name.
inline Trace load_event(const std::string& members) {
  return load_bytes(
      around(R"({"ph": "X", "cat": "cpu_op", "name": "a", )" + members + "}"));
}

/// Returns how often a kind of anomaly was counted.
inline std::uint64_t warned(const Trace& trace, std::string_view kind) {
  for (const Warning& warning : trace.warnings) {
    if (warning.kind == kind) return warning.count;
  }
  return 0;
}

/// Loads what must be refused, and returns the refusal after checking its form.
inline TraceError refusal(std::string bytes, const LoadOptions& options = {}) {
  try {
    load_bytes(std::move(bytes), options);
  } catch (const TraceError& error) {
    const std::string_view message = error.what();
    EXPECT_GE(message.size(), 15u) << message;
    EXPECT_LE(message.size(), 2000u) << message;
    EXPECT_NE(message.find(error.path()), message.npos) << message;
    EXPECT_FALSE(error.hint().empty()) << message;
    for (const char c : message) {
      EXPECT_TRUE(c >= 0x20 && c < 0x7f) << message;
    }
    return error;
  }
  ADD_FAILURE() << "was not refused";
  return TraceError("none", "", "", "");
}

/// A trace of `count` events in Kineto's layout, with most of what loaders stumble on.
inline std::string kineto_text(int count) {
  std::string text =
      "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n"
      "      \"id\": 0, \"name\": \"NVIDIA {H100}, ]\"\n    }\n  ],\n"
      "  \"traceEvents\": [\n";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    const bool kernel = i % 3 == 0;
    if (i > 0) text += ",\n";
    text += "  {\n    \"ph\": \"X\", \"cat\": \"";
    text += kernel ? "kernel" : "cpu_op";
    text +=
        "\", \"name\": \"void f<" + std::to_string(i % 7) +
        R"(>(int, {}), \"q\" \\ \u00e9 é 漢", "pid": )" + (kernel ? "0" : "4711") +
        ", \"tid\": " + (kernel ? "\"stream 7\"" : "4712") +
        ",\n    \"ts\": 437218931" + std::to_string(1000 + i) +
        ".743, \"dur\": 12.5,\n    \"args\": {\n      \"External id\": " + n +
        R"(, "device": 3, "correlation": )" + n +
        R"(, "Input Dims": [[2, 3], [], [[-1.5e3]]], "s": "},{\"ph\"", "b": [true, null])" +
        "\n    }\n  }";
  }
  return text + "\n  ],\n  \"traceName\": \"/tmp/x.json\"\n}\n";
}

/// Expects the same columns and names, wherever args may stand in the two texts.
inline void expect_same(const Trace& a, const Trace& b, bool same_text = true) {
  ASSERT_EQ(a.columns.size(), b.columns.size());
  ASSERT_EQ(a.strings.size(), b.strings.size());
  for (std::uint32_t id = 0; id < a.strings.size(); ++id) {
    EXPECT_EQ(a.strings.view(id), b.strings.view(id));
  }
#define TTA_SAME(name, type, doc)                                    \
  if (same_text || std::string_view(#name).substr(0, 4) != "args") { \
    EXPECT_EQ(a.columns.name, b.columns.name) << #name;              \
  }
  TTA_COLUMNS(TTA_SAME)
#undef TTA_SAME
  EXPECT_EQ(a.warnings.size(), b.warnings.size());
}

}  // namespace tta::trace
