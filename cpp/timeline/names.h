// SPDX-License-Identifier: BSD-3-Clause
// timeline/names.h: the one table of what the names of events mean.
//
// A row is a meaning and the names that have it, as globs: "aten::add*", "*Backward*".
// Each name of a trace is classified once, so that to ask for a meaning costs nothing.
// What several names have in common belongs here; a single name that one rule looks
// for is compared where it is looked for.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "trace/string_pool.h"

namespace tta::timeline {

// clang-format off: a row a paragraph
//
// Where a glob is looked for:
//   kName     in the name, letter for letter
//   kAnyCase  in the name, in capital or small letters
//   kWord     among the words of the name, in any case: "mma" is a word of "sm80_mma"
//             and of "fastMma", and none of "gamma". Words are letters, divided by
//             anything else and where a capital follows a small letter
//   kCall     in the name of a driver's call without prefix and version:
//             "cuMemAlloc_v2" is "MemAlloc"
//   kBuiltin  as the first words of a function of C: "wait" of "<built-in method wait
//             of Event object at 0x7f>"
//   kDerived  nowhere: it follows from others, see names.cpp
//
// id, where, names ("|" between them, "*" for any text), what it means
#define TTA_NAMES(X)                                                                   \
  /* --- Calls into CUDA, HIP and their like --------------------------------------- */\
  X(kCudaCall, kName, "cu*", "CUDA's; its args hold ids only")                         \
  X(kHipCall, kName, "hip*", "HIP's")                                                  \
  X(kLaunch, kName,                                                                    \
    "*LaunchKernel*|*KernelLaunch*|*GraphLaunch*|*LaunchCooperativeKernel*",           \
    "launches a kernel or a graph, by its name: its link shows whether it did")        \
  X(kGraphLaunch, kName, "*GraphLaunch*", "launches a graph")                          \
  X(kLaunchLike, kName, "*Launch*", "its length is its own as far as it loads code")   \
  X(kStreamWaitEvent, kName, "*StreamWaitEvent*", "makes a stream wait for an event")  \
  X(kMemcpy, kName, "*Memcpy*", "copies")                                              \
  X(kCopyOrFill, kName, "*emcpy*|*emset*", "copies, or fills memory")                  \
  X(kAsync, kName, "*Async*", "says that it does not block")                           \
  X(kQueued, kName, "*enqueueCommand*", "MTIA's queue: asynchronous by design")        \
  X(kSynchronize, kName, "*ynchronize*", "waits for a device, a stream or an event")   \
  X(kDeviceSynchronize, kName, "*DeviceSynchronize*", "waits for all of a device")     \
  X(kBlocks, kDerived, "", "blocks: it synchronizes, or copies and is not async")      \
  X(kEventCall, kName, "*Event*", "is about an event")                                 \
  X(kFreeCall, kName, "*Free*", "frees memory")                                        \
  /* As CUDA and HIP spell them. The cuMem calls are those of expandable segments. What\
     is ordered on a stream (cudaMallocAsync) neither waits nor asks the driver. */    \
  X(kAllocates, kCall,                                                                 \
    "Malloc|MallocHost|MallocManaged|MallocPitch|HostAlloc|HostMalloc|HostRegister|"   \
    "MemAlloc|MemCreate|MemMap|MemAddressReserve|MemSetAccess|ExtMallocWithFlags",     \
    "allocates device memory, or pinned memory, from the driver")                      \
  X(kReleases, kCall,                                                                  \
    "Free|FreeHost|HostFree|HostUnregister|MemUnmap|MemRelease|MemFree|MemAddressFree",\
    "gives it back")                                                                   \
  X(kCodeCall, kName,                                                                  \
    "*ModuleLoad*|*LibraryLoad*|*ModuleGetFunction*|*LibraryGetKernel*|"               \
    "*LibraryGetModule*|*KernelGetFunction*|*LinkAddData*|*LinkComplete*",             \
    "is about device code")                                                            \
  X(kOrderedCall, kName,                                                               \
    "*Synchronize*|*Memcpy*|*Memset*|*Launch*|*StreamWait*|*Event*|*StreamIsCap*|"     \
    "*StreamQuery*",                                                                   \
    "waits for the device, or queues behind it")                                       \
  X(kCreates, kName, "*Create*", "may be the first call of all, and set up the device")\
  X(kQuery, kName, "*Get*|*Init*|*SetDevice*|*PeekAtLastError*|*PrimaryCtx*",          \
    "asks for versions, devices, attributes: it needs no context")                     \
  X(kCaptureQuery, kName, "*StreamIsCap*", "asks whether a stream is being captured")  \
  X(kBeginsCapture, kName, "*StreamBeginCapture*", "begins the capture of a graph")    \
  X(kEndsCapture, kName, "*StreamEndCapture*", "ends it")                              \
  /* One of these four is what a driver's call is: MTIA's ranges around whole models go\
     by the category of calls too. */                                                  \
  X(kLoads, kDerived, "", "loads device code")                                         \
  X(kMemory, kDerived, "", "allocates or frees the driver's memory")                   \
  X(kInOrder, kDerived, "", "waits or queues: its length is not its own")              \
  X(kSetsUp, kDerived, "", "any other: long only if it is the first")                  \
  X(kNoOperator, kDerived, "", "any of these, or compiles, loads or imports code")     \
                                                                                       \
  /* --- Operators and ranges ------------------------------------------------------ */\
  X(kAten, kName, "aten::*", "torch's own operator")                                   \
  X(kNamespaced, kName, "*::*", "an operator's name, or autograd's range")             \
  X(kAutogradRange, kName, "autograd::*", "a range that encloses operators")           \
  X(kOperator, kDerived, "", "an operator's (torchvision::nms), of no range")          \
  /* Such compute nothing on any device (reshape copies at times; it then has a launch,\
     or an operator that computes, inside). */                                         \
  X(kDescribes, kName,                                                                 \
    "aten::t|aten::numpy_T|aten::transpose|aten::transpose_|aten::permute|"            \
    "aten::movedim|aten::view|aten::view_as|aten::_unsafe_view|aten::_reshape_alias|"  \
    "aten::reshape|aten::flatten|aten::unflatten|aten::expand|aten::expand_as|"        \
    "aten::broadcast_tensors|aten::as_strided|aten::as_strided_|aten::select|"         \
    "aten::slice|aten::narrow|aten::diagonal|aten::unsqueeze|aten::unsqueeze_|"        \
    "aten::squeeze|aten::squeeze_|aten::split|aten::split_with_sizes|aten::chunk|"     \
    "aten::unbind|aten::detach|aten::detach_|aten::alias|aten::lift_fresh|aten::conj|" \
    "aten::resolve_conj|aten::resolve_neg|aten::result_type|aten::empty|"              \
    "aten::empty_like|aten::empty_strided|aten::new_empty|aten::new_empty_strided|"    \
    "aten::resize_|aten::set_|aten::size|aten::unflatten_dense_tensors|"               \
    "aten::view_as_real",                                                              \
    "only makes a view of a tensor, or reserves one")                                  \
  X(kMakesEmpty, kName,                                                                \
    "aten::empty|aten::empty_like|aten::empty_strided|aten::new_empty|"                \
    "aten::new_empty_strided|aten::resize_|aten::resize_output_",                      \
    "allocates for the operator around it, and does no more")                          \
  X(kIndexes, kName, "aten::select|aten::slice", "takes one element, or some")         \
  X(kReadsInputs, kName,                                                               \
    "aten::mm|aten::bmm|aten::addmm|aten::baddbmm|aten::matmul|aten::linear|"          \
    "aten::_scaled_mm|aten::convolution|aten::conv1d|aten::conv2d|aten::conv3d|"       \
    "aten::conv_transpose2d|aten::cudnn_convolution|aten::cudnn_convolution_backward|" \
    "aten::cudnn_convolution_backward_input|"                                          \
    "aten::cudnn_convolution_backward_weight|aten::miopen_convolution|"                \
    "aten::convolution_backward|aten::softmax|aten::to|aten::_to_copy|aten::copy_|"    \
    "aten::clone|aten::contiguous|aten::fill_|aten::zero_|aten::normal_|"              \
    "aten::uniform_|aten::random_|aten::bernoulli_|aten::exponential_|*attention*",    \
    "a rule needs its inputs to see its effect, so they are read")                     \
  /* Attention: product, softmax, product. */                                          \
  X(kBatchedProduct, kName, "aten::bmm|aten::baddbmm|aten::baddbmm_",                  \
    "its first or second product")                                                     \
  X(kSoftmax, kName, "aten::_softmax|aten::_softmax_backward_data", "its softmax")     \
  X(kOnTheFly, kName,                                                                  \
    "aten::mul|aten::mul_|aten::div|aten::div_|aten::add|aten::add_|"                  \
    "aten::masked_fill|aten::masked_fill_|aten::native_dropout|aten::_fused_dropout|"  \
    "aten::where|aten::native_dropout_backward",                                       \
    "scales or masks: a fused kernel does it on the fly")                              \
  /* The second half touches no data, which a CPU trace does not show otherwise. */    \
  X(kPrepares, kName,                                                                  \
    "aten::copy_|aten::fill_|aten::index|aten::cat|aten::sub|aten::rsub|aten::eq|"     \
    "aten::ne|aten::lt|aten::le|aten::ge|aten::all|aten::logical_not|"                 \
    "aten::bitwise_not|aten::tril|aten::bernoulli_|aten::expand|aten::view|"           \
    "aten::_unsafe_view|aten::_reshape_alias|aten::transpose|aten::permute|"           \
    "aten::as_strided|aten::slice|aten::select|aten::unsqueeze|aten::squeeze|"         \
    "aten::detach|aten::empty|aten::empty_like|aten::empty_strided|aten::resize_|"     \
    "aten::scalar_tensor|aten::to|aten::dropout|aten::contiguous|aten::reshape|"       \
    "aten::result_type|aten::resolve_conj",                                            \
    "prepares a mask or the other operand; needed in any case")                        \
  X(kConvolution, kName, "aten::conv1d|aten::conv2d|aten::conv3d", "a convolution")    \
  X(kSlowConvolution, kName, "aten::*slow_conv*|aten::thnn_conv*",                     \
    "a convolution on the CPU without oneDNN")                                         \
  X(kBatchNorm, kName, "aten::*batch_norm*", "a batch norm")                           \
  X(kFills, kName,                                                                     \
    "aten::fill_|aten::zero_|aten::normal_|aten::uniform_|aten::random_|"              \
    "aten::bernoulli_|aten::exponential_",                                             \
    "fills a tensor")                                                                  \
  X(kMakesRoom, kName,                                                                 \
    "aten::empty|aten::empty_strided|aten::empty_like|aten::pin_memory|"               \
    "aten::is_pinned|aten::detach|aten::_has_compatible_shallow_copy_type",            \
    "makes memory without content, or comes between a tensor and its copy")            \
  /* _copy_from: copy_ of backends outside torch. */                                   \
  X(kHostCopy, kName,                                                                  \
    "aten::copy_|aten::_to_copy|aten::to|aten::cpu|aten::cuda|aten::_copy_from",       \
    "copies between host and device")                                                  \
  X(kCopiesOnly, kName, "aten::copy_|aten::_to_copy|aten::clone|aten::contiguous",     \
    "copies or converts, and does nothing else")                                       \
  /* Device data that the host reads, by what it does with it. */                      \
  X(kReadsScalar, kName,                                                               \
    "aten::_local_scalar_dense|aten::item|aten::is_nonzero|aten::equal",               \
    "reads a value")                                                                   \
  X(kReadsSize, kName,                                                                 \
    "aten::nonzero|aten::nonzero_numpy|aten::masked_select|aten::unique|"              \
    "aten::_unique|aten::_unique2|aten::unique_consecutive|aten::unique_dim|"          \
    "aten::repeat_interleave|aten::bincount",                                          \
    "its result's size depends on the data")                                           \
  X(kReadsCopy, kName, "aten::_to_copy|aten::copy_", "copies what is read")            \
  X(kBreaksGraph, kName,                                                               \
    "aten::item|aten::_local_scalar_dense|aten::is_nonzero|aten::nonzero|"             \
    "TorchDynamo Cache Lookup",                                                        \
    "is outside of any compiled graph")                                                \
  X(kUpdate, kName,                                                                    \
    "aten::add*|aten::mul*|aten::div*|aten::lerp*|aten::sub*|aten::sqrt*|aten::copy_*|"\
    "aten::maximum*|aten::neg*|aten::sign*",                                           \
    "updates a parameter or its state, with the arithmetic for it")                    \
  X(kManyTensors, kName, "*multi_tensor*|*_foreach_*|*fused*|*Fused*",                 \
    "takes many tensors at once, as an operator or a kernel")                          \
  X(kOptimizer, kName, "Optimizer.*", "torch's range around an optimizer")             \
  X(kZeroGrad, kName, "Optimizer.zero_grad#*|*: zero_grad",                            \
    "clears gradients: torch's range, or the frame of an optimizer or a module")       \
  /* A step of decoding; caches that grow, and those of a fixed size. */               \
  X(kEmbeds, kName, "aten::embedding", "embeds the last token")                        \
  X(kAppends, kName, "aten::cat|aten::index_copy_", "appends to a cache")              \
  X(kChooses, kName, "aten::argmax|aten::multinomial", "chooses the next token")       \
  X(kBackward, kName, "autograd::engine::evaluate_function*|*Backward*",               \
    "of a backward pass")                                                              \
  X(kAutogradEngine, kName, "autograd::engine::*", "of autograd's engine")             \
  X(kAutogradNode, kName, "autograd::engine::evaluate_function: *", "one of its nodes")\
  X(kAutogradThread, kName, "autograd::engine::*|torch::autograd::*",                  \
    "on a thread of autograd's engine")                                                \
  X(kAccumulatesGradient, kName, "*AccumulateGrad*", "stores a gradient")              \
  X(kCollectiveCall, kName, "c10d::*", "asks for a collective")                        \
  X(kCollectiveWait, kName, "*c10d_functional::wait_tensor",                           \
    "waits for a functional collective; all others only queue theirs")                 \
  X(kDistributed, kName, "*c10d*", "of torch.distributed: an operator or a frame")     \
  X(kBackend, kName, "gloo:*|mpi:*|ucc:*", "carries out a collective on the host")     \
  X(kDeviceBackend, kName, "nccl:*|rccl:*|xccl:*|hccl:*",                              \
    "around a collective on a device")                                                 \
  X(kCompiles, kName,                                                                  \
    "*(dynamo_timed)|torch/_dynamo/convert_frame.py(*): _compile|"                     \
    "*triton/compiler/compiler.py(*): compile",                                        \
    "torch.compile or Triton compiling, as range or frame")                            \
  X(kDynamo, kName, "*(dynamo_timed)|dynamo", "torch.compile compiling, as a range")   \
  X(kRegion, kName, "Torch-Compiled Region*", "code from torch.compile runs")          \
  X(kNumberedRegion, kName, "Torch-Compiled Region: *", "the same, with its number")   \
  X(kGraphCall, kName, "## Call CompiledFxGraph *", "inductor's call of a graph")      \
  X(kLazyLoad, kName, "*Lazy Function Loading*", "CUPTI: a function's first use")      \
  /* As Kineto prints CUpti_ActivityOverheadKind; lazy loading is paid for without a   \
     profiler too. */                                                                  \
  X(kOverhead, kName,                                                                  \
    "*Activity Buffer Request*|*Buffer Flush*|*Instrumentation*|*Resource*",           \
    "the profiler's own work")                                                         \
                                                                                       \
  /* --- Python frames ------------------------------------------------------------- */\
  X(kImports, kName, "<frozen importlib._bootstrap>(*): _find_and_load",               \
    "imports a module")                                                                \
  X(kCollects, kName, "Python GC|<built-in function collect>",                         \
    "collects garbage, recorded as an event or a call")                                \
  X(kStores, kName,                                                                    \
    "<built-in method append of list object*|<built-in method insert of list object*|" \
    "<built-in method append of collections.deque object*|"                            \
    "<built-in method appendleft of collections.deque object*|"                        \
    "<built-in method setdefault of dict object*|"                                     \
    "<built-in method add of set object*",                                             \
    "puts an element into a container: no I/O, no lock, no other code")                \
  X(kWaitsForOthers, kBuiltin,                                                         \
    "acquire|poll|select|recv|recv_into|accept|waitpid|connect|recvfrom|"              \
    "__enter__ of _thread|run_backward|wait",                                          \
    "returns after an action of another thread, process or device")                    \
  X(kSleeps, kName, "<built-in function sleep>", "waits for the time to pass")         \
  X(kWaitMethod, kName, "<built-in method wait of *",                                  \
    "waits: for a collective, or for a condition")                                     \
  X(kRunsBackward, kName, "<built-in method run_backward of *",                        \
    "runs a backward pass, and waits in it for DDP's buckets")                         \
  X(kSendsBuffers, kName, "<built-in method _broadcast_coalesced of *",                \
    "DDP's copies of buffers from rank 0, and the waits between them")                 \
  X(kDdpFrame, kName, "torch/distributed/distributed_c10d.py(*",                       \
    "of torch.distributed")                                                            \
  X(kMakesIterator, kName, "torch/utils/data/dataloader.py(*): _get_iterator",         \
    "makes a loader's iterator, and starts its workers")                               \
  X(kEndsIterator, kName, "torch/utils/data/dataloader.py(*): _shutdown_workers",      \
    "ends a loader's workers")                                                         \
  X(kEmptiesCache, kName, "*): empty_cache|*_cuda_emptyCache*",                        \
    "empties torch's cache of device memory")                                          \
  X(kDynamoWrapper, kName, "torch/_dynamo/eval_frame.py(*: _fn",                       \
    "around a compiled graph, or a function that is kept out of it")                   \
  X(kCompiledCall, kName, "torch/_dynamo/eval_frame.py(*: compile_wrapper",            \
    "a call of a compiled function")                                                   \
  X(kResumes, kName, "*torch_dynamo_resume_in_*|*<resume in *",                        \
    "continues after a graph break: its line is the break's")                          \
  X(kInductorCode, kName, "*torchinductor_*", "code from torch.compile")               \
  X(kProfilerFile, kName,                                                              \
    "torch/profiler/profiler.py(*|torchtraceap/profiling/session.py(*|"                \
    "torchtraceap/checking/trace_check.py(*",                                          \
    "of torch's profiler, or of torchtraceap around it")                               \
  X(kProfilerStep, kName,                                                              \
    "*): start|*): stop|*): step|*): start_trace|*): stop_trace|*): _transit_action",  \
    "if of the profiler: changes its state, or writes the file")                       \
  X(kStopsProfiler, kName,                                                             \
    "torch/profiler/profiler.py*: stop_trace|torch/profiler/profiler.py*: stop",       \
    "stops torch's profiler")                                                          \
                                                                                       \
  /* --- Kernels and copies -------------------------------------------------------- */\
  /* What is communication, by library: NCCL (ncclKernel_* until 2.18, ncclDevKernel_*  \
     since, ncclSymkDevKernel_*), RCCL, MSCCL, oneCCL, HCCL; NVSHMEM, rocSHMEM; the     \
     exchange of experts' tokens by DeepEP, MoRI and TensorRT-LLM. Then by collective,  \
     as torch's symmetric memory, vLLM, SGLang, FlashInfer, TensorRT-LLM and AITER      \
     name their own, norms fused into them included. */                                \
  X(kCommunication, kAnyCase,                                                          \
    "*nccl*|*rccl*|*msccl*|*oneccl*|*hccl*|*hcom_*|*nvshmem*|*rocshmem*|*deep_ep::*|"  \
    "*internode::*|*internode_ll::*|*intranode::*|*epdispatch*node*|"                  \
    "*epcombine*node*|*moea2a*|*cross_device_reduce*|*cross_device_store*|"            \
    "*multimem_*|*all_reduce*|*allreduce*|*all_gather*|*allgather*|*reduce_scatter*|"  \
    "*reducescatter*|*all_to_all*|*alltoall*|*all2all*",                               \
    "a kernel of a collective")                                                        \
  /* Inductor names a kernel after all operators that it holds parts of, such as what  \
     works on a collective's result. */                                                \
  X(kWithinDevice, kAnyCase,                                                           \
    "*triton_poi_*|*triton_red_*|*triton_per_*|*triton_tem_*|*triton_for_*|"           \
    "*warpallreduce*|*warp_all_reduce*|*blockallreduce*|*block_all_reduce*",           \
    "moves nothing between devices, whatever else its name says")                      \
  /* The instruction (884, 1688, 16816: m, n, k of one tensor core operation), or what \
     only tensor cores compute with. */                                                \
  X(kTensorCores, kName,                                                               \
    "*tensorop*|*884*|*1688*|*16816*|*161616*|*16832*|*hmma*|*imma*|*dmma*|*wmma*|"    \
    "*wgmma*|*gmma*|*tf32*|*nvjet*|*bf16bf16*|*f16f16*|*umma*",                        \
    "a product or convolution of cuBLAS, cuDNN or CUTLASS on tensor cores")            \
  X(kOrdinaryUnits, kName,                                                             \
    "*sgemm*|*dgemm*|*simt*|*ffma*|*scudnn*|*dcudnn*|*dgrad_engine<float*|"            \
    "*wgrad_alg0_engine<float*|*dgrad2d_alg1*|*wgrad2d_*",                             \
    "the same on ordinary units; names without either are common")                     \
  X(kAligned, kName, "*align8*|*align16*", "a product that found its data aligned")    \
  /* Parts that are in no other word; whole words, as parts they are in "gamma",       \
     "convert", "comm", "bilinear". */                                                 \
  X(kTunedPart, kAnyCase,                                                              \
    "*gemm*|*gemv*|*cutlass*|*nvjet*|*cudnn*|*winograd*|*fmha*|*flash*|*attn*|*cijk_*|"\
    "*cublas*|*attention*|*triton_tem_*|*marlin*",                                     \
    "")                                                                                \
  X(kTunedWord, kWord,                                                                 \
    "mma|xmma|hmma|imma|wgmma|umma|mm|bmm|addmm|baddbmm|addbmm|matmul|conv|convolve|"  \
    "convolution|convolutional|lstm|gru|rnn|linear|fft",                               \
    "")                                                                                \
  X(kTuned, kDerived, "",                                                              \
    "a kernel or operator that holds much of a multiprocessor in few threads by "      \
    "design: products, convolutions, attention, FFT")                                  \
  X(kMemoryBound, kAnyCase,                                                            \
    "*elementwise*|*reduce*|*reduction*|*softmax*|*norm*|*copy*|*transpose*|*scan*|"   \
    "*sort*|*gather*|*scatter*|*index*|*embedding*|*pool*|*dropout*|*act_and_mul*|"    \
    "*silu*|*rotary*|*_rope*|*quantize*|*store_cache*|*cache_flash*|*triton_poi_*|"    \
    "*triton_red_*|*triton_per_*",                                                     \
    "reads and writes memory and computes little")                                     \
  /* Of serving engines, asked in this order, before kTuned and kMemoryBound. */        \
  X(kOfExperts, kAnyCase,                                                              \
    "*moe*|*expert*|*grouped_gemm*|*groupedgemm*|*matmul_ogs*|*topkgating*",           \
    "a kernel of a mixture of experts")                                                \
  X(kAttends, kAnyCase,                                                                \
    "*attn*|*attention*|*fmha*|*flash_fwd*|*flash_bwd*|*flashmla*|*_mla_*|*mla::*|"    \
    "*batchdecode*|*batchprefill*|*paged_kv*|*pagedkv*|*_fwd_kernel_stage*|"            \
    "*_fwd_grouped_kernel*|*sdpa*|*_mha*|*mha_*|*xqa*",                               \
    "a kernel of attention")                                                           \
  X(kSamples, kAnyCase,                                                                \
    "*sampling*|*sampler*|*argmax*|*multinomial*|*top_p*|*topp*|*top_k*|*gathertopk*|" \
    "*penalt*|*min_p*",                                                                \
    "a kernel that chooses tokens")                                                    \
  X(kSoftmaxKernel, kAnyCase, "*softmax*", "if of the device: a kernel of softmax")    \
  X(kDequantizes, kAnyCase, "*dequantize*|*dequant_*",                                 \
    "a kernel that widens quantized weights")                                          \
  /* Of an engine's frames and ranges around a step (vLLM 0.8 to 0.14, SGLang 0.5). */  \
  X(kSchedules, kName,                                                                 \
    "schedule: *|*core step: schedule*|*scheduler.py(*): schedule|"                    \
    "*: get_next_batch_to_run|*: _get_new_batch_prefill*|*: get_new_batch_prefill|"    \
    "*: update_running_batch|*: recv_requests|*: process_input_requests|"              \
    "*: prepare_for_decode|*: prepare_for_extend|*: get_grammar_bitmask",              \
    "chooses the requests of a step")                                                  \
  X(kPreparesStep, kName,                                                              \
    "gpu_model_runner: preprocess|Preprocess|*: _prepare_inputs|*: _update_states|"    \
    "*: prepare_inputs|*: synchronize_input_prep|*: _prepare_input_ids|"               \
    "*: _build_attention_metadata|*: replay_prepare|*: init_forward_metadata*|"        \
    "*: get_model_worker_batch|*forward_batch_info.py(*): init_new|"                   \
    "*: populate_from_forward_batch|*: _preprocess|*: prepare_attn",                   \
    "prepares the inputs of a step")                                                   \
  X(kSamplesTokens, kName,                                                             \
    "gpu_model_runner: sample|gpu_model_runner: bookkeep|Sample|Bookkeep|*: _sample|"  \
    "*: sample|*: sample_tokens|*: _bookkeeping_sync|*sampler.py(*): forward|"         \
    "*: compute_logits|*: _preprocess_logits",                                         \
    "chooses the tokens of a step, or reads them")                                     \
  X(kGivesOutput, kName,                                                               \
    "llm_engine step: process_outputs|llm_engine step: record_stats|"                  \
    "*: process_outputs|*process_batch_result*|*: stream_output*|*: update_from_output|"\
    "*detokenizer*.py(*): *",                                                          \
    "gives the tokens of a step to its requests")                                      \
  X(kWaitsForEngine, kName,                                                            \
    "*shm_broadcast.py(*): *|llm_engine step: get_output|*: recv_multipart|"           \
    "*queue.py(*): get|*: _process_input_queue",                                       \
    "waits for another process of the engine")                                         \
  X(kElementwise, kName,                                                               \
    "*elementwise_kernel*|*layer_norm*|*LayerNorm*|*rms_norm*|*RmsNorm*|*rmsnorm*|"    \
    "*batch_norm_transform_input*|*fused_dropout_kernel*",                             \
    "a kernel that passes data on element by element")                                 \
  X(kCarried, kName, "*FillFunctor*|*reduce_kernel*",                                  \
    "may be within a chain of these, and is not counted: sums, fills")                 \
  X(kMultiTensor, kName, "*multi_tensor*", "a kernel over many tensors: no chain's")   \
  X(kCasts, kName, "*WithCast*|*float16_copy_kernel*|*float8_copy_kernel*",            \
    "torch's copy kernel to another dtype")                                            \
  X(kChangesLayout, kName, "*nocast*copy_kernel*|*copy_kernel*nocast*",                \
    "torch's copy kernel to other strides")                                            \
  /* Launched inside the convolution, without an operator. */                          \
  X(kChangesFormat, kName,                                                             \
    "*batched_transpose_*|*nchwToNhwcKernel*|*nhwcToNchwKernel*|"                      \
    "*nchwToFoldedNhwcKernel*|*foldedNhwcToNchwKernel*",                               \
    "a transpose of MIOpen or cuDNN for a kernel that needs the other memory format")  \
  /* As Kineto writes it ("Memcpy HtoD (Pageable -> Device)"), or as roctracer did. */ \
  X(kToDevice, kName, "*HtoD*|*HostToDevice*", "a copy from the host")                 \
  X(kToHost, kName, "*DtoH*|*DeviceToHost*", "a copy to the host")                     \
  X(kInDevice, kName, "*DtoD*|*DeviceToDevice*", "a copy inside of a device")          \
  X(kBetweenDevices, kName, "*PtoP*", "a copy between two devices")                    \
  X(kInHost, kName, "*HtoH*|*HostToHost*", "a copy inside of the host")                \
  X(kDma, kName, "dma_request", "MTIA's copy, in the category of its kernels")         \
  X(kPageable, kName, "*Pageable*", "a copy from or to pageable memory")               \
  X(kPinned, kName, "*Pinned*", "a copy from or to pinned memory")
// clang-format on

/// A meaning of a name.
enum class Name : std::uint8_t {
#define TTA_NAME_ID(id, where, names, doc) id,
  TTA_NAMES(TTA_NAME_ID)
#undef TTA_NAME_ID
      kCount
};

/// All meanings of one name.
using Meanings = std::bitset<static_cast<std::size_t>(Name::kCount)>;

/// Returns what a name means. Linear in its length; once, it makes an index of the
/// table.
Meanings meanings_of(std::string_view name);

/// Tells whether a name has a meaning. For many rows, ask Timeline::named().
inline bool means(std::string_view name, Name what) {
  return meanings_of(name)[static_cast<std::size_t>(what)];
}

/// From where to where a copy goes.
enum class CopyDirection : std::uint8_t {
  kUnknown,
  kToDevice,
  kToHost,
  kInDevice,
  kBetweenDevices,
  kInHost,
};

/// Returns what the name of a copy's device row says. Some say it in their args alone,
/// see WorkArgs::way.
CopyDirection direction_of(const Meanings& name);
inline CopyDirection copy_direction(std::string_view name) {
  return direction_of(meanings_of(name));
}

/// Tells whether a text has this part, letter for letter.
inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// The same of any of some parts, which may be written in braces.
template <typename Parts = std::initializer_list<std::string_view>>
bool contains_any(std::string_view text, const Parts& parts) {
  return std::ranges::any_of(parts, [&](auto part) { return contains(text, part); });
}

/// What the names of a trace mean, by their ids. Read-only once made.
class Names {
 public:
  Names() = default;
  /// Linear in the text of all names; 16 bytes a name.
  explicit Names(const trace::StringPool& strings);

  bool is(std::uint32_t id, Name what) const {
    return of_[id][static_cast<std::size_t>(what)];
  }
  const Meanings& operator[](std::uint32_t id) const { return of_[id]; }
  CopyDirection direction(std::uint32_t id) const { return direction_of(of_[id]); }

 private:
  std::vector<Meanings> of_;
};

}  // namespace tta::timeline
