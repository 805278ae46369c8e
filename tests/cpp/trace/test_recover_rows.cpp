// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_recover_rows.cpp: recovery loses no event in silence and invents
// none.
#include "trace/recover_samples.h"

namespace tta::trace {
namespace {

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
  for (int round = 0; round < 3000; ++round) {
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
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = round % 2 == 0 ? list : indented(list);
    damage_one_byte(damaged, random);
    const Trace trace = load_bytes(around(damaged), recovering());
    for (const auto phase : trace.columns.phase) {
      EXPECT_EQ(std::string_view("stf").find(static_cast<char>(phase)),
                std::string_view::npos);
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
