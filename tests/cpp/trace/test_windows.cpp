// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_windows.cpp: the result does not depend on where text is cut.
#include <cctype>

#include "trace/samples.h"

namespace tta::trace {
namespace {

LoadOptions window(std::size_t bytes) {
  LoadOptions options;
  options.window_bytes = bytes;
  return options;
}

// Drops white space outside strings.
std::string compact(const std::string& text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\')
      out += text[i++];
    else if (text[i] == '"')
      in_string = !in_string;
    else if (!in_string && std::isspace(static_cast<unsigned char>(text[i])))
      continue;
    out += text[i];
  }
  return out;
}

TEST(Windows, CompactAndPrettyAreEqual) {
  const std::string text = kineto_text(40);
  expect_same(load_bytes(text), load_bytes(compact(text)), false);
}

TEST(Windows, EverySizeGivesTheSameColumns) {
  for (const std::string& text : {kineto_text(23), compact(kineto_text(23))}) {
    const Trace control = load_bytes(text);
    ASSERT_EQ(control.columns.size(), 23u);
    for (std::size_t bytes = 64; bytes <= 400; ++bytes) {
      const Trace trace = load_bytes(text, window(bytes));
      expect_same(control, trace);
      EXPECT_EQ(trace.metadata, control.metadata) << bytes;
      EXPECT_EQ(trace.text_bytes, text.size()) << bytes;
      if (HasFailure()) FAIL() << "window of " << bytes;
    }
  }
}

TEST(Windows, StringsFullOfCutsAreFollowed) {
  std::string events;
  for (int i = 0; i < 50; ++i) {
    if (i > 0) events += ',';
    events += R"({"ph":"X","ts":1,"dur":2,"name":")" + std::to_string(i % 5) +
              R"(},{},\\\"},{\"ph\":\"X\"},{},[],"})";
  }
  const std::string text = around(events);
  const Trace control = load_bytes(text);
  ASSERT_EQ(control.columns.size(), 50u);
  for (std::size_t bytes = 64; bytes <= 400; ++bytes) {
    expect_same(control, load_bytes(text, window(bytes)));
    if (HasFailure()) FAIL() << "window of " << bytes;
  }
}

TEST(Windows, OddCountsDoNotDependOnThem) {
  const std::string text = around(
      R"({"ph":"X","name":"\ud800"},5,{"cat":"what"},{"ph":"X","ts":"5","ts":6,"dur":-1},
         {"ph":"X","cat":"what","args":{"correlation":1.5},"name":"\udc00\ud800x"})");
  const Trace control = load_bytes(text);
  EXPECT_EQ(warned(control, "lone_surrogate"), 3u);
  for (std::size_t bytes = 64; bytes <= 200; ++bytes) {
    const Trace trace = load_bytes(text, window(bytes));
    ASSERT_EQ(trace.warnings.size(), control.warnings.size());
    for (std::size_t i = 0; i < trace.warnings.size(); ++i) {
      EXPECT_EQ(trace.warnings[i].kind, control.warnings[i].kind);
      EXPECT_EQ(trace.warnings[i].count, control.warnings[i].count);
      EXPECT_EQ(trace.warnings[i].detail, control.warnings[i].detail);
    }
  }
}

TEST(Windows, FaultsAreFoundAtTheSamePlace) {
  const std::string good = kineto_text(8);
  const std::size_t middle = good.find("\"ts\"", good.size() / 2);
  for (const std::string bad :
       {"\x01", "\xff", "\"", "\\", "\\x", "x", ",", "{", "\n\"a\n\"", "\"\xff\"",
        "\"\\u12x4\"", "\xc2\xa0", "\xf0\x9d\x84\x9e"}) {
    const std::string text = std::string(good).insert(middle, bad);
    const TraceError control = refusal(text);
    for (std::size_t bytes = 64; bytes <= 2000; bytes += 7) {
      const TraceError error = refusal(text, window(bytes));
      EXPECT_EQ(error.kind(), control.kind()) << bad << bytes;
      EXPECT_EQ(error.offset(), control.offset()) << bad << bytes;
      EXPECT_EQ(error.event(), control.event()) << bad << bytes;
    }
  }
}

TEST(Windows, GrowForLargeItemsAndShrinkAgain) {
  const std::string large(20'000, 'x');
  std::string events;
  for (int i = 0; i < 60; ++i) {
    if (i > 0) events += ", ";
    events += R"({"ph": "X", "ts": )" + std::to_string(i) + R"(, "dur": 1, "name": ")" +
              (i % 20 == 7 ? large : std::string("small")) + R"("})";
  }
  const std::string text = "{\"header\": [\"" + large + "\"], \"traceEvents\": [" +
                           events + "], \"tail\": \"" + large + "\"}";
  const Trace control = load_bytes(text);
  ASSERT_EQ(control.columns.size(), 60u);
  for (std::size_t bytes = 64; bytes <= 30'000; bytes += bytes / 3) {
    const Trace trace = load_bytes(text, window(bytes));
    expect_same(control, trace);
    EXPECT_EQ(trace.metadata, control.metadata) << bytes;
    EXPECT_EQ(trace.text_bytes, text.size()) << bytes;
  }
}

TEST(Windows, BlankStretchesAreSkipped) {
  const std::string blank(5000, ' ');
  const std::string text = blank + "{" + blank + "\"traceEvents\"" + blank + ":" +
                           blank + "[" + blank + "{\"ph\":\"M\"}" + blank + "," +
                           blank + "{\"ph\":\"M\"}" + blank + "]" + blank + "}" + blank;
  for (std::size_t bytes = 64; bytes <= 400; bytes += 5) {
    EXPECT_EQ(load_bytes(text, window(bytes)).columns.size(), 2u);
  }
}

}  // namespace
}  // namespace tta::trace
