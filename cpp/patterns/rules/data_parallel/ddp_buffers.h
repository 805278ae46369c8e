// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/data_parallel/ddp_buffers.h: DistributedDataParallel's broadcast of
// buffers.
#pragma once

#include <vector>

#include "patterns/marks.h"

namespace tta::patterns {

/// Lists, of each DistributedDataParallel.forward, the stretch in which it sent the
/// module's buffers (running statistics of batch norm) from rank 0 to all: from where
/// it flattens them, over the broadcast, to the last copy back into a buffer. Only
/// where the flat tensor was taken apart again, tensor by tensor, is there a stretch.
/// What proves it is the first broadcast. As torch/csrc/distributed/c10d/comm.cpp does
/// it, in Python before that. Linear in the rows of threads with such a forward.
std::vector<Mark> ddp_buffers(const timeline::Timeline& timeline);

}  // namespace tta::patterns
