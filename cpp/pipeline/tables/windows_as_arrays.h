// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/windows_as_arrays.h: the windows of a report as what a model reads.
#pragma once

#include <cstddef>

#include "features/features.h"
#include "pipeline/report.h"

namespace tta::pipeline {

/// Returns the arrays of a report's windows, with what its patterns waste of each; of
/// an unusable trace that is not known. `merge`: see features::make_features.
///
/// Nothing of it is kept. Throws what features::make_features does and, of an unusable
/// trace, what reading its args does (timeline/event_args.h).
features::Features make_arrays(
    const Report& report, const features::Checkpoint& checkpoint = [] {},
    std::size_t merge = 1);

}  // namespace tta::pipeline
