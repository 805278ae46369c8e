// SPDX-License-Identifier: BSD-3-Clause
// trace/printable.h: makes bytes of a trace safe to show in a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tta::trace {

/// Returns `bytes` as plain ASCII of at most about `max_length` characters.
///
/// Everything else (controls, terminal escapes, bidirectional marks, bytes that are not
/// UTF-8) becomes \xNN, so that a hostile name can forge neither a log line nor a
/// terminal's state. A cut is shown by "...".
std::string printable(std::string_view bytes, std::size_t max_length = 40);

}  // namespace tta::trace
