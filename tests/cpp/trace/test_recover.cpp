// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_recover.cpp: of damaged events, what is sound is read, all of
// it.
#include "trace/recover_samples.h"

namespace tta::trace {
namespace {

TEST(Recover, SoundTextsLoadAsAlways) {
  const std::string text = kineto_text(30);
  const Trace trace = recover(text);
  expect_same(load_bytes(text), trace);
  EXPECT_TRUE(trace.warnings.empty());
}

TEST(Recover, ACutAtAnyByteGivesTheWholeEventsBeforeIt) {
  const std::string compact =
      R"({"schemaVersion":1,"traceEvents":[)" + events(4) + R"(],"traceName":"x"})";
  for (const std::string& text : {compact, indented(compact), "[" + events(4) + "]"}) {
    const bool is_list = text[0] == '[';
    const std::size_t list = text.find('[');
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const std::string part = text.substr(0, cut);
      // Braces outside strings, counted from the start of the list.
      std::int64_t whole = 0;
      int depth = 0;
      bool in_string = false;
      for (std::size_t i = list; i < cut; ++i) {
        if (part[i] == '\\') {
          ++i;
        } else if (part[i] == '"') {
          in_string = !in_string;
        } else if (!in_string && part[i] == '{') {
          ++depth;
        } else if (!in_string && part[i] == '}' && --depth == 0) {
          ++whole;
        }
      }
      const Trace trace = recover(part);
      EXPECT_EQ(kept(trace).size(), static_cast<std::size_t>(whole)) << part;
      const bool closed = is_list && (part.back() == '}' || part.back() == ',') &&
                          depth == 0 && !in_string;
      EXPECT_EQ(warned(trace, closed ? "unclosed_list" : "truncated"), 1u) << part;
      EXPECT_EQ(trace.warnings.size(), 1u) << part;
      if (HasFailure()) FAIL() << cut;
    }
  }
}

TEST(Recover, DamageAtEachEventLosesThatEvent) {
  constexpr int kCount = 5;
  const auto replace = [](const char* from, const std::string& to) {
    return [from, to](std::string text) {
      return text.replace(text.find(from), std::string_view(from).size(), to);
    };
  };
  const std::function<std::string(std::string)> damages[] = {
      replace("\"op", "\"\"op"),     // a quote too many
      replace("\"op", "op"),         // and one too few
      replace("op", "torch\\cuda"),  // a path
      replace("op", std::string("\0", 1)),
      replace("op", "\n"),
      replace("op", "Library(\"x\", \"y\")"),
      replace("\"External", "External"),
      replace("}}", "}"),  // the last brace
      replace("\"s\":\"\\\"x\"}}", "\"s\":1"),
      replace("{\"External", "\"External"),
      replace("{\"ph", "\"ph"),
      replace("]],", "],"),
      replace("[[1", "[1"),
      replace("1,2", "1 2"),
      replace("\"tid\":2", "tid\":2"),
      replace("\"tid\":2", "tid 2"),
      replace("\"tid\":2", "/* tid */"),
      replace("\"pid\":1", "\"pid\":\xff"),
      replace(",\"pid\":1", "\"pid\":1"),
      replace("\"dur\":1", "\"dur\":"),
      [](const std::string& text) { return text.substr(0, text.size() / 2); },
      [](const std::string& text) { return text.substr(text.size() / 2); },
      [](const std::string& text) { return text.substr(0, 20); },
      [](const std::string&) { return std::string("\x01\x02\x80 garbage \\ \" {{["); },
      [](const std::string&) { return std::string(5000, '{'); },
      [](const std::string&) { return std::string(3000, '"'); },
      [](const std::string&) {
        return std::string("{\"ph\":\"X\",\"args\":") + std::string(3000, '[');
      },
  };
  int number = 0;
  for (const auto& damage : damages) {
    for (int bad = 0; bad < kCount; ++bad) {
      const std::string raw = damage(event(bad));
      const auto around_it = [&](const std::function<std::string(std::string)>& form) {
        return form(R"({"schemaVersion":1,"traceEvents":[)") +
               events(kCount, [&](int i) { return i == bad ? raw : form(event(i)); }) +
               form(R"(],"traceName":"x","list":[{"a":1}]})");
      };
      for (const std::string& text :
           {around_it([](const std::string& part) { return part; }),
            around_it(indented)}) {
        const Trace trace = recover(text);
        EXPECT_EQ(kept(trace), all_but(kCount, bad)) << number << ": " << text;
        EXPECT_EQ(warned(trace, "damaged_event"), 1u) << number << ": " << text;
        EXPECT_EQ(trace.warnings.size(), 1u) << number << ": " << text;
        EXPECT_EQ(trace.metadata_json("traceName"), "\"x\"") << number << text;
        // Without it, the same text is refused.
        const std::string kind = refusal(text).kind();
        EXPECT_TRUE(kind == "invalid_json" || kind == "bad_escape" ||
                    kind == "control_character" || kind == "bad_utf8" ||
                    kind == "too_deep" || kind == "truncated")
            << kind;
      }
      if (HasFailure()) FAIL() << "damage " << number << " of event " << bad;
    }
    ++number;
  }
}

TEST(Recover, CommasBetweenEvents) {
  const std::string none = around(event(0) + event(1) + "," + event(2));
  EXPECT_EQ(kept(recover(none)), (std::vector<std::int64_t>{1, 2}));
  const std::string two = around(event(0) + ",," + event(1) + "," + event(2) + ",");
  const Trace trace = recover(two);
  EXPECT_EQ(kept(trace), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(warned(trace, "damaged_event"), 2u);
  EXPECT_EQ(trace.warnings.size(), 1u);
}

TEST(Recover, AnythingInPlaceOfTheCommaLosesTheEventBefore) {
  constexpr int kCount = 8;
  for (const char* mark : {"", ":", ";", "]", "}", "[", "{", "\"", "],", "{{", "=", "0",
                           "null", "\\", "\xff"}) {
    for (const char* blank : {"", "\n  "}) {
      for (const bool is_list : {false, true}) {
        for (int bad = 0; bad + 1 < kCount; ++bad) {
          std::string text = is_list ? "[" : R"({"schemaVersion":1,"traceEvents":[)";
          for (int i = 0; i < kCount; ++i) {
            text += (i == 0 ? "" : i - 1 == bad ? mark + std::string(blank) : ",");
            text += event(i);
          }
          text += is_list ? "]" : R"(],"traceName":"x","list":[{"a":1}]})";
          const Trace trace = recover(text);
          EXPECT_EQ(kept(trace), all_but(kCount, bad)) << text;
          EXPECT_EQ(warned(trace, "damaged_event"), 1u) << text;
          EXPECT_EQ(trace.warnings.size(), 1u) << text;
          if (!is_list) {
            EXPECT_EQ(trace.metadata_json("traceName"), "\"x\"") << text;
          }
          if (HasFailure()) FAIL() << "'" << mark << "' after event " << bad;
        }
      }
    }
  }
}

TEST(Recover, ABracketTooManyLosesOneEventAtMost) {
  constexpr int kCount = 6;
  for (const std::string mark : {"[", "]", "{", "}", ":", "[[", "[ [", "],"}) {
    // A list of events that was opened swallows the first of them.
    const bool loses = mark.back() == '[';
    for (const char* end : {R"(],"traceName":"x","list":[{"a":1}]})", "]"}) {
      const bool is_list = std::string_view(end) == "]";
      for (int bad = 0; bad < kCount; ++bad) {
        const std::string text =
            (is_list ? "[" : R"({"schemaVersion":1,"traceEvents":[)") +
            events(
                kCount,
                [&](int i) { return i == bad ? mark + "\n" + event(i) : event(i); }) +
            end;
        // The format lets such a list be cut, and then all that is known is the cut.
        const bool at_end = is_list && loses && bad + 1 == kCount;
        const Trace trace = recover(text);
        EXPECT_EQ(kept(trace), all_but(kCount, loses ? bad : -1)) << text;
        EXPECT_EQ(warned(trace, at_end ? "truncated" : "damaged_event"), 1u) << text;
        EXPECT_EQ(trace.warnings.size(), 1u) << text;
        if (HasFailure()) FAIL() << "'" << mark << "' before event " << bad;
      }
    }
  }
}

TEST(Recover, ListsAmongTheEventsStayWhatTheyAre) {
  const std::string list = "[" + events(3) + "]";
  for (const std::string& text :
       {around(list), around(event(0) + "," + list + "," + event(1) + ",[],[1,2]"),
        "[" + list + "," + event(0) + "]", "[" + event(0) + "," + list + "]"}) {
    const Trace trace = recover(text);
    expect_same(load_bytes(text), trace);
    EXPECT_GE(warned(trace, "skipped_element"), 1u) << text;
    EXPECT_EQ(trace.warnings.size(), 1u) << text;
  }
}

TEST(Recover, ABracketBeforeMostOfALongTextLosesOneEvent) {
  constexpr int kCount = 9000;  // 2 MB
  const std::string text =
      around(events(kCount, [](int i) { return (i == 5 ? "[" : "") + event(i); }));
  for (const LoadOptions& options :
       {recovering(), recovering(1000), recovering(1 << 22),
        recovering(1 << 18, 3, 4 << 20), recovering(4096, 2, 5000)}) {
    const Trace trace = load_bytes(text, options);
    EXPECT_EQ(kept(trace), all_but(kCount, 5));
    EXPECT_EQ(warned(trace, "damaged_event"), 1u);
    EXPECT_EQ(trace.warnings.size(), 1u);
  }
  // Sound as it is, but longer than any event: read as events rather than skipped.
  const std::string nested =
      around(event(0) + ",[" + events(kCount) + "]," + event(0) + "," + event(1));
  const Trace control = load_bytes(nested, recovering());
  EXPECT_EQ(control.columns.size(), 1u + (kCount - 2) + 2u);
  EXPECT_EQ(warned(control, "damaged_event"), 2u);
  expect_same(control, load_bytes(nested, recovering(1 << 18, 3, 4 << 20)));
  expect_same(control, load_bytes(nested, recovering(1 << 22)));
}

TEST(Recover, EventsAfterAListThatSeemsToEndAreRead) {
  // The list that is closed before its first event, and damage on both sides.
  for (const std::string& list :
       {"]" + events(4), "]," + events(4), "]]" + events(4), "]garbage," + events(4),
        "], \"a\": [1, 2}, " + events(4)}) {
    const Trace trace = recover(around(list));
    EXPECT_EQ(kept(trace), all_but(4, -1)) << list;
    EXPECT_EQ(warned(trace, "damaged_event"), 1u) << list;
    EXPECT_EQ(trace.warnings.size(), 1u) << list;
  }
  // No event follows: that is the end, and what was looked at there counts for nothing.
  const Trace other =
      recover(R"([{"ph":"X","ts":1,"dur":1,"tid":NaN}] {"a":NaN,"b":[]})");
  EXPECT_EQ(other.columns.size(), 1u);
  EXPECT_EQ(warned(other, "bad_value"), 1u);
  EXPECT_EQ(warned(other, "trailing_content"), 1u);
  std::string broken = event(1);
  broken.replace(broken.find("\"dur\""), 5, "dur");
  const Trace trace = recover(around(event(0) + "]" + broken + "," + event(2)));
  EXPECT_EQ(kept(trace), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(warned(trace, "damaged_event"), 1u);
}

TEST(Recover, ManyDamagedEventsInARowAreCounted) {
  const std::string text = around(events(400, [](int i) {
    std::string one = event(i);
    if (i % 10 >= 3) one.replace(one.find("\"args\""), 1, i % 2 == 0 ? "\"\"" : "");
    return one;
  }));
  const Trace trace = recover(text);
  EXPECT_EQ(kept(trace).size(), 120u);
  EXPECT_EQ(warned(trace, "damaged_event"), 280u);
  EXPECT_EQ(trace.warnings.size(), 1u);
  EXPECT_TRUE(says(trace.warnings[0].detail, "traceEvents[3]"));
}

TEST(Recover, AnEventThatSwallowsTheOthersIsOneEvent) {
  for (const char* start :
       {R"({"ph":"X","args":{"a":[1,)", R"({"ph":"X","args":{"a":)"}) {
    const std::string text =
        R"({"traceEvents":[)" + event(0) + "," + start + events(50) + R"(],"z":1})";
    const Trace trace = recover(text);
    EXPECT_GE(kept(trace).size(), 50u);
    EXPECT_EQ(warned(trace, "damaged_event"), 1u);
    EXPECT_EQ(trace.metadata_json("z"), "1");
  }
}

}  // namespace
}  // namespace tta::trace
