// SPDX-License-Identifier: BSD-3-Clause
// trace/locate.h: adds to a refusal what takes another pass over the text.
#pragma once

#include "trace/error.h"
#include "trace/progress.h"
#include "trace/source.h"

namespace tta::trace {

/// Returns the error with its line and the text around its place, as they are in the
/// whole text, which windows show only parts of. An error that has no place in the
/// text, or whose text cannot be read again, is returned as it is. Throws what
/// `progress` throws.
TraceError located(const TraceError& error, const Source& source, Progress& progress);

}  // namespace tta::trace
