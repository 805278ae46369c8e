// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/windows_as_arrays.cpp: hands a report down to where arrays are made.
#include "pipeline/tables/windows_as_arrays.h"

#include <memory>

namespace tta::pipeline {

features::Features make_arrays(const Report& report,
                               const features::Checkpoint& checkpoint,
                               std::size_t merge) {
  const auto& t = *report.timeline;
  const auto args =
      report.args ? report.args : std::make_shared<const timeline::EventArgs>(t);
  return features::make_features(t, *args, report.tiles, report.causes, checkpoint,
                                 merge);
}

}  // namespace tta::pipeline
