// SPDX-License-Identifier: BSD-3-Clause
// trace/json_out.h: values as JSON text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tta::trace {

/// Appends a string with quotes and escapes. Bytes from 0x80 on stay as they are.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

/// Returns nanoseconds as microseconds in exact decimal text: 1234567 -> "1234.567".
std::string microseconds(std::int64_t ns);

}  // namespace tta::trace
