// SPDX-License-Identifier: BSD-3-Clause
// replay/constants.cpp: whose device it is, the names of its calls say.
#include "replay/constants.h"

namespace tta::replay {

Constants constants_of(const timeline::Timeline& t, const Calls& calls) {
  for (const auto& call : calls.all) {
    const auto name = t.trace->name(call.row);
    if (name.starts_with("hip")) return Constants::amd();
    if (name.starts_with("cu")) return Constants::nvidia();
  }
  return Constants::nvidia();
}

}  // namespace tta::replay
