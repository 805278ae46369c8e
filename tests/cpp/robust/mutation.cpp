// SPDX-License-Identifier: BSD-3-Clause
// robust/mutation.cpp: the kinds of damage.
#include "robust/mutation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace tta::robust {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLongest = std::size_t{64} << 10;

constexpr std::string_view kNumbers[] = {
    "0",
    "-0",
    "007",
    "1.2.3",
    "-1.-500",
    "1e300",
    "1e999",
    "-1e-999",
    "2147483648",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "2305843009213693951",
    "4611686018427387904",
    "0.0005",
    "1.7e15",
    "123456789012345678901234567890123456789012",
    "NaN",
    "-Infinity",
    "null",
    "true",
    "[]",
    "{}",
    "\"7\"",
    "\"\"",
    "1E+5",
    "-",
    ".5",
    "0x10",
};

constexpr std::string_view kStrings[] = {
    "",
    "traceEvents",
    "ph",
    "cat",
    "name",
    "pid",
    "tid",
    "ts",
    "dur",
    "args",
    "id",
    "X",
    "M",
    "kernel",
    "cuda_runtime",
    "gpu_memcpy",
    "correlation",
    "External id",
    "Python id",
    "Sequence number",
    "stream",
    "device",
    "nodes",
    "\\u0074s",
    "\\ud800",
    "\\udc00\\ud800",
    "\\u0000",
    "\\u12",
    "\\x",
    "C:\\new",
    "\xff",
    "\xc3(",
    "\xed\xa0\x80",
    "\xf0\x9f\x98\x80",
    "\x01",
    "\n",
    "\0"sv,
    "a\"b",
    "}, {",
    "},\n  {\n    \\\"ph",
    "ProfilerStep#1",
    "stream 7",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "x",
};

constexpr std::string_view kTokens[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "},",
    "\n  },\n  {\n    \"",
    "[[[[[[[[",
    "]]]]]]]]",
    " ",
    "\n",
    "\t",
    "\0"sv,
    "null",
    "true",
    "\"args\": {",
    "/*",
    "'",
    "\"a\":",
    "\xEF\xBB\xBF",
    "},{\"",
    "{}",
    "\"traceEvents\": [",
};

template <typename List>
std::string_view any_of(const List& list, Random& random) {
  return list[draw(random, std::size(list))];
}

using Stretch = std::pair<std::size_t, std::size_t>;  // where, how long

bool is_cut(char c) { return "{}[],:\n"sv.find(c) != std::string_view::npos; }

// A stretch from one token's border to another's, near a random place.
Stretch any_stretch(std::string_view text, Random& random) {
  std::size_t begin = draw(random, text.size());
  while (begin > 0 && !is_cut(text[begin])) --begin;
  std::size_t end = begin;
  for (std::size_t tokens = 1 + draw(random, 12); tokens > 0 && end < text.size();) {
    if (is_cut(text[end++])) --tokens;
  }
  return {begin, end - begin};
}

Stretch any_number(std::string_view text, Random& random) {
  constexpr std::string_view kOfNumbers = "0123456789.+-eE";
  const std::size_t begin = text.find_first_of("0123456789", draw(random, text.size()));
  if (begin == text.npos) return {0, 0};
  const std::size_t end = text.find_first_not_of(kOfNumbers, begin);
  return {begin, std::min(end, text.size()) - begin};
}

// What stands between two quotes; half of the time not what the writer meant.
Stretch any_string(std::string_view text, Random& random) {
  const std::size_t quote = text.find('"', draw(random, text.size()));
  if (quote == text.npos) return {0, 0};
  const std::size_t end = text.find('"', quote + 1);
  return {quote + 1, std::min(end, text.size()) - quote - 1};
}

// From the brace of one event to that of the next one in Kineto's layout.
Stretch any_event(std::string_view text, Random& random) {
  constexpr std::string_view kBorder = "\n  },";
  const std::size_t begin = text.find(kBorder, draw(random, text.size()));
  if (begin == text.npos) return {0, 0};
  const std::size_t end = text.find(kBorder, begin + 1);
  if (end == text.npos) return {0, 0};
  return {begin, end - begin};
}

void replace(std::string& text, Stretch stretch, std::string_view by) {
  if (text.size() - stretch.second + by.size() > kLongest) return;
  text.replace(stretch.first, stretch.second, by);
}

void insert(std::string& text, Random& random, std::string_view what) {
  replace(text, {draw(random, text.size() + 1), 0}, std::string(what));
}

std::string copy(std::string_view text, Stretch stretch) {
  return std::string(text.substr(stretch.first, stretch.second));
}

}  // namespace

void mutate(std::string& text, const std::vector<std::string>& others, Random& random) {
  if (text.empty()) text = any_of(kTokens, random);
  const std::size_t at = draw(random, text.size());
  switch (draw(random, 16)) {
    case 0:
    case 1:
      text[at] = static_cast<char>(text[at] ^ 1 << draw(random, 8));
      break;
    case 2:
      text[at] = static_cast<char>(draw(random, 256));
      break;
    case 3:
      std::swap(text[at], text[draw(random, text.size())]);
      break;
    case 4:
      text.erase(at, 1 + draw(random, 24));
      break;
    case 5:
      insert(text, random, any_of(kTokens, random));
      break;
    case 6:
      replace(text, {at, 1}, any_of(kTokens, random));
      break;
    case 7:
      replace(text, any_number(text, random), any_of(kNumbers, random));
      break;
    case 8:
    case 9:
      replace(text, any_string(text, random), any_of(kStrings, random));
      break;
    case 10:
      replace(text, any_stretch(text, random), "");
      break;
    case 11:
      insert(text, random, copy(text, any_stretch(text, random)));
      break;
    case 12: {
      const std::string& other = others[draw(random, others.size())];
      const std::string piece = copy(other, any_stretch(other, random));
      replace(text, any_stretch(text, random), piece);
      break;
    }
    case 13: {
      const Stretch event = any_event(text, random);
      const std::string piece = copy(text, event);
      replace(text, {event.first, 0}, piece);
      break;
    }
    case 14: {
      const std::string piece = copy(text, any_string(text, random));
      replace(text, any_string(text, random), piece);
      break;
    }
    default:
      text.resize(at);
  }
}

void mutate_gzip(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const std::size_t at = draw(random, bytes.size());
  switch (draw(random, 8)) {
    case 0:
    case 1:
    case 2:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << draw(random, 8));
      break;
    case 3:  // flags, time and system of the header
      bytes[draw(random, std::min<std::size_t>(bytes.size(), 12))] =
          static_cast<char>(draw(random, 256));
      break;
    case 4:  // checksum and length
      bytes[bytes.size() - 1 - draw(random, std::min<std::size_t>(bytes.size(), 8))] ^=
          static_cast<char>(1 + draw(random, 255));
      break;
    case 5:
      bytes.resize(at);
      break;
    case 6:
      bytes += draw(random, 2) == 0 ? bytes : std::string(1 + draw(random, 600), '\0');
      break;
    default:
      bytes.erase(at, 1 + draw(random, 24));
  }
}

}  // namespace tta::robust
