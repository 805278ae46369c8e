// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_args.cpp: single values of raw args, sound and hostile, and args
// visited one by one.
#include "trace/args.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "trace/samples.h"

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

}  // namespace
}  // namespace tta::trace
