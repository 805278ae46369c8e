// SPDX-License-Identifier: BSD-3-Clause
// timeline/file_owner.cpp: reads the names of frames; tells user code from libraries by
// a file's path.
#include <algorithm>
#include <array>
#include <charconv>

#include "timeline/frames.h"

namespace tta::timeline {
namespace {

// First folders of packages whose lines are never the user's: the framework itself.
constexpr std::string_view kFramework =
    " torch functorch torchgen triton numpy _pytest pluggy torchtraceap ";

// First folders of installed packages that call torch, most used first. A package that
// is missing here counts as the user's own: better one line too many than none.
constexpr std::string_view kPackages =
    " transformers accelerate lightning pytorch_lightning deepspeed diffusers vllm"
    " sglang torchvision torchaudio timm datasets pandas PIL xformers flash_attn"
    " peft trl einops torchrec fbgemm_gpu megatron apex bitsandbytes fairscale"
    " ignite torchtune torchtitan torchao torchmetrics sentence_transformers"
    " tokenizers safetensors huggingface_hub monai detectron2 mmcv mmengine"
    " ultralytics composer streaming webdataset ray aiter xfuser IPython ipykernel"
    " scipy flashinfer tqdm sgl_kernel deep_gemm ";

// Modules of the standard library that show up around training and serving loops. Names
// that users also give their scripts (profile, test, code, types) are left out.
constexpr std::string_view kStandard =
    " threading contextlib runpy functools queue socket selectors ssl json pickle"
    " copy random logging multiprocessing concurrent asyncio importlib typing"
    " inspect abc enum re collections os posixpath tempfile weakref warnings"
    " dataclasses traceback linecache tokenize subprocess signal uuid codecs zipfile"
    " shutil heapq numbers operator string textwrap html xml urllib http email"
    " unittest encodings ctypes pdb bdb argparse gzip csv hashlib base64 platform"
    " pathlib ast site sysconfig genericpath copyreg bisect pprint sre_parse"
    " sre_compile stat ";

// A cell of IPython's own terminal; notebooks give their cells a path.
constexpr std::string_view kCell = "<ipython-input-";

// Tells whether one of the names, each between blanks, is this one.
bool has(std::string_view names, std::string_view name) {
  return names.find(" " + std::string(name) + " ") != names.npos;
}

}  // namespace

std::optional<Frame> parse_frame(std::string_view name) {
  if (name.starts_with('<') && !name.starts_with(kCell)) return std::nullopt;
  // "path(line): function": the path itself may hold brackets.
  for (auto open = name.find('('); open != std::string_view::npos;
       open = name.find('(', open + 1)) {
    Frame frame;
    const char* const digits = name.data() + open + 1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(digits, end, frame.line);
    if (error != std::errc{} || std::string_view(stop, end).substr(0, 2) != "):") {
      continue;
    }
    frame.file = name.substr(0, open);
    auto function = std::string_view(stop, end).substr(2);
    if (function.starts_with(' ')) function.remove_prefix(1);
    // torch prints freed memory for the frame of an import (its line is then 0).
    frame.function = frame.line == 0 ? "<module>" : std::string(function);
    frame.user = owner_of_file(frame.file) == FileOwner::kUser;
    if (frame.file.empty()) return std::nullopt;
    return frame;
  }
  return std::nullopt;
}

FileOwner owner_of_file(std::string_view file) {
  if (file.starts_with(kCell)) return FileOwner::kUser;
  if (file.empty() || file.front() == '<') return FileOwner::kTorch;
  // What torch.compile wrote: /tmp/torchinductor_<user>/xy/<hash>.py.
  if (file.find("torchinductor_") != std::string_view::npos) return FileOwner::kTorch;
  // An absolute path into an installation names the package after this folder.
  bool installed = false;
  for (const std::string_view folder : {"site-packages", "dist-packages"}) {
    if (const auto at = file.rfind(folder); at != std::string_view::npos) {
      file = file.substr(std::min(at + folder.size() + 1, file.size()));
      installed = true;
      break;
    }
  }
  if (!installed && (file.front() == '/' || file.find(":\\") == 1)) {
    // ".../lib/python3.11/threading.py" is the standard library.
    const auto lib = file.find("/lib/python3");
    return lib == std::string_view::npos ? FileOwner::kUser : FileOwner::kTorch;
  }
  const auto slash = file.find_first_of("/\\");
  auto top = file.substr(0, slash);
  if (slash == std::string_view::npos && top.ends_with(".py")) top.remove_suffix(3);
  if (has(kFramework, top)) return FileOwner::kTorch;
  if (installed || has(kPackages, top)) return FileOwner::kPackage;
  return has(kStandard, top) ? FileOwner::kTorch : FileOwner::kUser;
}

}  // namespace tta::timeline
