// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_refusals.cpp: what is refused, by which word, and where.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "trace/document.h"
#include "trace/samples.h"
#include "trace/source.h"

namespace tta::trace {
namespace {

TEST(Refusals, NameWhatTheFileIs) {
  const std::string utf16 = std::string("\xFF\xFE{\0", 4);
  const struct {
    std::string bytes;
    const char* kind;
  } cases[] = {
      {"", "empty"},
      {"  \n\t ", "empty"},
      {std::string(100'000, '\0'), "empty"},
      {"\xEF\xBB\xBF", "empty"},
      {gzip(""), "empty"},
      {std::string("PK\x03\x04rest"), "zip"},
      {std::string("\x28\xB5\x2F\xFDrest"), "zstd"},
      {utf16, "utf16"},
      {std::string("{\0\"\0", 4), "utf16"},
      {"<!DOCTYPE html><html>", "html"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "git_lfs"},
      {"\x80\x04\x95", "pickle"},
      {"traceEvents", "not_json"},
      {"5", "not_json"},
      {gzip(gzip("[]")), "nested_gzip"},
      {R"({"schema": "1.1.1", "nodes": []})", "not_a_trace"},
      {R"({"segments": [], "device_traces": []})", "not_a_trace"},
      {R"({})", "not_a_trace"},
      {R"({"traceEvents": null})", "not_a_trace"},
      {R"({"traceEvents": {"a": [1]}})", "not_a_trace"},
      {R"({"traceEvents": "text", "b": 1})", "not_a_trace"},
      {R"({"traceEvents": 5})", "not_a_trace"},
      {R"([1, 2, 3])", "not_a_trace"},
      {R"({"ph": "X"})"
       "\n"
       R"({"ph": "X"})",
       "not_a_trace"},
      {R"({"traceEvents": [], "traceEvents": []})", "two_event_lists"},
      {R"({"traceEvents": []} {"traceEvents": []})", "trailing_content"},
      {R"({"traceEvents": []} x)", "trailing_content"},
      {std::string("{\"traceEvents\": []}\0\0", 21), "trailing_content"},
      {R"([{"ph": "M"}]])", "trailing_content"},
      {R"({"traceEvents": [{"ph": "M"},]})", "invalid_json"},
      {R"({"traceEvents": [{"ph": "M",}]})", "invalid_json"},
      {R"({"traceEvents": [,]})", "invalid_json"},
      {R"({"traceEvents": [{"ph": "M"} {"ph": "M"}]})", "invalid_json"},
      {R"({"traceEvents": [{"ph" "M"}]})", "invalid_json"},
      {R"({"traceEvents": [{"ph":: "M"}]})", "invalid_json"},
      {R"({"traceEvents": [{ph: "M"}]})", "invalid_json"},
      {R"({'traceEvents': []})", "invalid_json"},
      {R"({"traceEvents": [{"ph": "M", "args": {"a": [1, 2}}}]})", "invalid_json"},
      {R"({"traceEvents": [], "a": 'x'})", "invalid_json"},
      {R"({"traceEvents": [], "a": // no
          1})",
       "invalid_json"},
      {R"({"traceEvents": [] "a": 1})", "invalid_json"},
      {R"({"traceEvents": [/* no */]})", "invalid_json"},
      {R"({"traceEvents": []], "a": 1})", "invalid_json"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(refusal(each.bytes).kind(), each.kind) << each.bytes.substr(0, 80);
  }
}

TEST(Refusals, SayWhere) {
  const std::string text = around(R"({"ph": "M"}, {"ph": "M", "args": {"a": 'b'}})");
  const TraceError error = refusal(text);
  EXPECT_EQ(error.offset(), static_cast<std::int64_t>(text.find("'b'")));
  EXPECT_EQ(error.event(), 1);
  EXPECT_EQ(error.path(), "<bytes>");
  const std::string message = error.what();
  EXPECT_TRUE(says(message, "expected a value, found single quotes"));
  EXPECT_TRUE(says(message, "traceEvents[1]"));
  EXPECT_EQ(error.line(), 1);
  EXPECT_TRUE(says(message, "at JSON byte 76 (line 1)"));
  EXPECT_TRUE(says(message, R"("args": {"a":  >>>'b'}}]})"));
  // Also where the mistake is in the header or after the events.
  EXPECT_EQ(refusal(R"({"a": 'x', "traceEvents": []})").event(), -1);
  EXPECT_EQ(refusal(R"({"traceEvents": [{"ph": "M"}], "a": 'x'})").event(), -1);
}

TEST(Refusals, UnescapedQuotesAndPathsOfOldTorch) {
  const std::string start = R"({"ph": "M"}, {"ph": "X", "name": )";
  const TraceError quote =
      refusal(around(start + R"x("Library("_inductor_test", "IMPL")"})x"));
  EXPECT_EQ(quote.kind(), "invalid_json");
  EXPECT_EQ(quote.event(), 1);
  const TraceError path = refusal(around(start + R"("torch\cuda\__init__.py"})"));
  EXPECT_EQ(path.kind(), "bad_escape");
  EXPECT_EQ(path.event(), 1);
  const TraceError control = refusal(around(start + "\"a\nb\"}"));
  EXPECT_EQ(control.kind(), "control_character");
  EXPECT_EQ(control.event(), 1);
  const TraceError utf8 = refusal(around(start + "\"caf\xe9\"}"));
  EXPECT_EQ(utf8.kind(), "bad_utf8");
  EXPECT_EQ(utf8.event(), 1);
}

TEST(Refusals, BadUtf8OfEveryKind) {
  for (const char* bytes :
       {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80",
        "\xF0\x80\x80\x80", "\xC3(", "\xE2\x82(", "\xF4\x90\x80\x80"}) {
    const std::string text =
        around(std::string("{\"ph\": \"M\", \"name\": \"") + bytes + "\"}");
    EXPECT_EQ(refusal(text).kind(), "bad_utf8") << text;
  }
}

TEST(Refusals, CutAtEveryByte) {
  const std::string text = kineto_text(4);
  const std::size_t end = text.rfind('}') + 1;
  for (const std::size_t window :
       {std::size_t{64}, std::size_t{300}, std::size_t{1} << 20}) {
    LoadOptions options;
    options.window_bytes = window;
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      const std::string part = text.substr(0, cut);
      if (cut >= end) {
        EXPECT_EQ(load_bytes(part, options).columns.size(), 4u);
        continue;
      }
      const TraceError error = refusal(part, options);
      const bool blank = cut <= text.find('{');
      EXPECT_EQ(error.kind(), blank ? "empty" : "truncated") << cut << error.what();
      if (blank) continue;
      EXPECT_EQ(error.offset(), static_cast<std::int64_t>(cut));
      // Whole events are those whose last brace is there.
      std::int64_t whole = 0;
      for (std::size_t at = 0; (at = part.find("\n  }", at)) != part.npos; ++at)
        ++whole;
      const std::string words = "after " + std::to_string(whole) + " whole events";
      EXPECT_TRUE(says(error.what(), words));
    }
  }
}

TEST(Refusals, SayTheLineAndWhatToDo) {
  const std::string text = kineto_text(5);
  const struct {
    std::string bytes;
    const char* kind;
    std::int64_t line;
    const char* hint;
  } cases[] = {
      {std::string(text).replace(text.find("\"ts\""), 1, ""), "invalid_json", 12,
       "two processes"},
      {std::string(text).replace(text.find("void"), 1, "\\q"), "bad_escape", 11,
       "double that backslash"},
      {std::string(text).replace(text.find("void"), 1, "\n"), "control_character", 11,
       "Escape it"},
      {std::string(text).replace(text.find("void"), 1, "\xff"), "bad_utf8", 11,
       "UTF-8"},
      {text.substr(0, text.find("void")), "truncated", 11, "recover=True, --recover"},
      {text + "{", "trailing_content", 1 + std::count(text.begin(), text.end(), '\n'),
       "two processes"},
      {gzip(std::string(text).replace(text.find("void"), 1, "\n")), "control_character",
       11, "Escape it"},
  };
  for (const auto& each : cases) {
    const TraceError error = refusal(each.bytes);
    EXPECT_EQ(error.kind(), each.kind);
    EXPECT_EQ(error.line(), each.line) << error.what();
    EXPECT_TRUE(says(error.hint(), each.hint));
    EXPECT_NE(std::string(error.what()).find("(line "), std::string::npos);
  }
  const std::string wrong = refusal(cases[1].bytes).what();
  EXPECT_NE(wrong.find(R"("name": " >>>\qoid f<0>(int)"), std::string::npos) << wrong;
  EXPECT_EQ(refusal("").line(), -1);
  EXPECT_EQ(refusal(gzip(text).substr(0, 100)).line(), -1);
}

TEST(Refusals, Utf16WithoutAMark) {
  for (const char* start : {"{", "\n{", "\r\n  [", "\n\n{\n"}) {
    for (const bool big : {false, true}) {
      std::string wide;
      for (const char c : std::string(start) + "\"traceEvents\": []") {
        wide += big ? std::string{'\0', c} : std::string{c, '\0'};
      }
      EXPECT_EQ(refusal(wide).kind(), "utf16") << start;
    }
  }
}

TEST(Refusals, MoreRowsThanThereAreNumbers) {
  const std::string text = kineto_text(20);
  for (const std::uint64_t most : {19u, 20u}) {
    Trace trace;
    trace.path = "many.json";
    Document document(trace, {}, {.rows = most});
    const auto source = Source::memory(text, {});
    const auto reader = source->open();
    TextWindowReader windows(*reader, 1000);
    const auto walk = [&] {
      for (std::size_t used = 0;;) {
        const TextWindow& window = windows.next(used);
        used = document.walk(window);
        if (window.last) return;
      }
    };
    if (most == 20) {
      EXPECT_NO_THROW(walk());
      continue;
    }
    try {
      walk();
      ADD_FAILURE();
    } catch (const TraceError& error) {
      EXPECT_EQ(error.kind(), "too_many_events");
      EXPECT_EQ(error.event(), 19);
    }
  }
}

TEST(Refusals, HostileBytesAreShownEscaped) {
  const TraceError error = refusal(around("{\"ph\": \x1b[31m\xe2\x80\xae}"));
  EXPECT_EQ(error.kind().empty(), false);
}

TEST(Refusals, FilesThatAreNone) {
  EXPECT_THROW(load_file("/nonexistent/trace.json"), FileNotFound);
  try {
    load_file("/tmp");
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_EQ(error.kind(), "folder");
  }
  try {
    load_file("/dev/null");
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_EQ(error.kind(), "not_a_file");
  }
}

}  // namespace
}  // namespace tta::trace
