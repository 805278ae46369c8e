// SPDX-License-Identifier: BSD-3-Clause
// timeline/copy_direction.cpp: the words by which a copy's name tells it.
#include "timeline/copy_direction.h"

#include "timeline/by_name.h"

namespace tta::timeline {

CopyDirection copy_direction(std::string_view name) {
  struct Word {
    std::string_view in;
    CopyDirection direction;
  };
  using enum CopyDirection;
  constexpr Word kWords[] = {
      {"HtoD", kToDevice},       {"DtoH", kToHost},
      {"DtoD", kInDevice},       {"PtoP", kBetweenDevices},
      {"HtoH", kInHost},         {"HostToDevice", kToDevice},
      {"DeviceToHost", kToHost}, {"DeviceToDevice", kInDevice},
      {"HostToHost", kInHost},
  };
  for (const auto& word : kWords) {
    if (contains(name, word.in)) return word.direction;
  }
  return kUnknown;
}

}  // namespace tta::timeline
