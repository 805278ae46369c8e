// SPDX-License-Identifier: BSD-3-Clause
// replay/constants.cpp: whose device it is, the names of its calls say.
#include "replay/constants.h"

namespace tta::replay {

Constants constants_of(const timeline::Timeline& t, const Calls& calls) {
  for (const auto& call : calls.all) {
    if (t.named(call.row, timeline::Name::kHipCall)) return Constants::amd();
    if (t.named(call.row, timeline::Name::kCudaCall)) return Constants::nvidia();
  }
  return Constants::nvidia();
}

}  // namespace tta::replay
