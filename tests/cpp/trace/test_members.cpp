// SPDX-License-Identifier: BSD-3-Clause
// Text that may be pasted between braces, and text that may not.
#include "trace/members.h"

#include <gtest/gtest.h>

#include <string>

namespace tta::trace {
namespace {

TEST(Members, AreStrictJson) {
  for (const std::string text :
       {"", "  ", R"("a": 1)", R"("a": "b}, {", "c": [1, {"d": null}], "e": -1.5e3)",
        R"("a\n\u00e9": true)", "\"\xc3\xa9\": {}"}) {
    EXPECT_TRUE(is_members(text)) << text;
  }
  for (const std::string text : {"1",
                                 "\"a\"",
                                 R"("a": )",
                                 R"("a": 1,)",
                                 R"(, "a": 1)",
                                 "a: 1",
                                 R"("a": NaN)",
                                 R"("a": 01)",
                                 R"("a": 'b')",
                                 R"("a": 1}, {"b": 2)",
                                 R"("a": 1})",
                                 R"("a": [1)",
                                 R"("a": "b)",
                                 R"("a": "\x")",
                                 "\"a\": \"\n\"",
                                 "\"a\": \"\xff\"",
                                 "{",
                                 "}",
                                 R"("a": 1 "b": 2)",
                                 R"("a": //)"}) {
    EXPECT_FALSE(is_members(text)) << text;
  }
  EXPECT_FALSE(
      is_members("\"a\": " + std::string(2'000, '[') + std::string(2'000, ']')));
  EXPECT_FALSE(is_members(std::string_view("\"a\": 1\0", 7)));
}

}  // namespace
}  // namespace tta::trace
