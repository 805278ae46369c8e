// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/misaligned_gemm.cpp: half-precision products whose rows do not begin
// at multiples of 16 bytes, and that are slow for it.
//
// Sizes alone prove nothing: current libraries have tensor core kernels for odd sizes
// (DLProf withdrew a rule that used only sizes). The proof is in the same trace:
// aligned products of the same type with no more work, whose rate it should reach.
// Small ones have the harder time, so that the comparison errs to the lower side. The
// same is true of products with less work a byte; for those with more, memory could be
// the reason, and they are compared only on devices whose bandwidth is known. Nothing
// is reported without such products, or where the kernel's name shows that its data was
// aligned.
//
// Only the inner size and the columns count: they are the lengths of the rows in
// memory. The number of rows matters for transposed inputs alone, which sizes do not
// show.
//
// Products of an attention that runs unfused are unfused_attention's: what cures that
// has no such products any more.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "patterns/attention.h"
#include "patterns/device_work.h"
#include "patterns/matrix_kernels.h"
#include "patterns/rule.h"
#include "timeline/gpu_table.h"
#include "timeline/median.h"

namespace tta::patterns {
namespace misaligned_gemm {
namespace {

enum : std::size_t {
  kMinShare,
  kMultiple,
  kMinKernel,
  kMinPeers,
  kMaxRate,
  kBandwidth
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "the claim is an estimate: less is within its error"},
    Threshold{"multiple", 8, "count",
              "TorchTidy and NVIDIA's guide: 16 bytes, 8 half-precision numbers"},
    Threshold{"min_kernel", 20, "us",
              "shorter ones spend much of their time starting and ending"},
    Threshold{"min_peers", 3, "count",
              "the rate to compare with is a median: of fewer it is chance"},
    Threshold{"max_rate", 0.6, "share",
              "of the aligned products' rate: tile sizes alone make products of like "
              "size differ by a third"},
    Threshold{"bandwidth", 0.5, "share",
              "of the device's peak: large products limited by memory reach 70-90 %"},
};

// Rates of the products of one device and type. They are kept by classes, powers of
// two of the work and of the work a byte, so that no cost grows with the square of the
// shapes.
class ProductRates {
 public:
  // Adds a product that took `time` nanoseconds (positive).
  void add(const Product& product, double time);

  // Takes each class's median, leaving out those of fewer than `min_peers`. Call it
  // once, after the last add().
  void settle(double min_peers);

  // Returns the nanoseconds that a product should take after those of its class or
  // below; 0 if there are none.
  //
  // Those with no more work a byte have it harder in both ways: their best rate is
  // due. At the rate of others, memory could be the limit: `bandwidth`, in bytes a
  // nanosecond, is what it can do; if 0, they do not count. The shorter time is due.
  double due(const Product& product, double bandwidth);

 private:
  using Class = std::pair<int, int>;
  // Best rates, FLOPs a nanosecond, for the products of a class; 0 without peers.
  struct Best {
    double alike = 0;  // With no more work a byte.
    double other = 0;  // All others.
  };
  static Class class_of(const Product& product);
  const Best& best_for(Class own);

  std::map<Class, std::vector<double>> rates_;
  std::map<Class, double> medians_;
  std::map<Class, Best> best_;  // as far as asked for
};

ProductRates::Class ProductRates::class_of(const Product& p) {
  return {static_cast<int>(std::floor(std::log2(p.flops))),
          static_cast<int>(std::floor(std::log2(p.intensity())))};
}

void ProductRates::add(const Product& product, double time) {
  rates_[class_of(product)].push_back(product.flops / time);
}

void ProductRates::settle(double min_peers) {
  for (auto& [key, rates] : rates_) {
    if (static_cast<double>(rates.size()) < min_peers) continue;
    medians_[key] = timeline::upper_median(rates);
  }
}

const ProductRates::Best& ProductRates::best_for(Class own) {
  const auto [it, fresh] = best_.try_emplace(own);
  if (!fresh) return it->second;
  for (const auto& [key, rate] : medians_) {
    if (key.first > own.first) break;  // by work: all that follow have more
    auto& best = key.second <= own.second ? it->second.alike : it->second.other;
    best = std::max(best, rate);
  }
  return it->second;
}

double ProductRates::due(const Product& product, double bandwidth) {
  const auto& best = best_for(class_of(product));
  const auto alike = best.alike > 0 ? product.flops / best.alike : 0;
  if (best.other <= 0 || bandwidth <= 0) return alike;
  const auto other = std::max(product.flops / best.other, product.bytes / bandwidth);
  return alike > 0 ? std::min(alike, other) : other;
}

/// All kernels of one operator.
struct Gemm {
  Product product;
  std::int64_t time = 0;  ///< Of all its kernels together.
  SoleKernel longest;
};

// The products of one device and type.
struct Group {
  std::vector<Gemm> misaligned;
  ProductRates aligned;
};

using Groups = std::map<std::string_view, Group>;
using Rows = std::unordered_set<std::uint32_t>;

Rows products_of_attentions(const Context& context) {
  Rows out;
  for (const auto& attention :
       find_attentions(context, LaunchedWork(context.timeline))) {
    out.insert(attention.products.begin(), attention.products.end());
  }
  return out;
}

Groups collect(const Context& context, const std::vector<SoleKernel>& kernels,
               const Rows& in_attentions) {
  const auto& t = context.timeline;
  std::unordered_map<std::uint32_t, Gemm> gemms;  // by operator
  std::vector<std::uint32_t> order;
  for (const auto& kernel : kernels) {
    const auto owner = t.owner_of(kernel.row);
    const auto* args = owner == kNoRow ? nullptr : context.args.op(owner);
    if (args == nullptr) continue;
    const auto [it, fresh] = gemms.try_emplace(owner);
    auto& gemm = it->second;
    if (fresh) {
      const auto product = product_of(t.trace->name(owner), *args);
      if (product && !product->convolution &&
          (product->data_type == "c10::Half" ||
           product->data_type == "c10::BFloat16")) {
        gemm.product = *product;
        order.push_back(owner);
      }
    }
    gemm.time += kernel.time.length();
    if (kernel.time.length() > gemm.longest.time.length()) gemm.longest = kernel;
  }
  const auto multiple =
      static_cast<std::int64_t>(std::min(1e9, context.limits[kMultiple]));
  Groups out;
  for (const auto owner : order) {
    const auto& gemm = gemms.at(owner);
    const auto& p = gemm.product;
    if (gemm.time < context.limits.ns(kMinKernel)) continue;
    const bool says_aligned = t.named(gemm.longest.row, Name::kAligned);
    auto& group = out[p.data_type];
    if (multiple > 0 && (p.inner % multiple != 0 || p.columns % multiple != 0)) {
      if (!says_aligned && !in_attentions.contains(owner))
        group.misaligned.push_back(gemm);
    } else {
      group.aligned.add(p, static_cast<double>(gemm.time));
    }
  }
  return out;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Claim> claims;
  auto& sole = sole_kernels(context);
  const auto in_attentions = products_of_attentions(context);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto* device = t.properties_of(t.devices[i].device);
    const auto* gpu = device == nullptr ? nullptr : timeline::gpu_of(device->name);
    // GB/s are bytes a nanosecond.
    const auto bandwidth =
        gpu == nullptr ? 0 : context.limits[kBandwidth] * gpu->bandwidth_gb_s;
    for (auto& [type, group] : collect(context, sole.of(i), in_attentions)) {
      group.aligned.settle(context.limits[kMinPeers]);
      for (const auto& gemm : group.misaligned) {
        const auto due = group.aligned.due(gemm.product, bandwidth);
        if (due <= 0) continue;
        const auto rate = due / static_cast<double>(gemm.time);
        if (rate >= context.limits[kMaxRate]) continue;
        claim_excess(context, i, gemm.longest, 1 - rate, PatternId::kMisalignedGemm, 0,
                     claims);
      }
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto owner = t.owner_of(f.events.front());
  const auto* args = owner == kNoRow ? nullptr : context.args.op(owner);
  const auto p =
      args == nullptr ? std::nullopt : product_of(t.trace->name(owner), *args);
  char number[32];
  std::snprintf(number, sizeof number, "%g", context.limits[kMultiple]);
  std::string sizes;
  if (p) {
    sizes = (f.count == 1 ? " (" : " (the costliest: ") + std::to_string(p->rows) +
            " x " + std::to_string(p->inner) + " times " + std::to_string(p->inner) +
            " x " + std::to_string(p->columns) + ")";
  }
  return count_text(f.count, "product", "products") +
         " with sizes that are not multiples of " + number + sizes +
         " ran at well under the rate of aligned ones of the same trace: up to " +
         duration_text(f.wasted_ns) + " more than at theirs.";
}

}  // namespace
}  // namespace misaligned_gemm

const Rule kMisalignedGemmRule{PatternId::kMisalignedGemm, misaligned_gemm::kThresholds,
                               misaligned_gemm::propose, misaligned_gemm::describe};

}  // namespace tta::patterns
