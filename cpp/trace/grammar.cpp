// SPDX-License-Identifier: BSD-3-Clause
// trace/grammar.cpp: the hot loop over values that are skipped.
#include "trace/grammar.h"

namespace tta::trace {
namespace {

constexpr std::ptrdiff_t kLongest = kMaxBadValue;

bool is_bad_value_byte(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '+' ||
         c == '-' || c == '.' || c == '_' || c == '/';
}

}  // namespace

Place Grammar::fail(Place at, const char* expected) {
  mistake_ = {at, expected};
  return nullptr;
}

Place Grammar::fail_member(Place at) {
  return tokens_.at(at) == '"' ? fail(at + 1, "':'")
                               : fail(at, "a key in double quotes");
}

// At the end of the text a scalar may have been cut: that is another matter.
bool Grammar::note_bad_value(Place value) {
  const char* const first = tokens_.text + *value;
  const char* p = first;
  while (p != tokens_.limit() && is_bad_value_byte(*p)) ++p;
  const bool starts = *first != '_' && *first != '/';
  const bool ends = p != tokens_.limit() && detail::ends_scalar(*p);
  if (p == first || p - first > kLongest || !starts || !ends) return false;
  if (bad_values_.count++ == 0) bad_values_.first = *value;
  return true;
}

// Written as states and jumps: what may come next depends on where in the text one is,
// and the processor predicts each of these branches from the ones before it.
Place Grammar::skip_brackets(Place at, int depth) {
  const char* const text = tokens_.text;
  const int outside = depth;
  char c = text[*at];
  if (c == '[') goto array;

object:
  if (depth == kMaxDepth) return fail(at, nullptr);
  open_[depth++] = '{';
  ++at;
  if (text[*at] == '}') goto close;
member:
  if (text[at[0]] != '"' || text[at[1]] != ':') return fail_member(at);
  at += 2;
  c = text[*at];
  if (c != '"') {
    if (c == '{') goto object;
    if (c == '[') goto array;
    if (!is_scalar(at) && !note_bad_value(at)) return fail(at, "a value");
  }
  ++at;
after_member:
  c = text[*at];
  if (c == ',') {
    ++at;
    goto member;
  }
  if (c != '}') return fail(at, "',' or '}'");
  goto close;

array:
  if (depth == kMaxDepth) return fail(at, nullptr);
  open_[depth++] = '[';
  ++at;
  if (text[*at] == ']') goto close;
element:
  c = text[*at];
  if (c != '"') {
    if (c == '[') goto array;
    if (c == '{') goto object;
    if (!is_scalar(at) && !note_bad_value(at)) return fail(at, "a value");
  }
  ++at;
after_element:
  c = text[*at];
  if (c == ',') {
    ++at;
    goto element;
  }
  if (c != ']') return fail(at, "',' or ']'");

close:
  ++at;
  --depth;
  if (depth == outside) return at;
  if (open_[depth - 1] == '{') goto after_member;
  goto after_element;
}

}  // namespace tta::trace
