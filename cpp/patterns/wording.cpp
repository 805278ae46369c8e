// SPDX-License-Identifier: BSD-3-Clause
// patterns/wording.cpp: the phrases that the rules' messages share.
#include <cstdio>
#include <set>

#include "patterns/rule.h"

namespace tta::patterns {

std::string devices_text(const Finding& f, bool first_word) {
  std::set<std::int32_t> devices;
  for (const auto& claim : f.claims) devices.insert(claim.device);
  if (devices.size() > 1) return std::to_string(devices.size()) + " devices together";
  return first_word ? "The device" : "the device";
}

std::string duration_text(std::int64_t ns) {
  char text[32];
  const auto us = static_cast<double>(ns) / 1e3;
  if (us < 999.5) {
    std::snprintf(text, sizeof text, us < 9.95 ? "%.1f us" : "%.0f us", us);
  } else if (us < 999'500) {
    std::snprintf(text, sizeof text, us < 99'950 ? "%.1f ms" : "%.0f ms", us / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", us / 1e6);
  }
  return text;
}

std::string count_text(std::uint64_t count, const std::string& one,
                       const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace tta::patterns
