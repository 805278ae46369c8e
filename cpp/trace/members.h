// SPDX-License-Identifier: BSD-3-Clause
// trace/members.h: whether text may be pasted between the braces of a JSON object.
#pragma once

#include <string_view>

namespace tta::trace {

/// Tells whether text is `"key": value, ...`, strict JSON in UTF-8, or white space
/// alone. Linear.
bool is_members(std::string_view text);

}  // namespace tta::trace
