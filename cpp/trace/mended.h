// SPDX-License-Identifier: BSD-3-Clause
// trace/mended.h: JSON that any reader takes, out of what the loader tolerated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace tta::trace {

/// Returns a JSON value that was read with bad values (grammar.h) or, recovering,
/// with bytes that are no UTF-8: the former are null there, the latter U+FFFD. What
/// was sound stays byte for byte. Linear.
std::string mended(std::string_view json);

/// Tells by what was counted whether a trace has such values.
bool needs_mending(const std::vector<Warning>& warnings);

}  // namespace tta::trace
