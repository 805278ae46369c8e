// SPDX-License-Identifier: BSD-3-Clause
// support/says.h: whether a message has a part; a failure shows both.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tta::test {

inline testing::AssertionResult says(std::string_view text, std::string_view part) {
  const bool has = text.find(part) != text.npos;
  return (has ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "\"" << part << "\" in \"" << text << "\"";
}

}  // namespace tta::test
