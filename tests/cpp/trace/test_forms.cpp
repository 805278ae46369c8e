// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_forms.cpp: layouts a trace may have, and places of its parts.
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "trace/samples.h"

namespace tta::trace {
namespace {

TEST(Forms, MetadataMayFollowTheEvents) {
  const Trace trace = load_bytes(R"({"a": {"traceEvents": [1]}, "traceEvents": [
      {"ph": "M"}], "baseTimeNanoseconds": 17, "b": [1, {"c": "}"}]
      , "traceName" : "x]}" })");
  EXPECT_EQ(trace.columns.size(), 1u);
  ASSERT_EQ(trace.metadata.size(), 4u);
  EXPECT_EQ(trace.metadata[0].first, "a");
  EXPECT_EQ(trace.metadata_json("a"), R"({"traceEvents": [1]})");
  EXPECT_EQ(trace.metadata_json("baseTimeNanoseconds"), "17");
  EXPECT_EQ(trace.metadata_json("b"), R"([1, {"c": "}"}])");
  EXPECT_EQ(trace.metadata_json("traceName"), R"("x]}")");
  EXPECT_EQ(trace.metadata_json("none"), "");
  EXPECT_EQ(trace.path, "<bytes>");
}

TEST(Forms, RepeatedMetadataKeepsTheLast) {
  const Trace trace = load_bytes(R"({"a": 1, "traceEvents": [], "a": 2})");
  EXPECT_EQ(trace.metadata_json("a"), "2");
  EXPECT_EQ(trace.metadata.size(), 1u);
  EXPECT_EQ(warned(trace, "duplicate_key"), 1u);
}

TEST(Forms, EscapedKeyOfTheEvents) {
  EXPECT_EQ(load_bytes(R"({"trace\u0045vents": [{"ph": "M"}]})").columns.size(), 1u);
}

TEST(Forms, List) {
  EXPECT_EQ(load_bytes(R"([{"ph": "M"}, {"ph": "M"}])").columns.size(), 2u);
  EXPECT_EQ(load_bytes("[]").columns.size(), 0u);
}

TEST(Forms, UnclosedListIsLegalAndOdd) {
  for (const char* end : {"", ",", "\n", ",\n"}) {
    const std::string text = R"([{"ph": "M"}, {"ph": "M"})";
    const Trace trace = load_bytes(text + end);
    EXPECT_EQ(trace.columns.size(), 2u) << end;
    EXPECT_EQ(warned(trace, "unclosed_list"), 1u) << end;
  }
  EXPECT_EQ(refusal(R"([{"ph": "M"}, {"ph")").kind(), "truncated");
  EXPECT_EQ(refusal("[").kind(), "truncated");
}

TEST(Forms, ByteOrderMarkAndLineEnds) {
  std::string text = kineto_text(5);
  const Trace control = load_bytes(text);
  expect_same(control, load_bytes("\xEF\xBB\xBF" + text), false);
  std::string crlf;
  for (const char c : text) {
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  const Trace trace = load_bytes(crlf);
  expect_same(control, trace, false);
  EXPECT_EQ(trace.text_bytes, crlf.size());
}

TEST(Forms, NoEvents) {
  const Trace trace = load_bytes(R"({"traceEvents": []})");
  EXPECT_EQ(trace.columns.size(), 0u);
  EXPECT_TRUE(trace.warnings.empty());
  EXPECT_EQ(trace.strings.view(0), "");
}

TEST(Forms, ElementsThatAreNoEventsAreSkippedAndCounted) {
  const Trace trace = load_bytes(around(
      R"(null, 5, "text", [1, [2]], {}, {"ph": 5}, {"name": "a"}, {"ph": "M", "name": "b"})"));
  ASSERT_EQ(trace.columns.size(), 1u);
  EXPECT_EQ(trace.name(0), "b");
  EXPECT_EQ(warned(trace, "skipped_element"), 4u);
  EXPECT_EQ(warned(trace, "no_phase"), 3u);
}

TEST(Forms, OddTypesInEventsAreCounted) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "XY", "name": 5, "cat": 6, "args": [1]}, {"ph": "", "args": null},
    {"ph": "M", "cat": "new_thing"}, {"ph": "M", "cat": "new_thing"},
    {"ph": "M", "cat": "other\n"}, {"ph": "M", "cat": ""})"));
  EXPECT_EQ(trace.columns.phase[0], '?');
  EXPECT_EQ(warned(trace, "odd_phase"), 2u);
  EXPECT_EQ(warned(trace, "bad_name"), 1u);
  EXPECT_EQ(warned(trace, "bad_category"), 1u);
  EXPECT_EQ(warned(trace, "bad_args"), 1u);
  EXPECT_EQ(warned(trace, "unknown_category"), 2u);
  for (const Warning& warning : trace.warnings) {
    EXPECT_NE(warning.detail.find("first at JSON byte"), std::string::npos);
    if (warning.kind == "unknown_category") {
      EXPECT_NE(warning.detail.find("new_thing, other\\n"), std::string::npos);
    }
  }
}

TEST(Forms, DeepNestingIsBoundedNotRecursive) {
  const auto nested = [](int depth) {
    return around(R"({"ph": "M", "args": {"a": )" + std::string(depth, '[') +
                  std::string(depth, ']') + "}}");
  };
  EXPECT_EQ(load_bytes(nested(900)).columns.size(), 1u);
  EXPECT_EQ(load_bytes(nested(1020)).columns.size(), 1u);
  EXPECT_EQ(refusal(nested(1021)).kind(), "too_deep");
  EXPECT_EQ(refusal(nested(1'000'000)).kind(), "too_deep");
  std::string objects;
  for (int i = 0; i < 900; ++i) objects += R"({"a": )";
  objects += "1" + std::string(900, '}');
  EXPECT_EQ(
      load_bytes(around(R"({"ph": "M", "args": )" + objects + "}")).columns.size(), 1u);
}

TEST(Forms, LargeSingleItems) {
  const std::string name(3'000'000, 'n');
  const std::string backslashes(2'000'000, '\\');
  std::string args;
  for (int i = 0; i < 100'000; ++i) args += "\"k" + std::to_string(i) + "\": 1, ";
  const Trace trace = load_bytes(around(
      "{\"ph\": \"M\", \"name\": \"" + name + "\"}, {\"ph\": \"M\", \"args\": {" +
      args + "\"correlation\": 5}}, {\"ph\": \"M\", \"name\": \"" + backslashes +
      "\"}"));
  ASSERT_EQ(trace.columns.size(), 3u);
  EXPECT_EQ(trace.name(0), name);
  EXPECT_EQ(trace.columns.correlation[1], 5);
  EXPECT_EQ(trace.name(2).size(), 1'000'000u);
}

TEST(Forms, AnIdentityThatTheTraceDoesNotHaveIsRefused) {
  const Trace trace =
      load_bytes(around(R"({"ph": "M", "name": "b", "pid": "Spans", "tid": -7})"));
  EXPECT_EQ(trace.identity(trace.columns.pid[0]), "Spans");
  EXPECT_EQ(trace.identity(trace.columns.tid[0]), "-7");
  EXPECT_EQ(trace.identity(kTextIdentity), "");  // id 0 is the empty text
  const auto size = static_cast<std::int64_t>(trace.strings.size());
  EXPECT_NO_THROW(trace.identity(kTextIdentity + size - 1));
  for (const std::int64_t id :
       {kTextIdentity + size, kTextIdentity + (std::int64_t{1} << 33),
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THROW(trace.identity(id), std::out_of_range) << id;
  }
}

}  // namespace
}  // namespace tta::trace
