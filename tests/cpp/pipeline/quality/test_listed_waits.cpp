// SPDX-License-Identifier: BSD-3-Clause
// Ids of findings, and the waits that a dry run lists in the mark of its trace;
// tests/python/test_simulated_waits.py covers the entries that are left out.
#include "pipeline/accounting/finding_id.h"
#include "pipeline/analyzed.h"

namespace tta::pipeline {
namespace {

using patterns::Finding;
using patterns::PatternId;

TEST(FindingId, Sha256IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // 55 bytes fill a block with their length, 56 do not.
  EXPECT_NE(sha256(std::string(55, 'a')), sha256(std::string(56, 'a')));
  EXPECT_EQ(sha256(std::string(119, 'a')),
            "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
}

Finding at(std::string file, std::string function) {
  Finding out;
  out.pattern = PatternId::kSyncStall;
  out.location = timeline::Frame{std::move(file), 88, std::move(function)};
  out.operator_name = "aten::item";  // Of a known line it does not count.
  return out;
}

TEST(FindingId, IsTheOneOfEarlierVersions) {
  std::vector<Finding> findings(2, at("it's/tr\\\xc3\xa4\n.py", "a\"b"));
  findings.push_back(at("it's.py",
                        "st\xc2\xa0"
                        "ep\x7f\xc2\x85"));
  findings.emplace_back().pattern = PatternId::kMissedCudaGraph;
  findings.back().operator_name = "aten::mm";
  name_findings(findings, {});
  EXPECT_EQ(findings[0].id, "sync_stall-1d2129d7");
  EXPECT_EQ(findings[1].id, "sync_stall-1d2129d7-2");
  EXPECT_EQ(findings[2].id, "sync_stall-1eb501f8");
  EXPECT_EQ(findings[3].id, "missed_cuda_graph-3b80152b");
}

// Two steps of which each waits once for 480 us of sorting, with a list of waits.
Analyzed listing(const std::string& waits) {
  return Analyzed(TraceText()
                      .step(0, 0, 1400)
                      .step(1, 1400, 1610)
                      .launched(0, 10, 1000, 1)
                      .call("cudaStreamSynchronize", 20, 995, 2)
                      .launched(1500, 1510, 1500, 3)
                      .header(R"("torchtraceap": {"simulated": true, "dry_run":
                              {"host_us_per_op": 10, "waits": [)" +
                              waits + "]}}"));
}

std::vector<Finding> stalls(const Report& report) {
  std::vector<Finding> out;
  for (const auto& f : report.findings) {
    if (f.pattern == PatternId::kSyncStall) out.push_back(f);
  }
  return out;
}

TEST(ListedWaits, ThoseOfNoFindingAreOneOfTheirOwn) {
  const Analyzed report(listing(
      R"({"file": "train.py", "line": 3, "function": "main", "api": "Tensor.cuda",
          "subtype": "blocking_copy", "steps": [[0, 0, 9]]},
         {"file": "train.py", "line": 12, "function": "step", "api": "aten::item",
          "subtype": "scalar_read", "steps": [[0, 1, 2]], "advice": "do not"})"));
  EXPECT_TRUE(report.lists_waits);
  const auto found = stalls(report);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].waits, 0u);  // Without a line, and none is listed.
  const auto& wait = found[1];
  EXPECT_EQ(wait.count, 4u);
  EXPECT_EQ(wait.waits, 4u);
  EXPECT_EQ(wait.wasted_ns, 0);
  EXPECT_EQ(wait.advice, "do not");
  EXPECT_TRUE(says(wait.message,
                   "4 times, 2 a step; on this simulated timeline, with "
                   "10 µs of host time assumed for an operator"));
  EXPECT_TRUE(says(found[2].message, "9 times, in the first step only"));
  EXPECT_NE(found[2].advice, "");
}

TEST(ListedWaits, ThoseOfAFindingSayHowOften) {
  const Analyzed report(listing(
      R"({"api": "torch.cuda.synchronize", "subtype": "explicit", "steps": [[0, 4, 3]]})"));
  const auto found = stalls(report);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].waits, 15u);
}

TEST(ListedWaits, NumbersBeyondAllBoundsDoNotOverflow) {
  const Analyzed report(listing(
      R"({"file": "a.py", "line": 1, "api": "x", "subtype": "explicit", "steps":
          [[0, 1000000000000, 1000000000000], [0, 1000000000000, 1000000000000]]})"));
  const auto found = stalls(report);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].count, 1'000'000'000'000'000'000u);
}

}  // namespace
}  // namespace tta::pipeline
