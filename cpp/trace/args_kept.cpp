// SPDX-License-Identifier: BSD-3-Clause
// trace/args_kept.cpp: keeps each text once, as long as that is little.
#include "trace/args_kept.h"

#include <algorithm>
#include <utility>

#include "trace/args.h"

namespace tta::trace {
namespace {

constexpr std::uint64_t kAlwaysKept = std::uint64_t{64} << 10;
constexpr std::uint64_t kShare = 16;

}  // namespace

std::string kept_members(std::string_view object) {
  std::string out;
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    std::array<char, 8> token = {'"'};  // its first bytes, and what follows as zeros
    const auto letters = std::min(key.size(), token.size() - 1);
    std::copy_n(key.begin(), letters, token.begin() + 1);
    if (letters + 1 < token.size()) token[letters + 1] = '"';
    if (!is_kept(token.data())) return;
    out += out.empty() ? '{' : ',';
    out.append("\"").append(key).append("\":").append(value);
  });
  if (!out.empty()) out += '}';
  return out;
}

std::uint32_t KeptArgs::number_of(std::string_view text, std::uint64_t read_bytes) {
  const auto before = pool_.size();
  const auto number = pool_.intern(text);
  if (pool_.size() > before) bytes_ += text.size();
  if (bytes_ > kAlwaysKept + read_bytes / kShare) give_up();
  return number;
}

void KeptArgs::add(std::uint32_t row, std::string_view object,
                   std::uint64_t read_bytes) {
  if (!complete_) return;
  const auto number = number_of(object, read_bytes);
  if (!complete_) return;
  rows_.push_back(row);
  texts_.push_back(number);
}

// The texts stay: parts that were handed over may refer to them.
void KeptArgs::give_up() {
  complete_ = false;
  rows_ = {};
  texts_ = {};
}

void KeptArgs::finish(bool sound) {
  if (complete_ && sound) return;
  give_up();
  pool_ = StringPool();
  bytes_ = 0;
}

void KeptArgs::take_part(Part& part, std::size_t& known) {
  part.rows.clear();
  part.texts.clear();
  part.new_texts.clear();
  part.complete = complete_;
  if (!complete_) return;
  std::swap(part.rows, rows_);
  std::swap(part.texts, texts_);
  for (; known < pool_.size(); ++known) {
    part.new_texts.push_back(pool_.view(static_cast<std::uint32_t>(known)));
  }
}

void KeptArgs::add_part(const Part& part, std::uint32_t first_row,
                        std::vector<std::uint32_t>& texts, std::uint64_t read_bytes) {
  if (!part.complete) give_up();
  for (const auto text : part.new_texts) {
    if (!complete_) return;
    texts.push_back(number_of(text, read_bytes));
  }
  if (!complete_) return;
  for (std::size_t i = 0; i < part.rows.size(); ++i) {
    rows_.push_back(first_row + part.rows[i]);
    texts_.push_back(texts[part.texts[i]]);
  }
}

std::uint32_t KeptArgs::join(std::uint32_t a, std::uint32_t b) {
  if (a == 0 || b == 0 || a == b) return std::max(a, b);
  std::string both(pool_.view(a));
  both.back() = ',';
  both += pool_.view(b).substr(1);
  return pool_.intern(both);
}

void KeptArgs::replace(const std::vector<std::uint32_t>& text_of_row) {
  rows_.clear();
  texts_.clear();
  for (std::uint32_t row = 0; row < text_of_row.size(); ++row) {
    if (text_of_row[row] == 0) continue;
    rows_.push_back(row);
    texts_.push_back(text_of_row[row]);
  }
}

}  // namespace tta::trace
