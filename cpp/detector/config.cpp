// SPDX-License-Identifier: BSD-3-Clause
// detector/config.cpp: checks sizes, and takes them to text and back.
#include "detector/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numbers>
#include <sstream>
#include <stdexcept>

namespace tta::detector {
namespace {

void check_columns(const Config& config, const Tables& tables) {
  std::vector<std::string> known = {"names",     "causes", "kind",  "lane",
                                    "lane_kind", "parent", "launch"};
  for (const auto& column : tables.figures) known.push_back(column.name);
  for (const auto& column : tables.statistics) known.push_back(column.name);
  for (const auto& pattern : tables.patterns) known.push_back("cause_" + pattern.name);
  for (const auto& name : config.without) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw std::invalid_argument("without: there is no column " + name);
    }
  }
}

const std::string& value_of(const std::map<std::string, std::string>& text,
                            const std::string& name) {
  const auto found = text.find(name);
  if (found == text.end()) throw std::invalid_argument(name + " is not told");
  return found->second;
}

// Of a share: the fewest digits that are read back as the same.
std::string text_of(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), value).ptr};
}

template <typename T>
T number_of(const std::map<std::string, std::string>& text, const std::string& name) {
  const auto& value = value_of(text, name);
  T out{};
  const auto* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, out);
  if (read.ec != std::errc() || read.ptr != end) {
    throw std::invalid_argument(name + " is not a number");
  }
  return out;
}

}  // namespace

bool Config::lacks(const std::string& column) const {
  return std::find(without.begin(), without.end(), column) != without.end();
}

void check(const Config& config, const Tables& tables) {
#define TTA_CHECK(name, value, least, most, doc)                                 \
  if (config.name < least || config.name > most) {                               \
    throw std::invalid_argument(#name " must be " #least " to " #most ", not " + \
                                std::to_string(config.name));                    \
  }
  TTA_NETWORK_SIZES(TTA_CHECK)
#undef TTA_CHECK
#define TTA_CHECK(name, value, doc)                             \
  if (!(config.name >= 0 && config.name <= 1)) {                \
    throw std::invalid_argument(#name " must be 0 to 1, not " + \
                                std::to_string(config.name));   \
  }
  TTA_NETWORK_SHARES(TTA_CHECK)
#undef TTA_CHECK
  if (config.width % config.heads != 0) {
    throw std::invalid_argument("heads must divide width");
  }
  check_columns(config, tables);
}

std::map<std::string, std::string> to_text(const Config& config) {
  std::map<std::string, std::string> out;
#define TTA_WRITE(name, value, least, most, doc) \
  out[#name] = std::to_string(config.name);
  TTA_NETWORK_SIZES(TTA_WRITE)
#undef TTA_WRITE
#define TTA_WRITE(name, value, doc) out[#name] = text_of(config.name);
  TTA_NETWORK_SHARES(TTA_WRITE)
#undef TTA_WRITE
  auto& names = out["without"];
  for (const auto& name : config.without) names += (names.empty() ? "" : " ") + name;
  return out;
}

Config config_from_text(const std::map<std::string, std::string>& text,
                        const Tables& tables) {
  Config out;
#define TTA_READ(name, value, least, most, doc) \
  out.name = number_of<std::int64_t>(text, #name);
  TTA_NETWORK_SIZES(TTA_READ)
#undef TTA_READ
#define TTA_READ(name, value, doc) out.name = number_of<double>(text, #name);
  TTA_NETWORK_SHARES(TTA_READ)
#undef TTA_READ
  std::istringstream names(value_of(text, "without"));
  for (std::string name; names >> name;) out.without.push_back(name);
  check(out, tables);
  return out;
}

double rate_at(const Training& t, std::int64_t step) {
  if (step >= t.steps) return 0;
  const auto at = static_cast<double>(step);
  const auto rise =
      t.warm_up > 0 ? std::min(1.0, (at + 1) / static_cast<double>(t.warm_up)) : 1.0;
  const auto fall = at / static_cast<double>(t.steps);
  return t.learning_rate * rise * 0.5 * (1 + std::cos(std::numbers::pi * fall));
}

}  // namespace tta::detector
