# SPDX-License-Identifier: BSD-3-Clause
"""What a language model is shown: short, the same each time, names apart as data, and
what is taken out of names and source lines before they leave."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.explain.digest import LEAST_TOKENS, Digest, make_digests, tokens_of
from torchtraceap.explain.masking import Mask

from .waiting_loop import INJECTED, waits

DATA = Path(__file__).parents[2] / "data"
TRACES = sorted(DATA.glob("*.json.gz"))


def digests_of(report: torchtraceap.Report, **options: Any) -> list[Digest]:
    return make_digests(report, report.findings[:4], report.windows[:2], **options)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[:30])
def test_a_digest_keeps_its_budget_whatever_the_trace(path: Path) -> None:
    report = torchtraceap.analyze(path, recover=True)
    for tokens in (600, LEAST_TOKENS):
        for digest in digests_of(report, tokens=tokens):
            assert tokens_of(digest.text) <= tokens
            assert digest.candidates
            assert all(f"\n{name} (" in digest.facts for name in digest.candidates)


def test_a_digest_is_the_same_each_time(slow_loader: torchtraceap.Report) -> None:
    again = torchtraceap.analyze(slow_loader.trace.path)
    one, other = digests_of(slow_loader), digests_of(again)
    assert [d.text for d in one] == [d.text for d in other]
    assert one[0].key == other[0].key != one[1].key


def test_the_facts_name_nothing_that_the_trace_chose() -> None:
    report = waits()
    finding = report.findings[0]
    assert finding.pattern == "sync_stall"
    (digest,) = make_digests(report, [finding])
    names = {report.loaded.name(row) for row in range(len(report.loaded))}
    assert not [
        name for name in names if re.search(rf"\b{re.escape(name)}\b", digest.facts)
    ]
    # Nor what rules made of it, but that it is one of several patterns.
    assert finding.id not in digest.facts
    assert len(digest.candidates) > 1
    assert ' = "aten::item"' in digest.told and "sync_stall" in digest.told


def test_names_are_quoted_cut_and_on_one_line() -> None:
    for name in INJECTED:
        report = waits(name)
        (digest,) = make_digests(report, report.findings[:1])
        for line in digest.told.splitlines():
            if " = " in line:
                quoted = json.loads(line.partition(" = ")[2])
                assert len(quoted) <= 48 and quoted.isprintable()


def test_paths_and_secrets_stay_here(here: Path) -> None:
    file = here / "secret_project" / "train.py"
    file.parent.mkdir()
    lines = ["x = 1"] * 20
    lines[11] = 'login("bob@corp.example", token="hf_abcdefghijklmnop123")'
    file.write_text("\n".join(lines))
    report = waits(f"load {file} for sk-proj-abcdefghijklmnop1234", str(file))
    (digest,) = make_digests(report, report.findings[:1], source=True)
    assert "login(" in digest.text
    for secret in ("secret_project", str(here), "hf_abc", "sk-proj", "bob@corp"):
        assert secret not in digest.text
    assert "train.py" in digest.text
    assert dict(digest.masked).keys() >= {"path", "secret"}


def test_lines_of_source_only_where_they_may_be_shown(here: Path) -> None:
    (here / "t.py").write_text("\n".join(f"marker = {i}" for i in range(1, 30)))
    report = waits()
    (shut,) = make_digests(report, report.findings[:1])
    (shown,) = make_digests(report, report.findings[:1], source=True)
    assert "marker" not in shut.text
    assert 'line 12: "marker = 12"' in shown.told and "marker" not in shown.facts


def test_the_longest_event_of_each_kind_stands_out() -> None:
    report = waits()
    finding = report.findings[0]
    (digest,) = make_digests(report, [finding])
    (line,) = re.findall(r"^events that stand out: .*", digest.facts, re.MULTILINE)
    rows = [event.index for event in finding.events]
    kinds = [sort.kind for sort in report.core.sorts(rows)]
    shown = re.findall(r"\b([ockaf]\d+) (\w+) ", line)
    assert {kind for _, kind in shown} == set(kinds)
    assert len(shown) == len(set(kinds))
    longest = max(finding.events, key=lambda event: event.duration_us)
    assert f'{shown[0][0]} = "{longest.name}"' in digest.told


def test_what_makes_no_sense_is_refused() -> None:
    report = waits()
    with pytest.raises(ValueError, match="at least 300"):
        make_digests(report, report.findings, tokens=10)


# --- Masking --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("torch/nn/modules/module.py(1782): _call_impl", "module.py(1782): _call_impl"),
        ("/home/alice/proj/train.py:88 step", "train.py:88 step"),
        ("/Users/bob smith/my proj/x.py(3): f", "x.py(3): f"),
        ("C:\\Users\\bob\\x.py", "x.py"),
        ("\\\\srv\\share\\a.py", "a.py"),
        ("open('../../etc/passwd')", "open('<path>')"),
        ("~/secret/x.py", "x.py"),
        ("api_key = 'sk-abcdefghij1234567890XYZ'", "<secret>"),
        ("hf_ABCDEFGHIJKLMNOPQRST", "<secret>"),
        ("ghp_abcdefghij0123456789abcdefghij012345", "<secret>"),
        ("AWS AKIAABCDEFGHIJKLMNOP", "AWS <secret>"),
        ("PASSWORD='letmein!'", "<secret>"),
        ("password: hunter22222", "<secret>"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "<secret>"),
        ("Bearer abcdefgh12345678", "<secret>"),
        ("https://user:pass@host.com/x/y", "<url>"),
        ("file:///etc/hosts", "<url>"),
        ("mail bob@corp.example 10.2.3.4", "mail <address> <host>"),
        ("<dict object at 0x7f8899aabbcc>", "<dict object at 0x…>"),
        # What leads to no file is all of it folders.
        ("open('/home/alice')", "open('<path>')"),
        ("/home/alice.smith", "<path>"),
        ("/home/alice/", "<path>"),
        ("C:\\Users\\alice", "<path>"),
        ("C:\\secret", "<path>"),
        ("\\\\srv\\share", "<path>"),
        ("~/secret", "<path>"),
        ("xx/home/alice/y", "<path>"),
        ("/home/alice/lr=0.1,bs=32/secret/train.py", "train.py"),
        ("/home/alice/lr=0.1,bs=32", "<path>"),
        ("/data/c#/a&b/x.py:3 f", "x.py:3 f"),
        ("/usr/lib/libcudart.so.12", "libcudart.so.12"),
        ("node17.internal.corp.com:8080", "<host>"),
        ("from db.corp.internal.", "from <host>."),
        ("gpu-7.cluster.example.io is slow", "<host> is slow"),
        ("node17.rack3:29500", "<host>"),
        ("at 2001:db8::8a2e:370:7334", "at <host>"),
        ("tcp [fe80::1%eth0]:80", "tcp [<host>]:80"),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334", "<host>"),
        ("Authorization: Basic YWxpY2U6czNjcjN0", "<secret>"),
        ('{"Authorization": "token abc"}', '{"<secret>"}'),
        ("curl -H Basic YWxpY2U6czNjcjN0", "curl -H <secret>"),
        ('get(auth=("alice","s3cr3tpw"))', "get(<secret>)"),
        ('HTTPBasicAuth("alice", "pw")', "HTTPBasic<secret>"),
        ("password=hunter", "<secret>"),
        ("db_passwd: x", "db_<secret>"),
        ("secret = 'abc'", "<secret>"),
        ("--password hunter", "<secret>"),
        ("pwd=hunter2", "<secret>"),
        ("password hunter2, user x", "<secret>, user x"),
        ("the password is 'let me in'", "the <secret>"),
        ("db_pass := x1", "db_<secret>"),
        ("Cookie: session=abc; csrftoken=def", "<secret>"),
        ("get(u, cookies={'sid': 'abc', 't': 1})", "get(u, <secret>)"),
        ("JSESSIONID=0123abcd", "J<secret>"),
        ("sv=2020&sig=fR3kL9%2BabcdefgHIJ%3D&se=1", "sv=2020&<secret>&se=1"),
        ("sent SG.abcdefghijklmnop1.qrstuvwxyz0123", "sent <secret>"),
        ("dckr_pat_abcdEFGH1234", "<secret>"),
        ("alice/model.safetensors", "model.safetensors"),
        ("open('data/alice/x.webdataset')", "open('<path>')"),
    ],
)
def test_takes_out(text: str, masked: str) -> None:
    assert Mask()(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "aten::add",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
        "<float>, at::detail::Array<char*, 3>>(int, at::native)",
        "Memcpy HtoD (Pageable -> Device)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x64x64_MI32x32x1_SN_LDSB1_AFC1",
        "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "loss = a / b / c",
        "x = y/2",
        "a //= b//c",
        "token = tok_of(x)",
        "token_embedding = nn.Embedding(vocab, dim)",
        "key = key_states",
        "model/layers/0/attn",
        "torch.nn.functional.linear",
        "self.model.layers.0.attn",
        "y = self.net(x)",
        "y = self.layer0.net",
        "torch.utils.data.dataloader",
        "x = torch.io.read(y).dev",
        "x[self.begin : self.end], a[1::2], d[i:1024]",
        "c10::add",
        "at 12:30:45",
        "(a + b)/n.item()",
        "Torch-Compiled Region: 0/0",
        "password = getpass(prompt)",
        "secret: str, basic operations",
        "if password == other:",
        "the password is not of a user",
        "pwd = os.getcwd()",
        "cookies = session.cookies.get_dict()",
        "sig = inspect.signature(fn)",
        "torch.ops.flash_attn_3.fwd",
        "loss/self.accumulation_steps",
        # Of public traces: kernels, calls, annotations, frames.
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, "
        "long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<float>)",
        "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt32x256x32_wt16x64x4_ws1x1_wr1x2_ta1x4x1x1",
        "void gemmSN_TN_kernel_64addr<float, 128, 16, 2, 4, 8, 9, false, "
        "cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched>",
        "void cutlass::Kernel<cutlass_70_wmma_tensorop_f16_s161616gemm_f16_32x32_64x2>",
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePass",
        "void act_and_mul_kernel<__nv_bfloat16, ((anonymous namespace)::Kind)0, true>",
        "volta_sgemm_128x32_nt",
        "_combined_routing_memset",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "hipStreamIsCapturing",
        "fbgemm::asynchronous_complete_cumsum",
        "Optimizer.zero_grad#SGD.zero_grad",
        "MoE[experts=64, tokens=16, topk=2, hidden=512, intermediate=1024]",
        "## forward:tw_global_sparse_arch ##",
        "## all2all_data:lengths_wait ##",
        "[param|pytorch.model.alex_net|0|0|0|warmup|forward]",
        "nccl:all_reduce",
        "ProfilerStep#1010",
        "Iteration Start: PyTorch Profiler",
        "inspect.py(3076): <genexpr>",
        "<built-in method __exit__ of torch._C.DisableTorchFunctionSubclass object>",
        "nn.Module: BertAttention_2",
    ],
)
def test_leaves_alone(text: str) -> None:
    mask = Mask()
    assert mask(text) == text and not mask.counts


# What others look for: a list that is kept up to date, so that a kind that is new there
# is missed here, and needs a text.
KNOWN = (
    "AKCabcdefgh1234 ",
    " AP1abcdefgh23 ",
    "AKIA234567ABCDEFGHIJ",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIx",
    "aws_key = 'abcdefghij0123456789abcdefghij0123456789'",
    "AccountKey=" + "a1B2" * 22,
    "https://alice:pass@host.example/x",
    "http://ab:" + "0a" * 32 + "@ab.cloudant.com",
    "cloudant_key = '" + "0a" * 32 + "'",
    "http://ab:" + "ab" * 12 + "@ab.cloudant.com",
    "cl_key = '" + "a1" * 32 + "'",
    "cloudant_password='" + "ab" * 12 + "'",
    "N" + "a1" * 12 + ".abc123." + "a1b" * 9,
    "ghp_" + "a1" * 18,
    "glpat-" + "a1" * 10,
    "GR1348941" + "a1" * 10,
    "glcbt-1a_" + "a1" * 10,
    "glimt-" + "a1" * 12 + "a",
    "glptt-" + "a1" * 20,
    "glagent-" + "a1" * 25,
    "gloas-" + "a1" * 32,
    "ibm_iam_key = '" + "a1b" * 14 + "ab'",
    "cos_hmac_secret_key='" + "a1" * 24 + "'",
    "0a" * 16 + "-us12",
    "//npm.example/:_authToken=npm_abcdefghij1",
    "sk-" + "a1" * 10 + "T3BlbkFJ" + "a1" * 10,
    "BEGIN DSA PRIVATE KEY",
    "BEGIN EC PRIVATE KEY",
    "BEGIN OPENSSH PRIVATE KEY",
    "BEGIN PGP PRIVATE KEY BLOCK",
    "BEGIN PRIVATE KEY",
    "BEGIN RSA PRIVATE KEY",
    "BEGIN SSH2 ENCRYPTED PRIVATE KEY",
    "PuTTY-User-Key-File-2: x",
    "pypi-AgEIcHlwaS5vcmc" + "a1" * 35,
    "pypi-AgENdGVzdC5weXBpLm9yZw" + "a1" * 35,
    "SG." + "a1" * 11 + "." + "a1" * 21 + "a",
    "xoxb-123-abc1234567",
    "https://hooks.slack.com/services/T1/B2/abc",
    "softlayer_key = '" + "0a" * 32 + "'",
    "sq0csp-" + "a1" * 21 + "a",
    "https://api.softlayer.com/soap/v3/" + "0a" * 32,
    "sk_live_" + "a1" * 12,
    "123456789:" + "a1" * 17 + "a",
    "AC" + "0a" * 16,
    "SK" + "0a" * 16,
    "at 8.8.8.8",
)


def test_takes_out_what_detect_secrets_finds() -> None:
    plugins = pytest.importorskip("detect_secrets.core.plugins.util")
    from detect_secrets.plugins.base import RegexBasedDetector

    mask, unseen = Mask(), []
    for kind in plugins.get_mapping_from_secret_type_to_class().values():
        if not issubclass(kind, RegexBasedDetector):
            continue
        for rule in kind().denylist:
            found = [(text, m) for text in KNOWN if (m := rule.search(text))]
            if not found:
                unseen.append((kind.__name__, rule.pattern[:150]))
            for text, match in found:
                whole = max((match[0], *match.groups(default="")), key=len).strip()
                assert whole not in mask(text), (kind.__name__, text, mask(text))
    assert not unseen


def test_counts_what_it_took() -> None:
    mask = Mask()
    mask("/a/b/x.py bob@corp.example")
    mask("/a/b/y.py")
    assert mask.counts == (("address", 1), ("path", 2))


def test_names_of_this_machine_and_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    monkeypatch.setattr("socket.gethostname", lambda: "hal9000.lab")
    mask = Mask()
    assert (
        mask("Alice_model on HAL9000.lab, hal9000") == "<user>_model on <host>, <host>"
    )
    assert mask("malice, hal90001") == "malice, hal90001"
    assert mask.counts == (("host", 2), ("user", 1))
    for common in ("root", "python", "torch", "cuda", "model", "bob"):
        monkeypatch.setattr("getpass.getuser", lambda common=common: common)
        monkeypatch.setattr("socket.gethostname", lambda: "localhost")
        assert Mask()(f"{common} localhost") == f"{common} localhost"


def test_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def getuser() -> str:
        raise KeyError("uid 1234")

    monkeypatch.setattr("getpass.getuser", getuser)
    assert Mask()("aten::add") == "aten::add"


def test_hostile_texts_take_no_time() -> None:
    begin = time.perf_counter()
    for piece in (
        "a/",
        "x",
        "key",
        "/ a",
        "a@",
        "1.",
        "-----BEGIN ",
        "ey",
        "://",
        "1:",
        "a.b",
        "/a, ",
        "home/",
        "--password",
        "auth(",
        "-a.",
        "a-",
        "password ",
        "password is ",
        "cookie=",
        "cookies={",
        "a.a/",
        "SG.",
        "secret_",
        "M" * 24 + ".",
    ):
        Mask()(piece * 20_000)
    assert time.perf_counter() - begin < 10
