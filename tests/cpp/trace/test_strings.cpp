// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_strings.cpp: the pool of names, and texts made safe to show.
#include "trace/error.h"
#include "trace/escapes.h"
#include "trace/printable.h"
#include "trace/samples.h"

namespace tta::trace {
namespace {

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
