// SPDX-License-Identifier: BSD-3-Clause
// patterns/rule.cpp: the list of rules, and what they share: devices, phrases.
#include "patterns/rule.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <locale>
#include <set>
#include <sstream>
#include <unordered_map>

namespace tta::patterns {
namespace {

std::string three_digits(double value) {
  const auto size = std::abs(value);
  std::ostringstream out;
  out.imbue(std::locale::classic());  // A point, whatever the language of the host.
  out << std::fixed << std::setprecision(size < 10 ? 2 : size < 100 ? 1 : 0) << value;
  auto text = out.str();
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

std::span<const Rule* const> rules() {
  static constexpr std::array kRules = {
#define TTA_RULE(id, ...) &id##Rule,
      TTA_PATTERNS(TTA_RULE)
#undef TTA_RULE
  };
  return kRules;
}

std::vector<std::size_t> fed_devices(const timeline::Timeline& t) {
  std::unordered_map<std::int64_t, std::size_t> of_process;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    if (++of_process[t.devices[i].pid] <= kMostDevices) out.push_back(i);
  }
  return out;
}

std::string devices_text(const Finding& f, bool first_word) {
  std::set<std::int32_t> devices;
  for (const auto& claim : f.claims) devices.insert(claim.device);
  if (devices.size() > 1) return std::to_string(devices.size()) + " devices together";
  return first_word ? "The device" : "the device";
}

std::string duration_text_us(double us) {
  const auto size = std::abs(us);
  // 999.5 would be written as 1000 of the smaller unit.
  if (size >= 999'500) return three_digits(us / 1e6) + " s";
  if (size >= 999.5) return three_digits(us / 1e3) + " ms";
  return three_digits(us) + " µs";
}

std::string duration_text(std::int64_t ns) {
  return duration_text_us(static_cast<double>(ns) / 1e3);
}

std::string share_text(double share) {
  const auto percent = 100 * share;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (share < 1 && percent >= 99.95) return ">99.9 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", percent);
  return text;
}

std::string count_text(std::uint64_t count, const std::string& one,
                       const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace tta::patterns
