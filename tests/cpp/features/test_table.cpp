// SPDX-License-Identifier: BSD-3-Clause
// The tables: columns, the meaning of names, and the contents of a fingerprint.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "features/feature_table.h"
#include "features/kind.h"
#include "features/whole.h"
#include "patterns/pattern.h"

namespace tta::features {
namespace {

TEST(Table, EveryColumnSaysWhatItIs) {
  for (const auto columns : {window_columns(), token_columns()}) {
    std::set<std::string_view> names;
    for (const auto& column : columns) {
      EXPECT_TRUE(names.insert(column.name).second) << column.name;
      EXPECT_FALSE(column.unit.empty()) << column.name;
      EXPECT_FALSE(column.type.empty()) << column.name;
      EXPECT_FALSE(column.doc.empty()) << column.name;
    }
  }
}

TEST(Table, AColumnOfEachPatternFollowsTheStatistics) {
  const auto columns = window_columns();
  ASSERT_EQ(columns.size(), kStatistics + patterns::patterns().size());
  for (const auto& pattern : patterns::patterns()) {
    const auto at = kStatistics + static_cast<std::size_t>(pattern.id);
    EXPECT_EQ(columns[at].name, "cause_" + std::string(pattern.name));
  }
}

// FNV-1a's own test vectors: the fingerprint is the same on every machine.
TEST(Table, TheHashIsFnv1a) {
  EXPECT_EQ(hash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8u);
}

TEST(Table, TheFingerprintIsThatOfThisVersion) {
  EXPECT_EQ(fingerprint(), "3cd27c1569892cff")
      << "Arrays that were kept are not those of this version: where a column holds "
         "other values under its name, raise its version (kRaised in "
         "features/feature_table.cpp), then write the new fingerprint here.";
}

TEST(Table, TheFingerprintChangesWithEachField) {
  std::set<std::string> seen = {fingerprint_of(definition())};
  const auto changes = [&](const char* what, auto change) {
    auto other = definition();
    change(other);
    EXPECT_TRUE(seen.insert(fingerprint_of(other)).second) << what;
  };
  changes("pieces", [](Definition& d) { ++d.pieces; });
  changes("hashes", [](Definition& d) { ++d.piece_hashes; });
  changes("kind", [](Definition& d) { d.kinds[3].name = "another"; });
  changes("version of a kind", [](Definition& d) { ++d.kinds[3].version; });
  changes("order of kinds", [](Definition& d) { std::swap(d.kinds[3], d.kinds[4]); });
  for (const auto columns : {&Definition::windows, &Definition::tokens}) {
    changes("name", [&](Definition& d) { (d.*columns)[5].name = "another"; });
    changes("type", [&](Definition& d) { (d.*columns)[5].type = "another"; });
    changes("unit", [&](Definition& d) { (d.*columns)[5].unit = "another"; });
    changes("of", [&](Definition& d) { (d.*columns)[5].normalization = "another"; });
    changes("missing", [&](Definition& d) { (d.*columns)[5].missing = "another"; });
    changes("version", [&](Definition& d) { ++(d.*columns)[5].version; });
    changes("order",
            [&](Definition& d) { std::swap((d.*columns)[5], (d.*columns)[6]); });
    changes("number", [&](Definition& d) { (d.*columns).pop_back(); });
  }
  auto other = definition();
  other.windows[5].doc = "another";
  EXPECT_EQ(fingerprint_of(other), fingerprint());
}

TEST(Kinds, EachHasAGeneralOneOfItsSort) {
  const std::pair<Kind, Kind> known[] = {
      {Kind::kView, Kind::kOther},          {Kind::kQuantize, Kind::kOther},
      {Kind::kCollect, Kind::kRange},       {Kind::kLoader, Kind::kRange},
      {Kind::kLaunch, Kind::kCall},         {Kind::kModule, Kind::kCall},
      {Kind::kMatrixKernel, Kind::kKernel}, {Kind::kCommunication, Kind::kKernel},
      {Kind::kToHost, Kind::kInDevice},     {Kind::kMemset, Kind::kInDevice}};
  for (const auto& [kind, general] : known) {
    EXPECT_EQ(general_kind(kind), general) << static_cast<int>(kind);
  }
}

TEST(Kinds, OperatorsAreToldByName) {
  const std::pair<const char*, Kind> known[] = {
      {"aten::view", Kind::kView},
      {"aten::t", Kind::kView},
      {"aten::empty_strided", Kind::kReserve},
      {"aten::add_", Kind::kElementwise},
      {"aten::_scaled_dot_product_flash_attention", Kind::kMatrix},
      {"aten::mm", Kind::kMatrix},
      {"aten::cudnn_convolution", Kind::kMatrix},
      {"aten::native_layer_norm", Kind::kReduce},
      {"aten::index_put_", Kind::kIndex},
      {"aten::to", Kind::kCopy},
      {"aten::_to_copy", Kind::kCopy},
      {"aten::zero_", Kind::kFill},
      {"aten::item", Kind::kRead},
      {"aten::nonzero", Kind::kRead},
      {"aten::_foreach_add_", Kind::kOptimizer},
      {"aten::_fused_adamw_", Kind::kOptimizer},
      {"c10d::allreduce_", Kind::kCollective},
      {"nccl:all_reduce", Kind::kCollective},
      {"autograd::engine::evaluate_function: MmBackward0", Kind::kBackward},
      {"Torch-Compiled Region: 0/0", Kind::kCompiled},
      {"aten::quantize_per_tensor", Kind::kQuantize},
      {"mylib::frobnicate", Kind::kOther},
  };
  for (const auto& [name, kind] : known) EXPECT_EQ(operator_kind(name), kind) << name;
}

TEST(Kinds, CallsOfEveryVendorAreToldByName) {
  const std::pair<const char*, Kind> known[] = {
      {"cudaLaunchKernel", Kind::kLaunch},
      {"hipExtModuleLaunchKernel", Kind::kLaunch},
      {"cuLaunchKernelEx", Kind::kLaunch},
      {"cudaGraphLaunch", Kind::kGraphLaunch},
      {"cudaStreamSynchronize", Kind::kWait},
      {"hipDeviceSynchronize", Kind::kWait},
      {"cudaMemcpyAsync", Kind::kCopyCall},
      {"hipMemcpyWithStream", Kind::kCopyCall},
      {"cudaMalloc", Kind::kMemory},
      {"hipFree", Kind::kMemory},
      {"cudaEventRecord", Kind::kEvent},
      {"cudaStreamWaitEvent", Kind::kEvent},
      {"cuModuleLoadData", Kind::kModule},
      {"cudaDeviceGetAttribute", Kind::kCall},
  };
  for (const auto& [name, kind] : known) EXPECT_EQ(call_kind(name), kind) << name;
}

TEST(Kinds, KernelsAreToldByName) {
  EXPECT_EQ(kernel_kind("ampere_sgemm_128x64_nn"), Kind::kMatrixKernel);
  EXPECT_EQ(kernel_kind("Cijk_Ailk_Bljk_HHS"), Kind::kMatrixKernel);
  EXPECT_EQ(kernel_kind("void at::native::vectorized_elementwise_kernel<4>"),
            Kind::kElementwiseKernel);
  EXPECT_EQ(kernel_kind("void at::native::reduce_kernel<512>"), Kind::kReduceKernel);
  EXPECT_EQ(kernel_kind("my_kernel"), Kind::kKernel);
}

std::uint16_t piece(std::string_view word) {
  return static_cast<std::uint16_t>(1 + hash(word) % kPieceHashes);
}

TEST(Pieces, WordsThatTellAreKept) {
  EXPECT_EQ(pieces_of("aten::add_"), (Pieces{piece("aten"), piece("add")}));
  // No template's boilerplate, no number, nothing twice, a capital begins a word.
  EXPECT_EQ(pieces_of("void at::native::vectorized_elementwise_kernel<4, "
                      "at::native::CUDAFunctor_add<float>, add>(int)"),
            (Pieces{piece("vectorized"), piece("elementwise"), piece("kernel"),
                    piece("cudafunctor"), piece("add"), piece("float")}));
  EXPECT_EQ(pieces_of("cudaLaunchKernel"),
            (Pieces{piece("cuda"), piece("launch"), piece("kernel")}));
  EXPECT_EQ(pieces_of("ProfilerStep#12"), pieces_of("ProfilerStep#7"));
  EXPECT_EQ(pieces_of(""), Pieces{});
  EXPECT_EQ(pieces_of("1234 <>"), Pieces{});
}

TEST(Pieces, LongAndForeignNamesAreBoundedAndDiffer) {
  EXPECT_EQ(pieces_of(std::string(1 << 20, 'x')).at(1), 0);
  EXPECT_NE(pieces_of("\xd0\xb4\xd0\xb0"), Pieces{});
  EXPECT_NE(pieces_of("Memcpy HtoD"), pieces_of("Memcpy DtoH"));
}

}  // namespace
}  // namespace tta::features
