// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_threads.cpp: bit by bit one result, however many threads load.
#include <fstream>
#include <iterator>

#include "support/outcome.h"
#include "trace/samples.h"

namespace tta::trace {
namespace {

std::string read_whole(const std::string& name) {
  std::ifstream file(std::string(TTA_TEST_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Loads in every way and compares with one thread and one window.
void expect_one_outcome(const std::string& bytes) {
  LoadOptions plain;
  plain.threads = 1;
  const test::Outcome control = test::load_outcome(bytes, plain);
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{700}, std::size_t{9000}, std::size_t{1} << 20}) {
      for (const std::size_t window : {std::size_t{100}, std::size_t{256} << 10}) {
        LoadOptions options;
        options.threads = threads;
        options.block_bytes = block;
        options.window_bytes = window;
        const test::Outcome outcome = test::load_outcome(bytes, options);
        EXPECT_EQ(test::difference(control, outcome), "")
            << threads << " threads, blocks of " << block << ", windows of " << window;
      }
    }
  }
}

void expect_one_outcome_plain_and_gzip(const std::string& text) {
  expect_one_outcome(text);
  expect_one_outcome(gzip(text));
}

// Puts events in place of those of kineto_text().
std::string kineto_around(const std::string& events) {
  return "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n" + events + "\n  ]\n}\n";
}

std::string many(int count, const std::string& event) {
  std::string events;
  for (int i = 0; i < count; ++i) {
    if (i > 0) events += ",\n";
    events += event;
  }
  return events;
}

constexpr const char* kEvent =
    "  {\n    \"ph\": \"X\", \"name\": \"f\", \"ts\": 1, \"dur\": 2\n  }";

class RealTraces : public testing::TestWithParam<const char*> {};

TEST_P(RealTraces, LoadAlike) {
  const std::string bytes = read_whole(GetParam());
  ASSERT_FALSE(bytes.empty());
  expect_one_outcome(bytes);
}

INSTANTIATE_TEST_SUITE_P(Threads, RealTraces,
                         testing::Values("a100-event-sync-3streams-tiny.json.gz",
                                         "kineto2021-computeProperties-tiny.json.gz",
                                         "mi250-rocm62-tiny.json.gz",
                                         "mi300-torch-compile-triton.json.gz",
                                         "old-catnames-tiny-no-schema.json.gz",
                                         "truncated-handmade-no-schema.json.gz"));

TEST(Threads, KinetoLayout) { expect_one_outcome_plain_and_gzip(kineto_text(200)); }

TEST(Threads, ListFormAndCompactLayout) {
  std::string list = "[";
  for (int i = 0; i < 300; ++i) {
    if (i > 0) list += ',';
    const std::string n = std::to_string(i);
    list += R"({"ph":"X","pid":")" + std::string(i % 3 ? "p" : "q") + R"(","tid":)" +
            n + R"(,"name":"n)" + std::to_string(i % 50) + R"(","ts":)" + n +
            R"(.5,"dur":1,"args":{"correlation":)" + n + "}}";
  }
  expect_one_outcome_plain_and_gzip(list + "]");
  expect_one_outcome(list);  // an open list is allowed, and warned of
  expect_one_outcome(list + ",");
  expect_one_outcome("{\"traceEvents\":" + list + "],\"traceName\":\"x\"}");
}

TEST(Threads, NamesGetTheirNumbersInFileOrder) {
  std::string events;
  for (int i = 0; i < 400; ++i) {
    if (i > 0) events += ",\n";
    events += "  {\n    \"ph\": \"X\", \"name\": \"\\u00e9\\n" +
              std::to_string(i * i % 83) + "\", \"pid\": \"a" + std::to_string(i % 7) +
              "\", \"tid\": \"\\ud83d\\ude00" + std::to_string(i % 11) +
              "\", \"ts\": " + std::to_string(i) + ", \"dur\": 2\n  }";
  }
  const std::string text = kineto_around(events);
  expect_one_outcome_plain_and_gzip(text);
  const Trace trace = load_bytes(text);
  EXPECT_EQ(trace.name(3), "\xC3\xA9\n9");
  EXPECT_EQ(trace.identity(trace.columns.tid[12]),
            "\xF0\x9F\x98\x80"
            "1");
}

TEST(Threads, WarningsKeepTheirFirstPlace) {
  std::string events = many(150, kEvent);
  for (const char* odd :
       {R"(  {"ph": "X", "cat": "alpha", "ts": "7", "dur": -1})",
        R"(  {"ph": "X", "cat": "beta", "name": 5, "tid": {}, "ts": 1, "ts": 2})",
        "  null, 7, [[], {}]", R"(  {"ph": "X", "cat": "alpha", "name": "\ud800"})",
        R"(  {"cat": "gamma", "pid": [1], "args": 5})"}) {
    events += std::string(",\n") + odd + ",\n" + many(90, kEvent);
  }
  expect_one_outcome_plain_and_gzip(kineto_around(events));
  EXPECT_GE(load_bytes(kineto_around(events)).warnings.size(), 8u);
}

TEST(Threads, DamageIsFoundAtTheSameByte) {
  for (const char* damage :
       {"  {\n    \"ph\": \"X\", \"ts\": {1}\n  }", "  {\n    \"ph\": \"X\",\n  }",
        "  {\n    \"ph\" \"X\"\n  }", "  ,", "  {\n    \"name\": \"C:\\new\\x\"\n  }",
        "  {\n    \"name\": \"\x01\"\n  }", "  {\n    \"name\": \"\xFF\"\n  }",
        "  {\n    \"name\": \"\n  }", "  ]", "  }",
        "  {\n    \"args\": {\n  },\n  {\n    \"ph\": 1}\n  }"}) {
    const std::string text =
        kineto_around(many(120, kEvent) + ",\n" + damage + ",\n" + many(80, kEvent));
    const test::Outcome outcome = test::load_outcome(text);
    EXPECT_FALSE(outcome.trace) << damage;
    EXPECT_EQ(outcome.event, 120) << damage << outcome.message;
    expect_one_outcome_plain_and_gzip(text);
  }
}

TEST(Threads, DecoyBordersInsideEventsAreNone) {
  // What stands between two events, in nested lists of args and in a string.
  const std::string decoy =
      "  {\n    \"ph\": \"X\", \"name\": \"f\", \"ts\": 1, \"dur\": 2,\n    \"args\": "
      "{\n"
      "      \"list\": [\n" +
      many(40, kEvent) + "],\n      \"s\": \"},\\n  {\\n    \\\"ph\"\n    }\n  }";
  const std::string text = kineto_around(many(30, kEvent) + ",\n" + many(25, decoy) +
                                         ",\n" + many(30, kEvent));
  EXPECT_EQ(load_bytes(text).columns.size(), 85u);
  expect_one_outcome_plain_and_gzip(text);
}

TEST(Threads, WhatFollowsTheEventsIsSeen) {
  const std::string events = many(200, kEvent);
  const std::string list = "\"traceEvents\": [\n" + events + "\n  ]";
  // Members behind the list, also one that looks like events.
  expect_one_outcome_plain_and_gzip("{\n" + list + ",\n  \"other\": [\n" + events +
                                    "\n  ],\n  \"traceName\": \"x\"\n}\n");
  // A second list, content after the end, and an end too early.
  for (const std::string& end : std::initializer_list<std::string>{
           ",\n" + list + "}", "}}", "}\n{" + list + "}", "", ", \"a\": ]}"}) {
    const std::string text = "{\n" + list + end;
    EXPECT_FALSE(test::load_outcome(text).trace) << end;
    expect_one_outcome_plain_and_gzip(text);
  }
}

TEST(Threads, RowsThatAreNotKeptAreCounted) {
  const std::string text = kineto_text(300);
  LoadOptions options;
  options.keep.categories = std::uint64_t{1} << static_cast<int>(Category::kKernel);
  const Trace control = load_bytes(text, options);
  EXPECT_EQ(control.columns.size(), 100u);
  EXPECT_EQ(control.left_out, 200u);
  options.threads = 3;
  options.block_bytes = 1000;
  EXPECT_EQ(test::difference(control, load_bytes(text, options)), "");
}

TEST(Threads, WhatProgressThrowsComesOut) {
  struct Stop {};
  LoadOptions options;
  options.block_bytes = 1000;
  options.window_bytes = 100;
  options.progress = [](const LoadProgress&) { throw Stop(); };  // Ten times a second.
  const std::string text = kineto_text(300'000);
  for (const unsigned threads : {1u, 2u, 8u}) {
    options.threads = threads;
    EXPECT_THROW(load_bytes(text, options), Stop);
  }
}

}  // namespace
}  // namespace tta::trace
