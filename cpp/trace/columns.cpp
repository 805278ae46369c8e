// SPDX-License-Identifier: BSD-3-Clause
// trace/columns.cpp: looks a category up by name.
#include "trace/columns.h"

namespace tta::trace {

// A linear search: the loader asks once for each distinct name of a trace.
Category category_of(std::string_view name) {
  for (const CategoryInfo& known : kCategories) {
    if (known.name == name) return known.id;
  }
  for (const CategoryAlias& alias : kCategoryAliases) {
    if (alias.name == name) return alias.id;
  }
  return Category::kUnknown;
}

}  // namespace tta::trace
