// SPDX-License-Identifier: BSD-3-Clause
// Single values of raw args, sound and hostile, args visited one by one; which args are
// kept from the load, in how many texts; and names.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trace/args.h"
#include "trace/args_kept.h"
#include "trace/error.h"
#include "trace/escapes.h"
#include "trace/printable.h"
#include "trace/samples.h"
#include "trace/trace.h"

namespace tta::trace {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Members members(std::string_view object) {
  Members out;
  for_each_member(object, [&](auto key, auto value) { out.emplace_back(key, value); });
  return out;
}

std::vector<std::string> elements(std::string_view array) {
  std::vector<std::string> out;
  for_each_element(array, [&](auto element) { out.emplace_back(element); });
  return out;
}

TEST(Args, MembersComeInOrderWithTheirRawValues) {
  EXPECT_EQ(members(R"( { "a" : 1 , "b": "x, \"y\"}", "c": {"d": [1, {"e": "]"}]},
                          "a": null } )"),
            (Members{{"a", "1"},
                     {"b", R"("x, \"y\"}")"},
                     {"c", R"({"d": [1, {"e": "]"}]})"},
                     {"a", "null"}}));
  EXPECT_TRUE(members("{}").empty());
}

TEST(Args, WhatIsNoObjectHasNoMembers) {
  for (const auto* text : {"", " ", "[1]", "5", "\"{}\"", "null", "{", "{5: 1}"}) {
    EXPECT_TRUE(members(text).empty()) << text;
  }
  // What is broken ends the walk; what came before it is given.
  EXPECT_EQ(members(R"({"a": 1, "b)"), (Members{{"a", "1"}}));
  EXPECT_EQ(members(R"({"a": 1, "b")"), (Members{{"a", "1"}}));
  EXPECT_EQ(members(R"({"a": 1, "b":)"), (Members{{"a", "1"}}));
  EXPECT_EQ(members(R"({"a": 1, "b": [1, 2)"), (Members{{"a", "1"}}));
  EXPECT_EQ(members(R"({"a": 1 "b": 2})"), (Members{{"a", "1"}}));
}

TEST(Args, ElementsComeInOrder) {
  EXPECT_EQ(elements(R"( [1, [2, 3] ,"a]", {"b": ","} ] )"),
            (std::vector<std::string>{"1", "[2, 3]", "\"a]\"", R"({"b": ","})"}));
  for (const auto* text : {"", "[", "[]", "{}", "7", "\"[1]\"", "[,1]"}) {
    EXPECT_TRUE(elements(text).empty()) << text;
  }
  EXPECT_EQ(elements("[1 2]"), (std::vector<std::string>{"1"}));
  EXPECT_EQ(elements("[1, [2"), (std::vector<std::string>{"1"}));
}

TEST(Args, NestAsDeepAsTheyLike) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(elements(deep).at(0).size(), deep.size() - 2);
  EXPECT_EQ(members("{\"a\": " + deep + "}").at(0).second.size(), deep.size());
}

TEST(Args, AStringEndsAtItsQuoteWhereverThatIs) {
  for (std::size_t length = 0; length < 40; ++length) {
    for (std::size_t escape = 0; escape <= length; ++escape) {
      auto text = '"' + std::string(length, 'x');
      text.insert(1 + escape, escape % 2 == 0 ? R"(\")" : R"(\\)");
      EXPECT_EQ(value_length(text), 0u) << text;
      text += '"';
      for (const auto* rest : {"", ",", R"("")", "0123456789"}) {
        EXPECT_EQ(value_length(text + rest), text.size()) << text << rest;
      }
    }
  }
}

TEST(Args, IntegersAreExactOrNone) {
  EXPECT_EQ(as_int("42"), 42);
  EXPECT_EQ(as_int("-7"), -7);
  EXPECT_EQ(as_int("\"42\""), 42);
  EXPECT_EQ(as_int("5.0"), 5);
  EXPECT_EQ(as_int("5e2"), 500);
  EXPECT_EQ(as_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(as_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(as_int("9007199254740993"), 9007199254740993);
  for (const auto* text :
       {"", "\"\"", "\"", "1.5", "9223372036854775808", "1e300", "-1e300", "true",
        "null", "[1]", "{}", "\"nan\"", "\"inf\"", "\" 4\"", "\"4 \"", "0x10", "+4"}) {
    EXPECT_EQ(as_int(text), std::nullopt) << text;
  }
}

TEST(Args, NumbersAreFiniteOrNone) {
  EXPECT_EQ(as_double("0.25"), 0.25);
  EXPECT_EQ(as_double("\"0.25\""), 0.25);
  EXPECT_EQ(as_double("-1e-3"), -0.001);
  for (const auto* text : {"", "\"\"", "\"", "\"1", "nan", "\"inf\"", "\"-nan\"",
                           "1e999", "[1]", "null", "\"1,5\"", "\"\"1\"\""}) {
    EXPECT_EQ(as_double(text), std::nullopt) << text;
  }
}

TEST(Args, StringsAreUnescapedAndNothingElseIsOne) {
  EXPECT_EQ(as_string(R"("a\n\t\"\\\/A\u0041\u00e9\u20ac")"),
            "a\n\t\"\\/AA\u00e9\u20ac");
  EXPECT_EQ(as_string(R"("\ud83d\ude00")"), "\ufffd\ufffd");
  EXPECT_EQ(as_string("\"\""), "");
  EXPECT_EQ(as_string(R"("\u00")"), "\ufffd");  // never beyond the text
  for (const auto* text : {"", "\"", "5", "null", "[\"a\"]", "\"abc"}) {
    EXPECT_EQ(as_string(text), std::nullopt) << text;
  }
}

TEST(Args, AKeyIsFoundAtTheTopOnlyAndFirstCounts) {
  const std::string_view text = R"({"in": {"n": 1}, "n": 2, "n": 3, "s": "n"})";
  EXPECT_EQ(int_arg(text, "n"), 2);
  EXPECT_EQ(string_arg(text, "s"), "n");
  EXPECT_EQ(string_arg(text, "n"), std::nullopt);
  EXPECT_EQ(raw_arg(text, "in"), R"({"n": 1})");
  EXPECT_EQ(raw_arg(text, "none"), "");
}

TEST(VisitArgs, GivesRowsInTheOrderOfTheFileAndRepeatsThem) {
  const Trace trace = load_bytes(around(R"({"ph": "M", "args": {"a": 0}}, {"ph": "M"},
      {"ph": "M", "args": {"a": 2}}, {"ph": "M", "args": {"a": 3}})"));
  const std::vector<std::uint32_t> rows = {3, 1, 0, 3, 2};
  std::vector<std::pair<std::size_t, std::string>> seen;
  trace.visit_args(
      rows, [&](std::size_t i, std::string_view text) { seen.emplace_back(i, text); });
  EXPECT_EQ(seen,
            (std::vector<std::pair<std::size_t, std::string>>{{2, R"({"a": 0})"},
                                                              {4, R"({"a": 2})"},
                                                              {0, R"({"a": 3})"},
                                                              {3, R"({"a": 3})"}}));
}

TEST(VisitArgs, ReadsArgsThatOutgrowItsBuffer) {
  const std::string big(700'000, 'x');  // the buffer has 256 KiB
  const Trace trace = load_bytes(gzip(around(R"({"ph": "M", "args": {"a": ")" + big +
                                             R"("}}, {"ph": "M", "args": {"b": 1}})")));
  std::vector<std::size_t> sizes;
  trace.visit_args(
      std::vector<std::uint32_t>{0, 1},
      [&](std::size_t, std::string_view text) { sizes.push_back(text.size()); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{big.size() + 9, 8}));
}

TEST(VisitArgs, RefusesRowsThatAreNoneBeforeItVisitsAny) {
  const Trace trace = load_bytes(around(R"({"ph": "M", "args": {}})"));
  int visits = 0;
  const auto count = [&](std::size_t, std::string_view) { ++visits; };
  EXPECT_THROW(trace.visit_args(std::vector<std::uint32_t>{0, 1}, count),
               std::invalid_argument);
  EXPECT_EQ(visits, 0);
  trace.visit_args({}, count);
  EXPECT_EQ(visits, 0);
}

TEST(VisitArgs, LetsOutWhatTheVisitorThrowsAndCanBeAskedAgain) {
  const Trace trace = load_bytes(around(R"({"ph": "M", "args": {"a": 1}})"));
  const std::vector<std::uint32_t> rows = {0};
  EXPECT_THROW(trace.visit_args(rows,
                                [](std::size_t, std::string_view) {
                                  throw std::out_of_range("enough");
                                }),
               std::out_of_range);
  EXPECT_EQ(trace.read_args(rows).at(0), R"({"a": 1})");
}

std::string event(const std::string& category, const std::string& args) {
  return R"({"ph":"X","cat":")" + category +
         R"(","name":"n","pid":1,"tid":1,"ts":1,"dur":1,"args":{)" + args + "}}";
}

Trace load(const std::vector<std::string>& events, const LoadOptions& options = {}) {
  std::string text = R"({"traceEvents":[)";
  for (const auto& each : events) text += each + ",\n  ";
  return load_bytes(text + event("kernel", "") + "]}", options);
}

bool kept(std::string key) {
  key = '"' + key + '"';
  key.resize(std::max<std::size_t>(8, key.size()), ':');
  return is_kept(key.data());
}

TEST(KeptArgs, AreToldByTheirKeys) {
  for (const auto key : kKeptKeys) EXPECT_TRUE(kept(std::string(key))) << key;
  for (const auto* key :
       {"", "g", "gri", "grids", "grit", "Grid", "graph node id", "External id",
        "correlation", "Input", "bytes2", "sizes", "Sequence number", "In", "queued"}) {
    EXPECT_FALSE(kept(key)) << key;
  }
}

TEST(KeptArgs, AreKeptOnceATextAndOfRowsThatMatter) {
  const auto trace = load({
      event("kernel", R"("queued":0,"grid": [1, 2, 3],"correlation":1,"block":[4])"),
      event("kernel", R"("queued":7,"grid": [1, 2, 3],"correlation":2,"block":[4])"),
      event("python_function", R"("grid":[1])"),
      event("cuda_runtime", R"("cbid":3)"),
      event("cpu_op", R"("Input Dims":[[1]],"Ev Idx":1)"),
  });
  const auto& args = trace.kept_args;
  ASSERT_TRUE(args.complete());
  EXPECT_EQ(args.rows(), (std::vector<std::uint32_t>{0, 1, 4}));
  EXPECT_EQ(args.texts(), (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(args.text(1), R"({"grid": [1, 2, 3],"block":[4]})");
  EXPECT_EQ(args.text(2), R"({"Input Dims":[[1]]})");
}

TEST(KeptArgs, AreTheSameFromAnyNumberOfThreads) {
  std::vector<std::string> events;
  for (int i = 0; i < 4000; ++i) {
    const auto args = R"("correlation":)" + std::to_string(i) +
                      (i % 3 == 0 ? "" : R"(,"bytes":)" + std::to_string(i % 50));
    events.push_back(event("kernel", args));
  }
  LoadOptions options;
  options.threads = 1;
  const auto one = load(events, options);
  options.window_bytes = 512;
  options.block_bytes = 4096;
  options.threads = 4;
  const auto many = load(events, options);
  ASSERT_TRUE(one.kept_args.complete());
  ASSERT_TRUE(many.kept_args.complete());
  EXPECT_EQ(one.kept_args.size(), 51u);
  EXPECT_EQ(one.kept_args.rows(), many.kept_args.rows());
  ASSERT_EQ(one.kept_args.texts().size(), many.kept_args.texts().size());
  for (std::size_t i = 0; i < one.kept_args.texts().size(); ++i) {
    EXPECT_EQ(one.kept_args.text(one.kept_args.texts()[i]),
              many.kept_args.text(many.kept_args.texts()[i]));
  }
}

TEST(KeptArgs, AreGivenUpWhereLittleRepeats) {
  KeptArgs args;
  const std::string padding(1000, ' ');
  constexpr std::uint64_t kRead = 16 << 20;  // a sixteenth of it is 1 MiB
  std::uint32_t row = 0;
  while (args.complete() && row < 5000) {
    args.add(row, std::to_string(row) + padding, kRead);
    ++row;
  }
  EXPECT_FALSE(args.complete());
  EXPECT_TRUE(args.rows().empty());
  EXPECT_NEAR(row, ((1 << 20) + (64 << 10)) / 1004, 2);
}

TEST(KeptArgs, OfAFileWithBadValuesAreNotKept) {
  const auto trace = load({event("kernel", R"("grid":[1, NaN, 3])")});
  EXPECT_FALSE(trace.kept_args.complete());
  EXPECT_EQ(kept_members(R"({"a":1,"grid" : [1, null],"size":"2", "b":[2]})"),
            R"({"grid":[1, null],"size":"2"})");
  EXPECT_EQ(kept_members(R"({"a":1})"), "");
}

TEST(StringPool, NumbersInOrderOfAppearance) {
  StringPool pool;
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.view(0), "");
  EXPECT_EQ(pool.intern(""), 0u);
  EXPECT_EQ(pool.find("a"), -1);
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    ASSERT_EQ(pool.intern("name " + std::to_string(i)), i);
  }
  const std::string_view early = pool.view(17);
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    ASSERT_EQ(pool.intern("name " + std::to_string(i)), i);
    ASSERT_EQ(pool.find("name " + std::to_string(i)), i);
  }
  EXPECT_EQ(early, "name 17");
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved.find("name 4000"), 4000);
  EXPECT_EQ(early.data(), moved.view(17).data());
}

TEST(StringPool, TellsTextsOfEveryLengthApart) {
  StringPool pool;
  for (std::size_t length = 1; length < 70; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = '\0';
      const std::uint32_t id = pool.intern(text);
      EXPECT_EQ(pool.view(id), text);
      EXPECT_EQ(id + 1, pool.size());
    }
  }
}

TEST(Printable, IsPlainAscii) {
  EXPECT_EQ(printable("a\n\t\x1b[31m\xe2\x80\xae"), "a\\n\\t\\x1b[31m\\xe2\\x80\\xae");
  EXPECT_EQ(printable(std::string(100, 'y'), 5), "yyyyy...");
}

TEST(TraceError, KeepsItsParts) {
  const TraceError error("invalid_json", "a\nb.json", "expected 'x'", "Fix it.", 5, 2);
  EXPECT_STREQ(error.what(),
               "a\\nb.json: expected 'x', at JSON byte 5, traceEvents[2]. Fix it.");
  EXPECT_EQ(error.path(), "a\nb.json");
  const TraceError gzip("gzip_damaged", "t.gz", "damaged", "Copy it.", 7);
  EXPECT_STREQ(gzip.what(),
               "t.gz: damaged, at byte 7 of the compressed file. Copy it.");
  const std::string huge(100'000, 'z');
  EXPECT_LE(std::string(TraceError(huge, huge, huge, huge, 1, 1).what()).size(), 2000u);
}

TEST(Escapes, AreCheckedAndResolved) {
  EXPECT_EQ(unescape(R"(a\\\"\/\b\f\n\r\tz)"), "a\\\"/\b\f\n\r\tz");
  EXPECT_EQ(unescape(R"(\u0041\u00E9\u6f22\uD834\uDD1E)"),
            "A\xc3\xa9\xe6\xbc\xa2\xf0\x9d\x84\x9e");
  EXPECT_EQ(check_escapes(R"(ok \n \u12aB)", 0).bad, kNowhere);
  EXPECT_EQ(check_escapes(R"(no \x)", 0).bad, 3u);
  EXPECT_EQ(check_escapes(R"(\u12g4)", 0).bad, 0u);
  EXPECT_EQ(check_escapes(R"(\u123)", 0).bad, 0u);
  EXPECT_EQ(check_escapes(R"(\ud800\u0041\udc00)", 0).lone_surrogates, 2u);
  EXPECT_EQ(check_escapes(R"(\ud800\ud800\udc00)", 0).lone_surrogates, 1u);
}

}  // namespace
}  // namespace tta::trace
