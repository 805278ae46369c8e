// SPDX-License-Identifier: BSD-3-Clause
// timeline/copy_direction.h: from where to where a copy goes, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tta::timeline {

enum class CopyDirection : std::uint8_t {
  kUnknown,
  kToDevice,        ///< "HtoD"
  kToHost,          ///< "DtoH"
  kInDevice,        ///< "DtoD"
  kBetweenDevices,  ///< "PtoP"
  kInHost,          ///< "HtoH"
};

/// Returns what the name of a copy's device row says: as Kineto writes it ("Memcpy HtoD
/// (Pageable -> Device)"), or as roctracer did ("CopyHostToDevice"). Some say it in
/// their args alone, see WorkArgs::way.
CopyDirection copy_direction(std::string_view name);

}  // namespace tta::timeline
