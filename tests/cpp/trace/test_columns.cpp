// SPDX-License-Identifier: BSD-3-Clause
// Which value of an event goes where; decimal text to nanoseconds, exactly.
#include "trace/number.h"
#include "trace/order.h"
#include "trace/samples.h"

namespace tta::trace {
namespace {

TEST(Columns, HoldAnEventOfKineto) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
     "ts": 4372189311950.743, "dur": 12.5,
     "args": {"External id": 17, "device": 1, "stream": 9, "correlation": 42}})"));
  const Columns& c = trace.columns;
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c.phase[0], 'X');
  EXPECT_EQ(c.cat(0), Category::kKernel);
  EXPECT_EQ(trace.name(0), "gemm");
  EXPECT_EQ(c.ts[0], 4372189311950743);
  EXPECT_EQ(c.dur[0], 12500);
  EXPECT_EQ(c.pid[0], 0);
  EXPECT_EQ(c.tid[0], 7);
  EXPECT_EQ(c.device[0], 1);
  EXPECT_EQ(c.stream[0], 9);
  EXPECT_EQ(c.correlation[0], 42);
  EXPECT_EQ(c.external_id[0], 17);
  EXPECT_EQ(c.python_id[0], kNoId);
  EXPECT_TRUE(trace.warnings.empty());
  EXPECT_TRUE(c.timed(0));
}

TEST(Columns, DoNotDependOnTheOrderOfKeys) {
  const Trace trace = load_bytes(around(R"(
    {"args": {"ts": 5, "ph": "M", "args": {"device": 8}, "correlation": 3, "device": 2},
     "dur": 2, "ts": 1, "tid": 5, "pid": 4, "name": "n", "cat": "kernel", "ph": "X"})"));
  EXPECT_EQ(trace.columns.ts[0], 1000);
  EXPECT_EQ(trace.columns.dur[0], 2000);
  EXPECT_EQ(trace.columns.phase[0], 'X');
  EXPECT_EQ(trace.columns.device[0], 2);
  EXPECT_EQ(trace.columns.correlation[0], 3);
}

TEST(Columns, UnescapeKeysAndShareEqualNames) {
  const Trace trace = load_bytes(around(
      R"({"p\u0068": "X", "\u0074s": 1, "dur" : 2, "name": "\u0061\tb", "cat": "cpu\u005fop",
          "args": {"Sequence\u0020number": 5, "Python id": 6, "Python parent id": 7}},
         {"ph": "\u0058", "ts": 1, "dur": 2, "name": "a\tb", "cat": "cpu_op",
          "args": {"external id": 8, "Python parent id": null}})"));
  ASSERT_EQ(trace.columns.size(), 2u);
  EXPECT_EQ(trace.name(0), "a\tb");
  EXPECT_EQ(trace.columns.name[0], trace.columns.name[1]);
  EXPECT_EQ(trace.strings.size(), 2u);
  EXPECT_EQ(trace.columns.ts[0], 1000);
  EXPECT_EQ(trace.columns.dur[0], 2000);
  EXPECT_EQ(trace.columns.cat(0), Category::kCpuOp);
  EXPECT_EQ(trace.columns.phase[1], 'X');
  EXPECT_EQ(trace.columns.sequence[0], 5);
  EXPECT_EQ(trace.columns.python_id[0], 6);
  EXPECT_EQ(trace.columns.python_parent_id[0], 7);
  EXPECT_EQ(trace.columns.external_id[1], 8);
  EXPECT_EQ(trace.columns.python_parent_id[1], kNoId);
  EXPECT_TRUE(trace.warnings.empty());
}

TEST(Columns, NamesMayBeAnything) {
  const std::string astral = "\xF0\x9D\x84\x9E";
  const Trace trace = load_bytes(around(R"({"ph": "M", "name": "\ud834\udd1e"},
      {"ph": "M", "name": ")" + astral + R"("}, {"ph": "M", "name": "nul\u0000nul"},
      {"ph": "M", "name": ""}, {"ph": "M"}, {"ph": "M", "name": "\ud834 \udd1e"},
      {"ph": "M", "name": "\"\\\/\b\f\n\r\t"})"));
  EXPECT_EQ(trace.name(0), astral);
  EXPECT_EQ(trace.columns.name[0], trace.columns.name[1]);
  EXPECT_EQ(trace.name(2), std::string_view("nul\0nul", 7));
  EXPECT_EQ(trace.columns.name[3], 0u);
  EXPECT_EQ(trace.columns.name[4], 0u);
  EXPECT_EQ(trace.name(5), "\xEF\xBF\xBD \xEF\xBF\xBD");
  EXPECT_EQ(trace.name(6), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(warned(trace, "lone_surrogate"), 2u);
}

TEST(Columns, IdentitiesAreNumbersOrTexts) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "M", "pid": 25738, "tid": "25738"}, {"ph": "M", "pid": "Spans", "tid": ""},
    {"ph": "M", "pid": null, "tid": true},     {"ph": "M", "pid": -1, "tid": 1.5},
    {"ph": "M", "pid": 18446744073709551615, "tid": "007"}, {"ph": "M"},
    {"ph": "M", "pid": [1], "tid": {}}, {"ph": "M", "pid": 4611686018427387904})"));
  const Columns& c = trace.columns;
  EXPECT_EQ(c.pid[0], 25738);
  EXPECT_EQ(c.tid[0], 25738);
  EXPECT_EQ(trace.identity(c.pid[1]), "Spans");
  EXPECT_EQ(c.tid[1], kTextIdentity);
  EXPECT_EQ(trace.identity(c.tid[1]), "");
  EXPECT_EQ(trace.identity(c.pid[2]), "null");
  EXPECT_EQ(trace.identity(c.tid[2]), "true");
  EXPECT_EQ(c.pid[3], -1);
  EXPECT_EQ(trace.identity(c.tid[3]), "1.5");
  EXPECT_EQ(trace.identity(c.pid[4]), "18446744073709551615");
  EXPECT_EQ(trace.identity(c.tid[4]), "007");
  EXPECT_EQ(c.pid[5], kNoId);
  EXPECT_EQ(c.pid[6], kNoId);
  EXPECT_EQ(warned(trace, "bad_identity"), 1u);
  EXPECT_EQ(trace.identity(c.pid[7]), "4611686018427387904");
  EXPECT_EQ(trace.identity(-1), "-1");
}

TEST(Columns, DeviceAndStreamOfDeviceRowsOnly) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "X", "cat": "Kernel", "ts": 1, "dur": 1, "pid": 3, "tid": "stream 7"},
    {"ph": "X", "cat": "kernel", "ts": 1, "dur": 1, "pid": 3, "tid": 7,
     "args": {"device": 0, "stream": "0x2f"}},
    {"ph": "X", "cat": "kernel", "ts": 1, "dur": 1, "pid": "gpu", "tid": "x"},
    {"ph": "X", "cat": "mtia_runtime", "ts": 1, "dur": 1, "pid": 3, "tid": 7,
     "args": {"device": 0, "stream": 9}},
    {"ph": "X", "cat": "kernel", "ts": 1, "dur": 1, "pid": 3000000000, "tid": 7})"));
  const Columns& c = trace.columns;
  EXPECT_EQ(c.device, (std::vector<std::int32_t>{3, 0, -1, -1, -1}));
  EXPECT_EQ(c.stream, (std::vector<std::int64_t>{7, 47, -1, -1, 7}));
  EXPECT_EQ(warned(trace, "id_out_of_range"), 1u);
}

TEST(Columns, FlowIdsAreCorrelations) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "s", "id": 9, "cat": "ac2g", "ts": 1, "args": {"correlation": 5}},
    {"args": {"correlation": 5}, "id": "10", "ph": "f", "cat": "async_gpu", "ts": 1},
    {"ph": "X", "id": 11, "cat": "cpu_op", "ts": 1, "dur": 1},
    {"ph": "t", "cat": "ac2g", "ts": 1})"));
  EXPECT_EQ(trace.columns.correlation, (std::vector<std::int64_t>{9, 10, -1, -1}));
  EXPECT_EQ(trace.columns.cat(1), Category::kAc2g);
}

TEST(Columns, TheLastOfRepeatedKeysWins) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "X", "ts": 1, "ts": 2, "dur": 1, "args": {"device": 1, "correlation": 5},
     "args": {"correlation": 6, "correlation": 7}, "cat": "kernel", "pid": 4}
    )"));
  EXPECT_EQ(trace.columns.ts[0], 2000);
  EXPECT_EQ(trace.columns.correlation[0], 7);
  EXPECT_EQ(trace.columns.device[0], 4);
  EXPECT_EQ(warned(trace, "duplicate_key"), 1u);
  EXPECT_EQ(trace.read_args(std::vector<std::uint32_t>{0})[0],
            R"({"correlation": 6, "correlation": 7})");
}

TEST(Columns, IdsThatDoNotFitAreAbsent) {
  const Trace trace = load_event(R"("ts": 1, "dur": 1, "args": {
    "correlation": 9223372036854775808, "External id": 18446744073709551616,
    "Python id": 9223372036854775807, "Python parent id": 1.5, "Sequence number": "x",
    "device": 1e400, "stream": [1]})");
  EXPECT_EQ(trace.columns.correlation[0], kNoId);
  EXPECT_EQ(trace.columns.external_id[0], kNoId);
  EXPECT_EQ(trace.columns.python_id[0], INT64_MAX);
  EXPECT_EQ(trace.columns.python_parent_id[0], kNoId);
  EXPECT_EQ(trace.columns.sequence[0], kNoId);
  EXPECT_EQ(warned(trace, "id_out_of_range"), 1u);
  EXPECT_EQ(warned(trace, "bad_id"), 1u);
}

TEST(Category, KnowsEveryNameAndAlias) {
  for (const CategoryInfo& known : kCategories) {
    EXPECT_EQ(category_of(known.name), known.id);
  }
  for (const CategoryAlias& alias : kCategoryAliases) {
    EXPECT_EQ(category_of(alias.name), alias.id);
  }
  EXPECT_EQ(category_of("kernel "), Category::kUnknown);
}

std::int64_t ns(const std::string& text) {
  return load_event("\"ts\": " + text + ", \"dur\": 1").columns.ts[0];
}

TEST(Times, WholeMicrosecondsOf2021) {
  EXPECT_EQ(ns("1606910596297023"), 1606910596297023000);
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("-0"), 0);
  EXPECT_EQ(ns("12345678"), 12345678000);
  EXPECT_EQ(ns("123456789"), 123456789000);
  EXPECT_EQ(ns("-17"), -17000);
}

TEST(Times, ThreeDecimalsOf2026) {
  EXPECT_EQ(ns("4372189311950.743"), 4372189311950743);
  EXPECT_EQ(ns("4372189311950.7"), 4372189311950700);
  EXPECT_EQ(ns("0.001"), 1);
  EXPECT_EQ(ns("-0.001"), -1);
  EXPECT_EQ(ns("1719853000123456.789"), 1719853000123456789);  // 19 digits
  EXPECT_EQ(ns("9223372036854774.999"), 9223372036854774999);
}

TEST(Times, RoundHalfToEven) {
  EXPECT_EQ(ns("1.0005"), 1000);
  EXPECT_EQ(ns("1.0015"), 1002);
  EXPECT_EQ(ns("1.00050"), 1000);
  EXPECT_EQ(ns("1.0005000000000000000000000000001"), 1001);
  EXPECT_EQ(ns("1.0004999999999999999999999999999"), 1000);
  EXPECT_EQ(ns("-1.0015"), -1002);
  EXPECT_EQ(ns("0.0005"), 0);
  EXPECT_EQ(ns("0.0006"), 1);
  EXPECT_EQ(ns("0.00000000000000000000000001"), 0);
}

TEST(Times, Exponents) {
  EXPECT_EQ(ns("1.7e15"), 1700000000000000000);
  EXPECT_EQ(ns("17E+2"), 1700000);
  EXPECT_EQ(ns("17e-3"), 17);
  EXPECT_EQ(ns("15e-4"), 2);
  EXPECT_EQ(ns("0e999999999999999999999"), 0);
  EXPECT_EQ(ns("1e-999999999999999999999"), 0);
  EXPECT_EQ(ns("0.000000000000000000001e21"), 1000);
}

TEST(Times, OutOfRangeIsNoTime) {
  for (const char* text : {"9223372036854775.808", "-9223372036854775.808", "1e300",
                           "1e999999999999999999999", "99999999999999999999999999"}) {
    const Trace trace = load_event(std::string("\"dur\": 1, \"ts\": ") + text);
    EXPECT_EQ(trace.columns.ts[0], kNoTime) << text;
    EXPECT_EQ(warned(trace, "bad_ts"), 1u) << text;
  }
  EXPECT_EQ(ns("9223372036854775.807"), INT64_MAX);
}

TEST(Times, TextNumbersCountAsOdd) {
  const Trace trace = load_event(R"("ts": "12.5", "dur": "3")");
  EXPECT_EQ(trace.columns.ts[0], 12500);
  EXPECT_EQ(trace.columns.dur[0], 3000);
  EXPECT_EQ(warned(trace, "text_number"), 1u);
}

TEST(Times, WrongTypesLeaveTheEventUntimed) {
  for (const char* text : {"null", "true", "\"soon\"", "[1]", "{\"a\": 1}", "\"\"",
                           "\"1 \"", "\"1,\"", "\"-\""}) {
    const Trace trace = load_event(std::string("\"dur\": 1, \"ts\": ") + text);
    EXPECT_EQ(trace.columns.ts[0], kNoTime) << text;
    EXPECT_EQ(warned(trace, "bad_ts"), 1u) << text;
    EXPECT_FALSE(trace.columns.timed(0));
  }
}

TEST(Times, Durations) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "X", "ts": 1}, {"ph": "X", "ts": 1, "dur": null}, {"ph": "X", "dur": 1},
    {"ph": "X", "ts": 1, "dur": -5}, {"ph": "i", "ts": 1}, {"ph": "M"})"));
  EXPECT_EQ(warned(trace, "missing_dur"), 2u);
  EXPECT_EQ(warned(trace, "missing_ts"), 1u);
  EXPECT_EQ(warned(trace, "negative_dur"), 1u);
  EXPECT_EQ(trace.columns.dur[3], -5000);
  EXPECT_EQ(trace.columns.dur[4], kNoTime);
}

TEST(Times, EveryDigitCountAgreesWithTheSlowPath) {
  for (int whole = 1; whole <= 19; ++whole) {
    for (int decimals = 0; decimals <= 6; ++decimals) {
      std::string text = std::string("1234567890123456789").substr(0, whole);
      if (decimals > 0) text += "." + std::string("987654").substr(0, decimals);
      // As an exponent the same number takes the slow path.
      EXPECT_EQ(ns(text), ns(text + "e0")) << text;
    }
  }
}

TEST(Numbers, AllLegalFormsPass) {
  for (const char* text :
       {"0", "-0", "0.0", "1e5", "1E-5", "1.5e+10", "123456789012345678901",
        "-1.7976931348623157e308", "1e999", "true", "false", "null"}) {
    const Trace trace =
        load_bytes(around(std::string(R"({"ph": "M", "args": {"a": [1, )") + text +
                          "], \"b\": " + text + "}}"));
    EXPECT_EQ(trace.columns.size(), 1u) << text;
  }
}

// Two threads, one with a text for a tid; a, b and c start together.
constexpr const char* kUnordered[] = {
    R"({"ph": "X", "cat": "kernel", "name": "late", "pid": 0, "tid": 7, "ts": 9,
        "dur": 1, "args": {"grid": [4, 1, 1]}})",
    R"({"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": "two", "ts": 1,
        "dur": 2, "args": {"External id": 8}})",
    R"({"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 2, "ts": 1,
        "dur": 2, "args": {"External id": 7}})",
    R"({"ph": "X", "cat": "user_annotation", "name": "b", "pid": 1, "tid": 2,
        "ts": 1, "dur": 2})",
    R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 3})",
    R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}})",
};

Trace ordered(std::vector<int> order) {
  std::string events;
  for (const int i : order)
    events += (events.empty() ? "" : ",") + std::string(kUnordered[i]);
  Trace trace = load_bytes(around(events));
  order_rows(trace);
  return trace;
}

TEST(Order, IsByTimeThenByWhatEncloses) {
  const Trace trace = ordered({0, 1, 2, 3, 4, 5});
  std::string names;
  for (std::uint32_t row = 0; row < trace.columns.size(); ++row) {
    names += std::string(trace.name(row)) + " ";
  }
  EXPECT_EQ(names, "process_name a b b c late ");
  EXPECT_EQ(trace.columns.cat(2), Category::kUserAnnotation);
  EXPECT_EQ(trace.columns.external_id[3], 7);
  EXPECT_EQ(trace.identity(trace.columns.tid[4]), "two");
  ASSERT_EQ(trace.kept_args.rows(), (std::vector<std::uint32_t>{0, 5}));
  EXPECT_EQ(trace.kept_args.text(trace.kept_args.texts()[1]), R"({"grid": [4, 1, 1]})");
  EXPECT_EQ(
      trace.read_args(std::vector<std::uint32_t>{4, 0, 1}),
      (std::vector<std::string>{R"({"External id": 8})", R"({"name": "python"})", ""}));
}

TEST(Order, DoesNotDependOnTheFile) {
  const Trace expected = ordered({0, 1, 2, 3, 4, 5});
  for (const auto& order :
       {std::vector{5, 4, 3, 2, 1, 0}, std::vector{2, 0, 5, 1, 4, 3}}) {
    const Trace trace = ordered(order);
    EXPECT_EQ(trace.columns.ts, expected.columns.ts);
    EXPECT_EQ(trace.columns.name, expected.columns.name);
    EXPECT_EQ(trace.columns.tid, expected.columns.tid);
    EXPECT_EQ(trace.columns.external_id, expected.columns.external_id);
    for (std::uint32_t id = 0; id < expected.strings.size(); ++id) {
      EXPECT_EQ(trace.strings.view(id), expected.strings.view(id));
      EXPECT_EQ(trace.strings.find(expected.strings.view(id)), id);
    }
  }
}

}  // namespace
}  // namespace tta::trace
