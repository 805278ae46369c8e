// SPDX-License-Identifier: BSD-3-Clause
// timeline/gpu_table.cpp: the rows, each with its source.
#include "timeline/gpu_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tta::timeline {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30, kMiB = std::int64_t{1} << 20;

// NVIDIA A100 data sheet, of the boards with 40 and 80 GB alike.
constexpr PeakTeraflops kA100 = {19.5, 19.5, 156, 312, 312, 0, 624};
// NVIDIA H100 and H200 data sheets (SXM), halved where they count sparsity.
constexpr PeakTeraflops kHopper = {67, 67, 494.5, 989.5, 989.5, 1979, 1979};

// NVIDIA H100 data sheet (PCIe), halved where it counts sparsity.
constexpr PeakTeraflops kH100Pcie = {51, 51, 378, 756, 756, 1513, 1513};
// NVIDIA HGX B200 and B300 data sheets, a GPU of eight, halved where they count
// sparsity.
constexpr PeakTeraflops kB200 = {37, 75, 1125, 2250, 2250, 4500, 4500};
constexpr PeakTeraflops kB300 = {1.2, 75, 1125, 2250, 2250, 4500, 0};
// NVIDIA GB200 and GB300 NVL72 data sheets, a GPU of 72, likewise.
constexpr PeakTeraflops kGb200 = {40, 80, 1250, 2500, 2500, 5000, 5000};
constexpr PeakTeraflops kGb300 = {1.4, 80, 1250, 2500, 2500, 5000, 0};
// AMD Instinct data sheets, dense, with matrix cores; MI250 and MI250X: of one of the
// two dies of a board, each of which is a device.
constexpr PeakTeraflops kMi300x = {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9};
constexpr PeakTeraflops kMi300a = {122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2};
constexpr PeakTeraflops kMi350x = {72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 4613.7};
constexpr PeakTeraflops kMi355x = {78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 5033.2};
constexpr PeakTeraflops kMi250x = {47.9, 47.9, 0, 191.5, 191.5, 0, 191.5};
constexpr PeakTeraflops kMi250 = {45.3, 45.3, 0, 181, 181, 0, 181};

// A board of which bandwidth and peaks alone are known.
constexpr Gpu board(std::string_view words, double gb_s, PeakTeraflops peak) {
  return {.name = {}, .words = words, .bandwidth_gb_s = gb_s, .peak = peak};
}

// GeForce boards by their float32: tensor cores sum half precision in float32 at twice
// its rate, TF32 at the same. Ampere has no float8.
constexpr Gpu geforce_30(std::string_view words, double gb_s, double rate) {
  return board(words, gb_s, {rate / 64, rate, rate, 2 * rate, 2 * rate, 0, 8 * rate});
}
constexpr Gpu geforce_40(std::string_view words, double gb_s, double rate) {
  return board(words, gb_s,
               {rate / 64, rate, rate, 2 * rate, 2 * rate, 4 * rate, 8 * rate});
}

// clang-format off: a row a paragraph
constexpr std::array kGpus = {
    // NVIDIA T4 Tensor Core GPU data sheet; multiprocessors and cache: NVIDIA Turing
    // architecture white paper.
    Gpu{"T4", "T4", 320, "Tesla T4", 16 * kGiB, {0.25, 8.1, 0, 65, 0, 0, 130},
        40, 1.59, 7, 5, 4 * kMiB, 1024, 3},
    // NVIDIA V100 data sheet (SXM2, 32 GB); cache: NVIDIA Tesla V100 architecture white
    // paper.
    board("V100 PCIE", 900, {7, 14, 0, 112}),
    Gpu{"V100", "V100", 900, "Tesla V100-SXM2-32GB", 32 * kGiB, {7.8, 15.7, 0, 125},
        80, 1.53, 7, 0, 6 * kMiB, 2048, 3},
    // NVIDIA RTX A6000 data sheet; rates without sparsity: NVIDIA Ampere GA102
    // architecture white paper.
    Gpu{"RTX A6000", "A6000", 768, "NVIDIA RTX A6000", 48 * kGiB,
        {0.6, 38.7, 77.4, 154.8, 154.8, 0, 309.7}, 84, 1.80, 8, 6, 6 * kMiB, 1536, 4},
    // GeForce RTX 40 series laptops, specifications: 256 bits of 18 Gbit/s.
    Gpu{"", "4090 Laptop", 576},
    // NVIDIA Ada GPU architecture white paper, appendix A; sums in float32.
    Gpu{"RTX 4090", "RTX 4090", 1008, "NVIDIA GeForce RTX 4090", 24 * kGiB,
        {1.3, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6},
        128, 2.52, 8, 9, 72 * kMiB, 1536, 4},
    // NVIDIA A100 data sheet: 80 GB (SXM), 80 GB (PCIe), 40 GB (SXM, PCIe); cache: NVIDIA
    // A100 architecture white paper.
    Gpu{"A100", "A100 SXM4 80GB", 2039, "NVIDIA A100-SXM4-80GB", 80 * kGiB, kA100,
        108, 1.41, 8, 0, 40 * kMiB, 2048, 4},
    board("A100 80GB", 1935, kA100),
    Gpu{"A100 40GB", "A100", 1555, "NVIDIA A100-SXM4-40GB", 40 * kGiB, kA100,
        108, 1.41, 8, 0, 40 * kMiB, 2048, 4},
    // A800: as the A100, of which the slowest is meant.
    board("A800", 1555, kA100),
    // NVIDIA H100 data sheets: PCIe, NVL, SXM; multiprocessors and cache: NVIDIA H100
    // architecture white paper.
    board("H100 PCIe", 2000, kH100Pcie),
    board("H100 NVL", 3900, {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}),
    Gpu{"H100 SXM", "H100", 3350, "NVIDIA H100 80GB HBM3", 80 * kGiB, kHopper,
        132, 1.98, 9, 0, 50 * kMiB, 2048, 5},
    board("H800", 2000, kH100Pcie),  // As the H100 PCIe, the slowest of the name.
    // NVIDIA H200 data sheet (SXM): the processor of the H100 with other memory.
    board("H200 NVL", 4800, {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}),
    Gpu{"H200", "H200", 4800, "NVIDIA H200", 141 * kGiB, kHopper,
        132, 1.98, 9, 0, 50 * kMiB, 2048, 5},
    // NVIDIA data sheets: GH200 (96 GB), DGX/HGX B200 and B300, L40, L40S, L4, A40, A10.
    board("GH200", 4000, kHopper),
    board("B200", 7700, kB200),
    board("GB200", 8000, kGb200),
    board("B300", 7700, kB300),
    board("GB300", 8000, kGb300),
    board("L40", 864, {1.4, 90.5, 90.5, 181, 181, 362, 362}),
    board("L40S", 864, {1.4, 91.6, 183, 362, 362, 733, 733}),
    board("L4", 300, {0.5, 30.3, 60.5, 121, 121, 242.5, 242.5}),
    board("A40", 696, {0.6, 37.4, 74.8, 149.7, 149.7, 0, 299.3}),
    board("A10", 600, {0.5, 31.2, 62.5, 125, 125, 0, 250}),
    board("A30", 933, {10.3, 10.3, 82, 165, 165, 0, 330}),
    // NVIDIA professional boards, data sheets.
    board("RTX A5000", 768, {0.4, 27.8, 55.6, 111.1, 111.1, 0, 222.2}),
    board("RTX A4000", 448, {0.3, 19.2, 38.3, 76.7, 76.7, 0, 153.4}),
    board("RTX 6000 Ada", 960, {1.4, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5}),
    // GeForce: specifications and white papers of the architectures (GA102, Ada,
    // Blackwell), of desktop boards; sums in float32. Laptops share the names and
    // differ in all: they have no row.
    geforce_30("RTX 3090 Ti", 1008, 40.0),
    geforce_30("RTX 3090", 936, 35.6),
    geforce_30("RTX 3080 Ti", 912, 34.1),
    geforce_30("RTX 3080", 760, 29.8),
    geforce_30("RTX 3070 Ti", 608, 21.7),
    geforce_30("RTX 3070", 448, 20.3),
    geforce_30("RTX 3060 Ti", 448, 16.2),
    geforce_30("RTX 3060", 360, 12.7),
    geforce_40("RTX 4080 SUPER", 736, 52.2),
    geforce_40("RTX 4080", 717, 48.7),
    geforce_40("RTX 4070 Ti SUPER", 672, 44.1),
    geforce_40("RTX 4070 Ti", 504, 40.1),
    geforce_40("RTX 4070 SUPER", 504, 35.5),
    geforce_40("RTX 4070", 504, 29.1),
    geforce_40("RTX 4060 Ti", 288, 22.1),
    geforce_40("RTX 4060", 272, 15.1),
    geforce_40("RTX 5090", 1792, 104.8),
    geforce_40("RTX 5080", 960, 56.3),
    geforce_40("RTX 5070 Ti", 896, 43.9),
    geforce_40("RTX 5070", 672, 30.9),
    geforce_40("RTX 5060 Ti", 448, 23.7),
    geforce_40("RTX 5060", 448, 19.2),
    board("MI355X", 8000, kMi355x),
    board("MI350X", 8000, kMi350x),
    board("MI325X", 6000, kMi300x),
    board("MI300X", 5300, kMi300x),
    board("MI300A", 5300, kMi300a),
    board("MI250X", 1638, kMi250x),
    board("MI250", 1638, kMi250),
    board("MI210", 1638, kMi250),
};
// clang-format on

// Data center devices by the generation of their PCIe, after the same data sheets:
// boards that come in servers, whose slots have all 16 lanes.
struct Interface {
  int generation;
  std::string_view words;  // of a device's name, between blanks
};
constexpr std::array<Interface, 3> kInterfaces = {{
    {3, " P100 V100 T4 GP100 "},
    {4, " A100 A800 A30 A10 A10G A40 L4 L40 L40S MI210 "},
    {5, " H100 H800 H20 H200 B200 B300 MI300X MI325X MI350X MI355X "},
}};
// What 3.0 carries by its specification, 15.75 GB/s, less what headers take: 12.5 is
// what pinned copies reach. Each generation doubles it.
constexpr double kPinnedOfGeneration3 = 12.5;

// AMD's data center devices by what tells them apart where ROCm gives no name, or
// "AMD Radeon Graphics" for all: compute units and bytes of memory of a device (a die
// of an MI250). Of devices that share both, the slower.
struct Unnamed {
  std::string_view words;
  std::int64_t compute_units, memory;
};
constexpr std::array<Unnamed, 6> kUnnamed = {{
    {"MI300X", 304, 192 * kGiB},
    {"MI325X", 304, 256 * kGiB},
    {"MI300A", 228, 128 * kGiB},
    {"MI350X", 256, 288 * kGiB},
    {"MI250X", 110, 64 * kGiB},
    {"MI250", 104, 64 * kGiB},  // And the MI210.
}};

// Data sheets: half of what they count in both directions.
struct PeerLink {
  std::string_view words;  // Of a device's name.
  double gb_s;
};
constexpr std::array<PeerLink, 18> kPeerLinks = {{
    {"P100 SXM2", 80},
    {"V100 SXM2", 150},
    {"V100 SXM3", 150},
    {"A100 SXM4", 300},
    {"A800 SXM4", 200},
    {"H100 HBM3", 450},
    {"H800", 200},
    {"H200 NVL", -1},
    {"H200", 450},
    {"GH200", 450},
    {"B200", 900},
    {"GB200", 900},
    {"B300", 900},
    {"GB300", 900},
    {"MI300X", 448},
    {"MI325X", 448},
    {"MI350X", 538},
    {"MI355X", 538},
}};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) &&
        (end == text.size() || !in_word(text[end]))) {
      return true;
    }
  }
  return false;
}

bool has_words(std::string_view text, std::string_view words) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    if (!has_word(text, words.substr(0, end))) return false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return true;
}

}  // namespace

std::span<const Gpu> gpus() { return kGpus; }

double pinned_copy_gb_s(std::string_view device) {
  while (!device.empty()) {
    const auto end = std::min(device.find_first_of(" -"), device.size());
    const auto word = " " + std::string(device.substr(0, end)) + " ";
    for (const auto& interface : kInterfaces) {
      if (end > 0 && interface.words.find(word) != std::string_view::npos) {
        return kPinnedOfGeneration3 * (1 << (interface.generation - 3));
      }
    }
    device.remove_prefix(std::min(end + 1, device.size()));
  }
  return -1;
}

double peer_link_gb_s(std::string_view device) {
  for (const auto& link : kPeerLinks) {
    if (has_words(device, link.words)) return link.gb_s;
  }
  for (const auto* word : {"T4", "L4", "L40", "L40S", "A10", "A10G"}) {
    if (has_word(device, word)) return pinned_copy_gb_s(device);
  }
  return -1;
}

const Gpu* gpu_of(const DeviceProperties* device) {
  if (device == nullptr) return nullptr;
  if (const auto* named = gpu_of(device->name)) return named;
  // The least memory of it: a driver keeps some for itself.
  constexpr auto kLess = std::int64_t{2} << 30;
  for (const auto& [words, units, memory] : kUnnamed) {
    const auto missing = memory - device->memory;
    if (device->warp_size == 64 && device->multiprocessors == units && missing >= 0 &&
        missing <= kLess) {
      return gpu_of(words);
    }
  }
  return nullptr;
}

const Gpu* gpu_of(std::string_view device) {
  // A laptop's board has the name of a faster one.
  if (device.empty()) return nullptr;
  const bool laptop = has_word(device, "Laptop");
  for (const auto& gpu : kGpus) {
    if (gpu.name == device) return &gpu;
  }
  for (const auto& gpu : kGpus) {
    if (has_words(device, gpu.words) && (!laptop || has_word(gpu.words, "Laptop"))) {
      return &gpu;
    }
  }
  return nullptr;
}

}  // namespace tta::timeline
