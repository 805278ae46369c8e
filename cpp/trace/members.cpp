// SPDX-License-Identifier: BSD-3-Clause
// trace/members.cpp: the loader's own grammar on a text by itself.
#include "trace/members.h"

#include <string>

#include "trace/escapes.h"
#include "trace/grammar.h"
#include "trace/structural.h"

namespace tta::trace {

bool is_members(std::string_view text) {
  std::string object = "{" + std::string(text) + "}";
  const auto length = object.size();
  object.resize(length + kPadding);  // readers need no bounds, see Tokens
  StructuralIndex index;
  index.reserve(length);
  if (index.run(object.data(), length) != StageOne::kOk) return false;
  Grammar grammar;
  grammar.set_tokens({object.data(), index.places(), index.places() + index.count()});
  const auto after = grammar.skip(index.places(), 0);
  return after == grammar.tokens().end && grammar.bad_values().count == 0 &&
         check_escapes(text, 0).bad == kNowhere;
}

}  // namespace tta::trace
