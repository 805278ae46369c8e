// SPDX-License-Identifier: BSD-3-Clause
// Recovery from damage to bytes, members, gzip; it loses no event in silence and
// invents none.
#include "trace/recover_samples.h"

namespace tta::trace {
namespace {

TEST(Recover, BytesThatAreNoUtf8ShowAsReplacements) {
  const std::string text =
      R"({"na)"
      "\xff"
      R"(me": "a)"
      "\xc3"
      R"(", "traceEvents":[)" +
      events(40,
             [](int i) {
               std::string one = event(i);
               if (i % 4 == 1)
                 one.replace(one.find("op "), 3, "caf\xe9 \xe6\xbc \\u00e9 ");
               if (i % 4 == 2)
                 one.replace(one.find("\\\"x"), 3, "\xf0\x9d\x84 \x80\x80");
               return one;
             }) +
      "]}";
  EXPECT_EQ(refusal(text).kind(), "bad_utf8");
  const Trace trace = recover(text);
  ASSERT_EQ(kept(trace), all_but(40, -1));
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(trace.name(1), "caf" + bad + " " + bad + " é 1 {é},{[");
  EXPECT_EQ(trace.name(3), "op 3 {é},{[");
  EXPECT_EQ(warned(trace, "bad_utf8"), 2u + 10 * 2 + 10 * 3);
  EXPECT_EQ(trace.warnings.size(), 1u);
  EXPECT_NE(trace.warnings[0].detail.find("byte 4)"), std::string::npos);
  EXPECT_EQ(trace.metadata_json("na" + bad + "me"), "\"a" + bad + "\"");
  const auto args = trace.read_args(std::vector<std::uint32_t>{2, 3});
  EXPECT_TRUE(says(args[0], "\"s\":\"" + bad + " " + bad + bad + "\"}"));
  EXPECT_TRUE(event(3).find(args[1]) != std::string::npos) << args[1];
  EXPECT_EQ(trace.columns.args_offset[2], text.find("{\"External id\":2,"));
}

TEST(Recover, OddCharactersOfSkippedEventsAreNotCounted) {
  const std::string text = around(events(30, [](int i) {
    std::string one = event(i);
    one.replace(one.find("op "), 3, i % 3 == 0 ? "\\ud800 \xff" : "x");
    if (i % 2 == 0) one.replace(one.find("\"dur\""), 5, "dur");
    return one;
  }));
  const Trace trace = recover(text);
  EXPECT_EQ(kept(trace).size(), 15u);
  EXPECT_EQ(warned(trace, "lone_surrogate"), 5u);
  EXPECT_EQ(warned(trace, "bad_utf8"), 5u);
  EXPECT_EQ(warned(trace, "damaged_event"), 15u);
}

TEST(Recover, DamagedMembersBeforeTheEvents) {
  for (const std::string header :
       {"\"a\": 1, \"b\": [1, 2", "\"a\": 1, \"b\" 2", "\"a\": 1, 'b': {}",
        "\"a\": 1, \"b\": \"x\ny\"", "\"a\": 1, \"b\": \"C:\\python\"",
        "\"a\": 1, \"b\": \"q\"q\"", "\"a\": 1, \"b\": {\"c\": 2",
        "\"a\": 1, \"b\": \"\\\"traceEvents\\\": [{\"x"}) {
    const std::string text =
        "{" + header + ", \"traceEvents\" : [" + events(5) + "], \"c\": 3}";
    EXPECT_NE(refusal(text).kind(), "not_a_trace");
    const Trace trace = recover(text);
    EXPECT_EQ(kept(trace), all_but(5, -1)) << header;
    EXPECT_EQ(warned(trace, "damaged_metadata"), 1u) << header;
    EXPECT_EQ(trace.warnings.size(), 1u) << header;
    EXPECT_EQ(trace.metadata_json("a"), "1") << header;
    EXPECT_EQ(trace.metadata_json("c"), "3") << header;
  }
}

TEST(Recover, WhatFollowsTheEvents) {
  const std::string list = "{\"traceEvents\": [" + events(3) + "]";
  const struct {
    const char* end;
    const char* kind;
  } cases[] = {
      {", \"a\": 1, \"b\": [1, 2}, \"c\": 3}", "damaged_metadata"},
      {" \"a\": 1}", "damaged_metadata"},
      {", \"a\": \"x\ny\"}", "damaged_metadata"},
      {", \"a\": 1", "truncated"},
      {", \"a\": 1} {\"traceEvents\": []}", "trailing_content"},
      {"}}", "trailing_content"},
      {"} \x01\xff \" \\", "trailing_content"},
  };
  for (const auto& [end, kind] : cases) {
    EXPECT_NE(refusal(list + end).kind(), "not_a_trace");
    const Trace trace = recover(list + end);
    EXPECT_EQ(kept(trace), all_but(3, -1)) << end;
    EXPECT_EQ(warned(trace, kind), 1u) << end;
    EXPECT_EQ(trace.warnings.size(), 1u) << end;
  }
  const Trace two = recover(list + ", \"traceEvents\": [" + events(2) + "], \"a\": 1}");
  EXPECT_EQ(kept(two), (std::vector<std::int64_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(warned(two, "two_event_lists"), 1u);
  EXPECT_EQ(two.metadata_json("a"), "1");
}

TEST(Recover, WhatIsNoTraceIsStillRefused) {
  const struct {
    std::string bytes;
    const char* kind;
  } cases[] = {
      {"", "empty"},
      {" \n", "empty"},
      {std::string(5000, '\0'), "empty"},
      {gzip(""), "empty"},
      {"PK\x03\x04", "zip"},
      {"hello", "not_json"},
      {"{}", "not_a_trace"},
      {R"({"traceEvents": 5})", "not_a_trace"},
      {R"({"nodes": [], "schema": 1})", "not_a_trace"},
      {R"({"nodes": [1, 2)", "not_a_trace"},
      {"{\"ph\": \"M\"}\n{\"ph\": \"M\"}", "not_a_trace"},
      {"[1, 2, 3]", "not_a_trace"},
      {"[garbage]", "not_a_trace"},
      {R"({"a": 1 "b": 2})", "invalid_json"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(refusal(each.bytes, recovering()).kind(), each.kind) << each.bytes;
  }
}

TEST(Recover, DamagedGzip) {
  const std::string text = kineto_text(300);
  const std::string good = gzip(text);
  const Trace control = load_bytes(text);
  std::string bad = good;
  bad[bad.size() - 6] ^= 1;
  const Trace checksum = load_bytes(bad, recovering());
  EXPECT_EQ(checksum.columns.ts, control.columns.ts);
  EXPECT_EQ(warned(checksum, "gzip_checksum"), 1u);
  EXPECT_EQ(checksum.warnings.size(), 1u);
  const Trace trailing = load_bytes(good + "rest", recovering());
  EXPECT_EQ(trailing.columns.ts, control.columns.ts);
  EXPECT_EQ(warned(trailing, "gzip_trailing"), 1u);
  std::size_t before = 0;
  for (std::size_t cut = 100; cut < good.size(); cut += 37) {
    const Trace part = load_bytes(good.substr(0, cut), recovering());
    EXPECT_EQ(warned(part, "gzip_truncated"), 1u) << cut;
    EXPECT_GE(part.columns.size(), before) << cut;
    before = part.columns.size();
    // Exactly the whole events of the text that came out.
    EXPECT_EQ(part.columns.size(),
              load_bytes(text.substr(0, part.text_bytes), recovering()).columns.size());
    EXPECT_TRUE(std::equal(part.columns.ts.begin(), part.columns.ts.end(),
                           control.columns.ts.begin()));
  }
  EXPECT_GT(before, 250u);
  bad = good;
  bad[bad.size() / 2] ^= 0x10;
  const Trace damaged = load_bytes(bad, recovering());
  EXPECT_EQ(warned(damaged, "gzip_damaged") + warned(damaged, "gzip_checksum"), 1u);
  EXPECT_GT(damaged.columns.size(), 50u);
}

TEST(Recover, LimitsHold) {
  LoadOptions options = recovering();
  options.max_text_bytes = 1000;
  const TraceError limit = refusal(gzip(kineto_text(50)), options);
  EXPECT_EQ(limit.kind(), "gzip_limit");
  EXPECT_TRUE(says(limit.hint(), "max_text_bytes="));
  EXPECT_TRUE(says(limit.hint(), "--max-text-bytes"));
  const std::string blanks = gzip(std::string(std::size_t{80} << 20, ' '));
  const TraceError bomb = refusal(blanks, recovering());
  EXPECT_EQ(bomb.kind(), "gzip_bomb");
  EXPECT_TRUE(says(bomb.hint(), "max_ratio="));
  EXPECT_TRUE(says(bomb.hint(), "--max-ratio"));
}

TEST(Recover, DamagedMembersBehindTheEvents) {
  const std::string first = R"({"traceEvents":[)" + small(1) + "],";
  const std::string second = R"("traceEvents":[)" + small(2) + "," + small(3) + "]";
  const Names all = {"e1", "e2", "e3"};
  const Counts two = {{"damaged_metadata", 1}, {"two_event_lists", 1}};
  for (const char* member : {R"("m":{"a" 1},)", R"("m":{"a":1,)", R"("m":[1,2},)",
                             R"("m":"q"q",)", R"("m":"C:\python",)", R"("m" 1,)"}) {
    expect_recovered(first + member + second + "}", all, two);
    expect_recovered(first + member + R"("k":1,)" + second + R"(,"z":1})", all, two);
  }
  const Trace trace = recover(first + R"("m":{"a" 1,"b":2},"c":3,"d":[4]})");
  EXPECT_EQ(names(trace), Names{"e1"});
  EXPECT_EQ(warned(trace, "damaged_metadata"), 1u);
  EXPECT_EQ(trace.warnings.size(), 1u);
  EXPECT_EQ(trace.metadata_json("b"), "");
  EXPECT_EQ(trace.metadata_json("c"), "3");
  EXPECT_EQ(trace.metadata_json("d"), "[4]");
}

TEST(Recover, AListOfEventsInsideADamagedMemberHidesNoOther) {
  const Trace trace = recover(
      R"({"a":{"b" 1,"traceEvents":[{"ph":"X","name":"WRONG"}]},"k":2,"traceEvents":[)" +
      small(1) + R"(],"z":1})");
  EXPECT_EQ(names(trace), (Names{"WRONG", "e1"}));
  EXPECT_EQ(warned(trace, "two_event_lists"), 1u);
  EXPECT_GE(warned(trace, "damaged_metadata"), 1u);
  EXPECT_EQ(warned(trace, "trailing_content"), 0u);
  EXPECT_EQ(trace.metadata_json("k"), "2");
  EXPECT_EQ(trace.metadata_json("z"), "1");
}

TEST(Recover, SaysHowManyBytesWereSkipped) {
  const auto detail = [](const std::string& text) {
    const Trace trace = recover(text);
    EXPECT_EQ(trace.warnings.size(), 1u);
    return trace.warnings.at(0).detail;
  };
  const std::string bad = R"({"ph" 1},{"name":"x"},7,"s",{"a":[]},)";
  const std::string bytes = " " + std::to_string(bad.size()) + " bytes in all";
  EXPECT_TRUE(says(detail("[" + bad + small(2) + "]"), bytes));
  EXPECT_TRUE(says(detail("[" + small(1) + ",," + small(2) + "]"), " 1 bytes in all"));
  const std::string twice =
      "[" + small(1) + ",{x}," + small(2) + ",{xyz}," + small(3) + "]";
  EXPECT_TRUE(says(detail(twice), " 10 bytes in all"));
}

TEST(Recover, ARefusalDoesNotAdviseWhatWasTried) {
  for (const std::string& text :
       {std::string(R"({"a": 1 "b": 2})"), "{\"a\":" + std::string(2000, '['),
        std::string("{\"a\":\"\\q\"}"), std::string("{\"a\":\"\xff\n\"}"),
        std::string("{\"a\":") + std::string(1500, '[') + std::string(1500, ']') + "}",
        gzip("x").substr(0, 5)}) {
    for (const bool recover : {false, true}) {
      LoadOptions options;
      options.recover = recover;
      try {
        load_bytes(text, options);
      } catch (const TraceError& error) {
        if (recover) {
          EXPECT_FALSE(says(error.hint(), "use recover"));
          EXPECT_FALSE(says(error.hint(), "--recover"));
          EXPECT_TRUE(error.hint().ends_with(".")) << error.hint();
        }
      }
    }
  }
}

TEST(Recover, GivesUpOnHostileText) {
  std::string text = R"({"traceEvents":[)";
  for (int i = 0; i < 100'000; ++i) text += R"(,{")";
  const TraceError error = refusal(text, recovering());
  EXPECT_EQ(error.kind(), "invalid_json");
  EXPECT_TRUE(says(error.what(), "recovery gave up"));
}

TEST(Recover, RandomDamageGivesTheSameHoweverItIsRead) {
  const std::string sound =
      R"({"schemaVersion":1,"traceEvents":[)" + events(12) + R"(],"traceName":"x"})";
  std::mt19937 random(20261121);
  const std::string bytes = "\"\\{}[]:, \n\x01\xff\xc3ph1";
  std::size_t loaded = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = round % 2 == 0 ? sound : indented(sound);
    for (auto n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      const std::size_t length = random() % 3 == 0 ? random() % 200 : random() % 2;
      text.replace(at, length, random() % 2, bytes[random() % bytes.size()]);
    }
    try {
      loaded += recover(text).columns.size();
    } catch (const TraceError&) {
      EXPECT_THROW(load_bytes(text, recovering(64)), TraceError);
      EXPECT_THROW(load_bytes(text, recovering(100, 3, 300)), TraceError);
    }
    if (HasFailure()) FAIL() << "round " << round << ": " << text;
  }
  EXPECT_GT(loaded, 400u * 8);  // of 12 events, few are damaged each time
}

TEST(Recover, NoEventIsEverLostInSilence) {
  constexpr int kCount = 40;
  const std::string list = events(kCount);
  std::mt19937 random(20261122);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = round % 2 == 0 ? list : indented(list);
    damage_one_byte(damaged, random);
    const bool is_list = round % 5 == 0;
    const std::string text = is_list
                                 ? "[" + damaged + "]"
                                 : R"({"schemaVersion":1,"traceEvents":[)" + damaged +
                                       R"(],"traceName":"x","list":[{"a":1}]})";
    const Trace trace =
        round % 10 == 0 ? recover(text) : load_bytes(text, recovering());
    const std::size_t rows = trace.columns.size();
    EXPECT_GE(rows, kCount - 2u);
    EXPECT_LE(rows, std::size_t{kCount});
    EXPECT_GE(rows + warned(trace, "damaged_event") + warned(trace, "skipped_element") +
                  warned(trace, "no_phase") + warned(trace, "truncated"),
              std::size_t{kCount});
    if (!is_list) {
      EXPECT_EQ(trace.metadata_json("traceName"), "\"x\"");
    }
    if (HasFailure()) FAIL() << "round " << round << ": " << text;
  }
}

TEST(Recover, NoRowIsEverInvented) {
  constexpr int kCount = 30;
  const std::string list = events(kCount, [](int i) {
    std::string one = small(i);
    const std::string nested =
        R"("l":[{"ph":"s","id":1},{"ph":"t","id":1},{"ph":"f","id":1}],)";
    return one.insert(one.find("\"a\":1"), nested);
  });
  std::mt19937 random(20261123);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = round % 2 == 0 ? list : indented(list);
    damage_one_byte(damaged, random);
    const Trace trace = load_bytes(around(damaged), recovering());
    for (const auto phase : trace.columns.phase) {
      EXPECT_FALSE(phase == 's' || phase == 't' || phase == 'f');
    }
    EXPECT_GE(trace.columns.size(), kCount - 2u);
    if (HasFailure()) FAIL() << "round " << round << ": " << damaged;
  }
}

TEST(Recover, AFurtherListOfEventsAfterADamagedEvent) {
  const std::string second = R"("traceEvents":[)" + small(2) + "," + small(3) + "]";
  const std::string first = R"({"traceEvents":[)" + small(1) + R"(,{"ph" 1}])";
  const Names all = {"e1", "e2", "e3"};
  const Counts one = {{"damaged_event", 1}, {"two_event_lists", 1}};
  for (const char* between : {"", R"("m":1,)", R"("m":{"a":[{"b":1}]},)"}) {
    expect_recovered(first + "," + between + second + "}", all, one);
    expect_recovered(first + "," + between + second + R"(,"z":1})", all, one);
  }
  EXPECT_EQ(recover(first + R"(,"m":1,)" + second + "}").metadata_json("m"), "1");
  // Even where no end of the first can be found.
  expect_recovered(first + R"(,"m" 1,)" + second + "}", all, one);
  expect_recovered(first + second + "}", all, one);
}

TEST(Recover, EventsInsideArgsAreNoRows) {
  const std::string rest = "," + small(2) + "," + small(3) + R"(],"z":1})";
  for (
      const char* bad :
      {R"({"name":"bad"q","ph":"X","args":{"Flows":[{"id":1,"ph":"s"},{"id":1,"ph":"f"}]}})",
       R"({"name":"bad"q","ph":"X","args":{"l":[{"ph":"s"},{"ph":"f"}],"x":1}})",
       R"({"ph":"X","args":{"l":[1,{"ph":"Y","ts":1},{"ph":"Z","ts":1}], bad}})",
       R"({"ph":"X","args":{"l":[1,{"ph":"Y"},{"ph":"Z"}],"p":"C:\python"}})",
       R"({"ph":"X","args":{"l":[1,{"ph":"Y"}],"x":[1}})"}) {
    const std::string text = R"({"traceEvents":[)" + small(1) + "," + bad + rest;
    const Trace trace = recover(text);
    EXPECT_EQ(names(trace), (Names{"e1", "e2", "e3"})) << text;
    EXPECT_GE(warned(trace, "damaged_event"), 1u) << text;
    EXPECT_EQ(trace.warnings.size(), 1u) << text;
    EXPECT_EQ(trace.metadata_json("z"), "1") << text;
  }
  // Of a text that is cut the last event is kept all the same.
  expect_recovered(R"({"traceEvents":[{"ph" 1},)" + small(2) + R"(],"m":[1)", {"e2"},
                   {{"truncated", 1}, {"damaged_event", 1}});
}

}  // namespace
}  // namespace tta::trace
