// SPDX-License-Identifier: BSD-3-Clause
// trace/beginning.h: looks at the first bytes to name files that are not JSON.
#pragma once

#include <string>

#include "trace/text_windows.h"

namespace tta::trace {

/// Skips a byte order mark. Throws TraceError if the text is empty, blank, or begins
/// like another known kind of file.
void check_beginning(TextWindowReader& windows, const std::string& path);

}  // namespace tta::trace
