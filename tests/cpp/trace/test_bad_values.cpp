// SPDX-License-Identifier: BSD-3-Clause
// Scalars that are not JSON are read as missing; the result does not depend on where
// text is cut.
#include <cctype>

#include "trace/recovery.h"
#include "trace/samples.h"

namespace tta::trace {
namespace {

constexpr const char* kBadScalars[] = {
    "NaN",  "nan",   "-nan", "Infinity", "-Infinity", "inf",     "-inf",   "N/A",
    "None", "True",  "007",  "+5",       ".5",        "1.2.3",   "0x10",   "5.",
    "-",    "1e",    "1e+",  "--1",      "1_0",       "-1.-500", "1a",     "01",
    "-01",  "trueX", "tru",  "nulll",    "undefined", "0.1e5.2", "f/o/o.b"};

std::string load_and_read_args(const std::string& args) {
  const Trace trace = load_event(R"("ts": 1, "dur": 1, "args": )" + args);
  EXPECT_GE(warned(trace, "bad_value"), 1u) << args;
  return trace.read_args(std::vector<std::uint32_t>{0})[0];
}

TEST(BadValues, LoseNothingButThemselves) {
  for (const std::string bad : kBadScalars) {
    for (const std::string& args :
         {"{\"correlation\": 7, \"x\": " + bad + ", \"device\": 1}",
          "{\"x\": [1, " + bad + "], \"correlation\": 7}",
          "{\"x\": {\"y\": [[" + bad + " ]]}, \"correlation\": 7}"}) {
      const Trace trace =
          load_bytes(around(R"({"ph": "M"}, {"ph": "X", "cat": "kernel", "ts": 1,
              "dur": 2, "args": )" +
                            args + R"(}, {"ph": "M"})"));
      ASSERT_EQ(trace.columns.size(), 3u) << args;
      EXPECT_EQ(trace.columns.correlation[1], 7) << args;
      EXPECT_TRUE(trace.columns.timed(1)) << args;
      EXPECT_EQ(warned(trace, "bad_value"), 1u) << args;
      EXPECT_EQ(trace.warnings.size(), 1u) << args;
    }
  }
}

TEST(BadValues, AreMissingInEveryField) {
  for (const std::string bad : kBadScalars) {
    const auto load = [&](const std::string& key) {
      std::string event = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 4,
          "tid": 5, "ts": 1, "dur": 2, "args": {"correlation": 3, "stream": 6}})";
      const std::string quoted = "\"" + key + "\": ";
      const std::size_t from = event.find(quoted) + quoted.size();
      event.replace(from, event.find_first_of(",}", from) - from, bad);
      Trace trace = load_bytes(around(event));
      EXPECT_EQ(warned(trace, "bad_value"), 1u) << event;
      return trace;
    };
    EXPECT_EQ(warned(load("ph"), "no_phase"), 1u) << bad;
    EXPECT_EQ(warned(load("cat"), "bad_category"), 1u) << bad;
    EXPECT_EQ(warned(load("name"), "bad_name"), 1u) << bad;
    EXPECT_EQ(load("pid").columns.pid[0], kNoId) << bad;
    EXPECT_EQ(load("tid").columns.tid[0], kNoId) << bad;
    EXPECT_EQ(warned(load("ts"), "bad_ts"), 1u) << bad;
    EXPECT_EQ(warned(load("dur"), "missing_dur"), 1u) << bad;
    EXPECT_EQ(load("correlation").columns.correlation[0], kNoId) << bad;
    EXPECT_EQ(load("stream").columns.stream[0], 5) << bad;
  }
  const Trace trace = load_event(R"("ts": 1, "dur": 1, "id": NaN, "args": NaN)");
  EXPECT_EQ(trace.columns.args_length[0], 0u);
  EXPECT_EQ(warned(trace, "bad_value"), 2u);
  EXPECT_EQ(trace.warnings.size(), 1u);
}

TEST(BadValues, AreCountedWithTheirFirstPlace) {
  const std::string text =
      "{\"a\": nan, " + around(R"({"ph": "M"}, {"ph": "M", "args": {"b": [inf, 1]}},
                               NaN, {"ph": "M", "pid": None})")
                            .substr(1);
  const Trace trace = load_bytes(text);
  EXPECT_EQ(warned(trace, "bad_value"), 4u);
  EXPECT_EQ(warned(trace, "skipped_element"), 1u);
  EXPECT_NE(trace.warnings.back().detail.find("byte 6)"), std::string::npos)
      << trace.warnings.back().detail;
  const std::string events = text.substr(0, 1) + text.substr(11);
  for (const Warning& warning : load_bytes(events).warnings) {
    if (warning.kind != "bad_value") continue;
    EXPECT_TRUE(says(warning.detail, "byte " + std::to_string(events.find("inf")) +
                                         ", traceEvents[1]"));
  }
}

TEST(BadValues, DoNotDependOnWindowsOrThreads) {
  std::string events;
  for (int i = 0; i < 300; ++i) {
    events += std::string(i > 0 ? "," : "") + R"({"ph":"X","ts":)" +
              (i % 7 == 3 ? "NaN" : std::to_string(i)) + R"(,"dur":1,"args":{"v":[)" +
              (i % 5 == 2 ? "-inf" : "2") + R"(],"w":"}]"}})";
  }
  const std::string text = around(events);
  const Trace control = load_bytes(text);
  EXPECT_EQ(warned(control, "bad_value"), 43u + 60u);
  for (const unsigned threads : {1u, 3u}) {
    for (std::size_t bytes = 64; bytes < 300; bytes += 11) {
      LoadOptions options;
      options.window_bytes = bytes;
      options.threads = threads;
      options.block_bytes = 1000;
      const Trace trace = load_bytes(text, options);
      expect_same(control, trace);
      for (std::size_t i = 0; i < trace.warnings.size(); ++i) {
        EXPECT_EQ(trace.warnings[i].detail, control.warnings[i].detail) << bytes;
        EXPECT_EQ(trace.warnings[i].count, control.warnings[i].count) << bytes;
      }
    }
  }
}

TEST(BadValues, OtherDamageIsStillRefused) {
  const std::string long_word(65, 'x');
  for (const std::string bad :
       {"'x'", "/* */ 1", "// 1", "_x", "/x", "1 2", "1\"2\"", "a b", "#", "\\n", "é",
        "=1", "a:b", "(1)", long_word.c_str()}) {
    for (const char* key : {"ts", "pid", "args", "other"}) {
      const std::string event =
          std::string(R"({"ph": "X", ")") + key + "\": " + bad + ", \"dur\": 1}";
      EXPECT_EQ(refusal(around(event)).kind(), "invalid_json") << event;
      EXPECT_EQ(refusal(around(event)).event(), 0) << event;
    }
    const std::string deep = R"({"ph": "M", "args": {"a": [1, )" + bad + "]}}";
    EXPECT_EQ(refusal(around(deep)).kind(), "invalid_json") << deep;
  }
  EXPECT_EQ(refusal(around(R"({"ph": "M", nan: 1})")).kind(), "invalid_json");
}

TEST(BadValues, CutByTheEndOfTheTextAreTruncated) {
  const std::string text =
      R"({"traceEvents": [{"ph": "M", "args": {"a": -Infinity}}]})";
  for (std::size_t cut = text.find(": -I") + 2; cut + 1 < text.size(); ++cut) {
    EXPECT_EQ(refusal(text.substr(0, cut)).kind(), "truncated") << cut;
  }
}

TEST(BadValues, AreNullInWhatOthersParse) {
  EXPECT_EQ(load_and_read_args(R"({"a": NaN, "b": [007, -1.5e3, "NaN \"", true]})"),
            R"({"a": null, "b": [null, -1.5e3, "NaN \"", true]})");
  const Trace trace = load_bytes(
      R"({"a": {"b": NaN, "c": [1,N/A , 2]}, "d": -inf, "traceEvents": [], "e": 1.0})");
  EXPECT_EQ(trace.metadata_json("a"), R"({"b": null, "c": [1,null , 2]})");
  EXPECT_EQ(trace.metadata_json("d"), "null");
  EXPECT_EQ(trace.metadata_json("e"), "1.0");
  EXPECT_EQ(warned(trace, "bad_value"), 3u);
  EXPECT_EQ(mended("{\"a\": \"\xff\xe6\xbc\"}"),
            "{\"a\": \"\xEF\xBF\xBD\xEF\xBF\xBD\"}");
}

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
