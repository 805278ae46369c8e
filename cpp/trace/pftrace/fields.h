// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/fields.h: the fields of Perfetto's messages that are read or written,
// by the numbers of protos/perfetto/trace/*.proto.
#pragma once

#include <cstdint>

namespace tta::trace::pftrace {

/// Trace: a file is a list of packets.
enum class TraceField : std::uint32_t { kPacket = 1 };

/// TracePacket.
enum class Packet : std::uint32_t {
  kChromeEvents = 5,
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kStateCleared = 41,
  kThread = 44,
  kCompressed = 50,
  kGpuCounters = 52,
  kGpuWork = 53,
  kClock = 58,
  kDefaults = 59,
  kTrack = 60,
};
inline constexpr std::uint32_t kFlagStateCleared = 1, kFlagNeedsState = 2;

/// TrackDescriptor, ProcessDescriptor, ThreadDescriptor, CounterDescriptor.
enum class TrackField : std::uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParent = 5,
  kCounter = 8,
  kStaticName = 10,
  kRank = 12,
};
enum class Process : std::uint32_t { kPid = 1, kSort = 3, kName = 6, kLabels = 8 };
enum class Thread : std::uint32_t {
  kPid = 1,
  kTid = 2,
  kSort = 3,
  kName = 5,
  kReferenceUs = 6,
};
enum class Counter : std::uint32_t { kMultiplier = 4, kIncremental = 5 };

/// TrackEvent, its types, and TrackEvent.LegacyEvent.
enum class Event : std::uint32_t {
  kDeltaUs = 1,
  kCategoryId = 3,
  kAnnotation = 4,
  kLegacy = 6,
  kType = 9,
  kNameId = 10,
  kTrack = 11,
  kAbsoluteUs = 16,
  kCategory = 22,
  kName = 23,
  kCounter = 30,
  kOldFlow = 36,
  kOldEndOfFlow = 42,
  kDoubleCounter = 44,
  kFlow = 47,
  kEndOfFlow = 48,
};
enum class EventType : std::int32_t {
  kUnspecified = 0,
  kBegin = 1,
  kEnd = 2,
  kInstant = 3,
  kCounter = 4,
};
enum class Legacy : std::uint32_t {
  kNameId = 1,
  kPhase = 2,
  kDurationUs = 3,
  kId = 6,
  kLocalId = 10,
  kGlobalId = 11,
};

/// DebugAnnotation.
enum class Annotation : std::uint32_t {
  kNameId = 1,
  kBool = 2,
  kUint = 3,
  kInt = 4,
  kDouble = 5,
  kString = 6,
  kPointer = 7,
  kJson = 9,
  kName = 10,
  kEntry = 11,
  kElement = 12,
  kStringId = 17,
};

/// InternedData, and what its texts have in common.
enum class Interned : std::uint32_t {
  kCategories = 1,
  kEventNames = 2,
  kAnnotationNames = 3,
  kGpuSpecifications = 24,
  kAnnotationStrings = 29,
  kGpuCounters = 47,
  kComputeKernels = 1000,
  kComputeArgs = 1001,
};
enum class InternedText : std::uint32_t { kId = 1, kText = 2, kDemangled = 3 };

/// TracePacketDefaults and TrackEventDefaults.
enum class Defaults : std::uint32_t { kTrackEvent = 11, kClock = 58 };
enum class EventDefaults : std::uint32_t { kTrack = 11 };

/// ClockSnapshot, its clocks, and those that matter by number.
enum class Snapshot : std::uint32_t { kClock = 1 };
enum class Clock : std::uint32_t {
  kId = 1,
  kTimestamp = 2,
  kIncremental = 3,
  kUnitNs = 4,
};
inline constexpr std::uint32_t kBoottime = 6;
inline constexpr std::uint32_t kFirstOfSequence = 64, kFirstGlobal = 128;

/// GpuRenderStageEvent, which torch writes for work of a device.
enum class Work : std::uint32_t {
  kDuration = 2,
  kExtra = 6,
  kGpu = 11,
  kQueueId = 13,
  kStageId = 14,
  kName = 17,
  kKernelId = 19,
  kNameId = 20,
  kLaunch = 21,
};
enum class Extra : std::uint32_t { kName = 1, kValue = 2 };
enum class Launch : std::uint32_t { kGrid = 1, kBlock = 2, kArg = 3 };
enum class LaunchArg : std::uint32_t { kNameId = 1, kName = 2, kInt = 3, kUint = 4 };

/// GpuCounterEvent, and the descriptor that it refers to.
enum class GpuCounters : std::uint32_t {
  kDescriptor = 1,
  kCounter = 2,
  kGpu = 3,
  kDescriptorId = 4,
};
enum class GpuCounter : std::uint32_t { kId = 1, kInt = 2, kDouble = 3 };
enum class GpuDescriptor : std::uint32_t { kId = 1, kDescriptor = 2, kGpu = 3 };
enum class GpuSpecs : std::uint32_t { kSpec = 1 };

/// ChromeEventBundle and ChromeMetadata: members of the trace beside its events.
enum class Chrome : std::uint32_t { kMetadata = 2 };
enum class Metadata : std::uint32_t {
  kName = 1,
  kString = 2,
  kBool = 3,
  kInt = 4,
  kJson = 5
};

/// Added to the ids of arrows from forward to backward, which are numbered apart from
/// those of launches.
inline constexpr std::uint64_t kForwardBackward = std::uint64_t{1} << 62;

}  // namespace tta::trace::pftrace
