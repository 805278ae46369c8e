// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_times.cpp: decimal text to nanoseconds, exactly.
#include "trace/number.h"
#include "trace/samples.h"

namespace tta::trace {
namespace {

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

}  // namespace
}  // namespace tta::trace
