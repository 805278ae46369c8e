// SPDX-License-Identifier: BSD-3-Clause
// Texts and times as JSON has them.
#include <gtest/gtest.h>

#include "write/json_text.h"

namespace tta {
namespace {

TEST(JsonText, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(write::json_string("a\"b\\c\n\x01 \xc3\xa9"),
            "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9\"");
  EXPECT_EQ(write::microseconds(1'234'567), "1234.567");
  EXPECT_EQ(write::microseconds(5), "0.005");
  EXPECT_EQ(write::microseconds(-5), "-0.005");
  EXPECT_EQ(write::microseconds(-1'234'567), "-1234.567");
  EXPECT_EQ(write::microseconds(1'719'000'000'123'456'789), "1719000000123456.789");
}

}  // namespace
}  // namespace tta
