// SPDX-License-Identifier: BSD-3-Clause
// Where copies go, as profilers call them.
#include "timeline/copy_direction.h"

#include <gtest/gtest.h>

namespace tta::timeline {
namespace {

using enum CopyDirection;

TEST(CopyDirection, IsToldByKinetosNames) {
  EXPECT_EQ(copy_direction("Memcpy HtoD (Pageable -> Device)"), kToDevice);
  EXPECT_EQ(copy_direction("Memcpy DtoH (Device -> Pinned)"), kToHost);
  EXPECT_EQ(copy_direction("Memcpy DtoD (Device -> Device)"), kInDevice);
  EXPECT_EQ(copy_direction("Memcpy PtoP (Device -> Device)"), kBetweenDevices);
  EXPECT_EQ(copy_direction("Memcpy HtoH (Pinned -> Pageable)"), kInHost);
}

TEST(CopyDirection, IsToldByRoctracersNames) {
  EXPECT_EQ(copy_direction("CopyHostToDevice"), kToDevice);
  EXPECT_EQ(copy_direction("CopyDeviceToHost"), kToHost);
  EXPECT_EQ(copy_direction("CopyDeviceToDevice"), kInDevice);
  EXPECT_EQ(copy_direction("CopyHostToHost"), kInHost);
}

TEST(CopyDirection, IsUnknownWhereTheNameDoesNotTell) {
  EXPECT_EQ(copy_direction("Memcpy"), kUnknown);
  EXPECT_EQ(copy_direction("Memcpy HtoA (Pinned -> Array)"), kUnknown);
  EXPECT_EQ(copy_direction(""), kUnknown);
}

}  // namespace
}  // namespace tta::timeline
