// SPDX-License-Identifier: BSD-3-Clause
// trace/grammar.cpp: the hot loop over values nobody reads.
#include "trace/grammar.h"

namespace tta::trace {

Place Grammar::fail(Place at, const char* expected) {
  mistake_ = {at, expected};
  return nullptr;
}

Place Grammar::fail_member(Place at) {
  return tokens_.at(at) == '"' ? fail(at + 1, "':'")
                               : fail(at, "a key in double quotes");
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
    if (!is_scalar(at)) return fail(at, "a value");
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
    if (!is_scalar(at)) return fail(at, "a value");
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
