// SPDX-License-Identifier: BSD-3-Clause
// patterns/describing_names.h: operators that stand between those that launch.
#pragma once

#include <string_view>

namespace tta::patterns {

/// Tells whether an operator only describes a tensor anew, or reserves one: views,
/// transposes, aten::empty. Such compute nothing on any device (reshape copies at
/// times; it then has a launch, or an operator that computes, inside).
bool describes_a_tensor(std::string_view name);

}  // namespace tta::patterns
