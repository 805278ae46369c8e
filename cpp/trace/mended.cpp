// SPDX-License-Identifier: BSD-3-Clause
// trace/mended.cpp: copies a value, token by token.
#include "trace/mended.h"

#include <algorithm>

#include "trace/number.h"
#include "trace/tally.h"
#include "trace/tokens.h"
#include "trace/utf8.h"

namespace tta::trace {
namespace {

// The end of the string that starts at `at`, after its closing quote.
std::size_t string_end(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at < json.size() ? at + 1 : json.size();
}

bool is_json(std::string_view scalar) {
  return scalar == "true" || scalar == "false" || scalar == "null" ||
         detail::is_number_slow(scalar.data(), scalar.data() + scalar.size());
}

}  // namespace

std::string mended(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    std::size_t end = at + 1;
    if (json[at] == '"') {
      end = string_end(json, at);
      out += replace_bad_utf8(json.substr(at, end - at));
    } else if (detail::ends_scalar(json[at])) {
      out += json[at];
    } else {
      while (end < json.size() && !detail::ends_scalar(json[end])) ++end;
      const std::string_view scalar = json.substr(at, end - at);
      out += is_json(scalar) ? scalar : "null";
    }
    at = end;
  }
  return out;
}

bool needs_mending(const std::vector<Warning>& warnings) {
  return std::any_of(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.kind == kind_of(Oddity::kBadValue) ||
           warning.kind == kind_of(Oddity::kBadUtf8);
  });
}

}  // namespace tta::trace
