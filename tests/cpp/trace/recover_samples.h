// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/recover_samples.h: texts to damage, and ways to recover them.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/samples.h"

namespace tta::trace {

inline LoadOptions recovering(std::size_t window = std::size_t{256} << 10,
                              unsigned threads = 1,
                              std::size_t block = std::size_t{1} << 20) {
  LoadOptions options;
  options.recover = true;
  options.window_bytes = window;
  options.threads = threads;
  options.block_bytes = block;
  return options;
}

// Loads in many ways, which must all give the same.
inline Trace recover(const std::string& text) {
  Trace control = load_bytes(text, recovering());
  for (const LoadOptions& options :
       {recovering(64), recovering(100), recovering(777), recovering(256, 3, 300),
        recovering(64, 3, 1500), recovering(1 << 18, 2, 700)}) {
    const Trace trace = load_bytes(text, options);
    expect_same(control, trace);
    EXPECT_EQ(trace.metadata, control.metadata);
    EXPECT_EQ(trace.text_bytes, text.size());
    for (std::size_t i = 0;
         i < std::min(trace.warnings.size(), control.warnings.size()); ++i) {
      EXPECT_EQ(trace.warnings[i].kind, control.warnings[i].kind);
      EXPECT_EQ(trace.warnings[i].count, control.warnings[i].count)
          << trace.warnings[i].kind;
      EXPECT_EQ(trace.warnings[i].detail, control.warnings[i].detail);
    }
  }
  return control;
}

inline std::string event(int number) {
  return R"({"ph":"X","cat":"cpu_op","name":"op )" + std::to_string(number) +
         R"( {é},{[","pid":1,"tid":2,"ts":)" + std::to_string(number) +
         R"(,"dur":1,"args":{"External id":)" + std::to_string(number) +
         R"(,"Input Dims":[[1,2],[]],"Input type":["float",{"a":1},{"b":[2]}],"s":"\"x"}})";
}

inline std::string events(int count,
                          const std::function<std::string(int)>& one = event) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + one(i);
  return text;
}

// The numbers of the events that were kept.
inline std::vector<std::int64_t> kept(const Trace& trace) {
  return trace.columns.external_id;
}

inline std::vector<std::int64_t> all_but(int count, int lost) {
  std::vector<std::int64_t> numbers;
  for (int i = 0; i < count; ++i) {
    if (i != lost) numbers.push_back(i);
  }
  return numbers;
}

// Puts white space where Kineto does.
inline std::string indented(const std::string& text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    if (!in_string && (text[i] == '}' || text[i] == ']')) out += "\n  ";
    out += text[i];
    if (!in_string && (text[i] == ',' || text[i] == '{')) out += "\n    ";
  }
  return out;
}

// A small event, whose number is its time.
inline std::string small(int ts) {
  const std::string number = std::to_string(ts);
  return R"({"ph":"X","name":"e)" + number + R"(","ts":)" + number +
         R"(,"dur":1,"args":{"a":1}})";
}

inline std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trace.columns.size(); ++i) {
    names.emplace_back(trace.name(static_cast<std::uint32_t>(i)));
  }
  return names;
}

using Names = std::vector<std::string>;
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

inline void expect_recovered(const std::string& text, const Names& rows,
                             const Counts& counts) {
  const Trace trace = recover(text);
  EXPECT_EQ(names(trace), rows) << text;
  Counts found;
  for (const Warning& each : trace.warnings) found.emplace_back(each.kind, each.count);
  EXPECT_EQ(found, counts) << text;
}

// Inserts, replaces or deletes one of the bytes that JSON is made of.
inline void damage_one_byte(std::string& text, std::mt19937& random) {
  constexpr std::string_view kMarks = "{}[],:\"";
  const std::size_t at = random() % text.size();
  const auto kind = random() % 3;
  text.replace(at, kind == 0 ? 0 : 1, kind == 2 ? 0 : 1,
               kMarks[random() % kMarks.size()]);
}

}  // namespace tta::trace
