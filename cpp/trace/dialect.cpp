// SPDX-License-Identifier: BSD-3-Clause
// trace/dialect.cpp: CUPTI's kinds in Kineto's words.
#include "trace/dialect.h"

#include <array>
#include <cstddef>
#include <span>

namespace tta::trace {
namespace {

// By CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind, as Kineto prints them.
constexpr std::array<std::string_view, 11> kCopies = {"Unknown", "HtoD", "DtoH", "HtoA",
                                                      "AtoH",    "AtoA", "AtoD", "DtoA",
                                                      "DtoD",    "HtoH", "PtoP"};
constexpr std::array<std::string_view, 8> kMemories = {
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};

// Cuspy's spelling of Kineto's "Device Static" is "device_static".
bool same(std::string_view said, std::string_view word) {
  if (said.size() != word.size()) return false;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const char c = said[i] == '_' ? ' ' : said[i];
    if ((c | 0x20) != (word[i] | 0x20)) return false;
  }
  return true;
}

std::string_view word_of(std::string_view said,
                         std::span<const std::string_view> words) {
  if (said.size() >= 2 && said.front() == '"') said = said.substr(1, said.size() - 2);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (same(said, words[i]) || said == std::to_string(i)) return words[i];
  }
  return words[0];
}

}  // namespace

std::string kineto_name(std::string_view name, const CopyWords& words) {
  std::string out;
  if (name == "Memcpy" && !words.kind.empty()) {
    out.append("Memcpy ").append(word_of(words.kind, kCopies)).append(" (");
    out.append(word_of(words.source, kMemories)).append(" -> ");
    out.append(word_of(words.target, kMemories)).append(")");
  } else if (name == "Memset" && !words.memory.empty()) {
    out.append("Memset (").append(word_of(words.memory, kMemories)).append(")");
  }
  return out;
}

}  // namespace tta::trace
