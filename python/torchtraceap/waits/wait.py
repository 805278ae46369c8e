# SPDX-License-Identifier: BSD-3-Clause
"""wait.py: what is known of a wait for the device, and waits put together by place."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line
from torchtraceap.waits.table import BY_OPERATOR, Cause, head_of

_MOST_WRITTEN = 3


@dataclass(frozen=True)
class Wait:
    """The host waits for the device: once, or all that is alike at one place."""

    line: Line | None  #: The innermost line of the user's own code.
    api: str  #: The operator or call: "aten::nonzero", "torch.cuda.synchronize".
    cause: Cause  #: In words: what it is, why it waits, what to do instead.
    in_steps: Mapping[int, int]  #: How often in which step; steps count from 0.
    us: float | None = None  #: How long the host was blocked. None: not known.
    inner: Line | None = None  #: The line of the library that waits, if it is one.
    module: str = ""  #: That it is in, as far as known.
    written: str = ""  #: What of the line waits, as far as known: ".item()".
    #: Of a dry run: how it is known, whether the value that was read is ("guessed" if
    #: any was), and the part of the step; see record.py.
    how: str = ""
    value: str = "none"
    phase: str = "forward"

    @property
    def head(self) -> str:
        """What waits, for people."""
        return head_of(self.api, self.written)

    @property
    def count(self) -> int:
        """How often it waits in all."""
        return sum(self.in_steps.values())

    @property
    def steps(self) -> int:
        """In how many steps."""
        return len(self.in_steps)

    @property
    def per_step(self) -> float:
        """How often in a step in which it waits."""
        return self.count / self.steps

    @property
    def guessed(self) -> bool:
        """Whether a value was read that had to be guessed."""
        return self.value == "guessed"

    @property
    def names(self) -> tuple[str, ...]:
        """The names for it that `allow` takes, besides its lines."""
        row = BY_OPERATOR.get(self.api)
        more = row.names if row else ()
        return self.api, self.api.removeprefix("aten::"), self.cause.kind.name, *more


#: What is alike in waits at one place.
PLACE = attrgetter("line", "api", "cause.kind", "inner")


def by_place(
    waits: Iterable[Wait], alike: Callable[[Wait], Hashable] = PLACE
) -> list[Wait]:
    """Put waits together of which ``alike`` says the same, in order of their first."""
    places: dict[Hashable, list[Wait]] = {}
    for wait in waits:
        places.setdefault(alike(wait), []).append(wait)
    return [_together(these) for these in places.values()]


def _together(waits: Sequence[Wait]) -> Wait:
    in_steps: Counter[int] = Counter()
    for one in waits:
        in_steps.update(one.in_steps)
    times = [one.us for one in waits if one.us is not None]
    values = {one.value for one in waits}
    known = next(iter(values)) if len(values) == 1 else "known"
    return replace(
        waits[0],
        in_steps=in_steps,
        us=sum(times) if times else None,
        value="guessed" if "guessed" in values else known,
        written=written_together(one.written for one in waits),
    )


def explain(wait: Wait, told: set[str]) -> Iterator[str]:
    """Yield the line of code, which library waits, and, unless it is among ``told``, to
    which it is added, why it waits and what to do instead."""
    line = wait.line
    if line is not None and line.exact:
        code = linecache.getline(line.file, line.line).strip()
        yield from [f"> {printable(code)}"] if code else []
    if wait.inner is not None:
        inner = str(wait.inner).rpartition("site-packages/")[2]
        yield f"in {printable(inner)} ({printable(wait.inner.function)})"
    if wait.cause.what not in told:
        told.add(wait.cause.what)
        yield wait.cause.what
        yield f"instead: {wait.cause.instead}"


def written_together(texts: Iterable[str]) -> str:
    """Join what was written at one line; "" if a part is not known, or it is much."""
    known = list(dict.fromkeys(texts))
    return "" if "" in known or len(known) > _MOST_WRITTEN else ", ".join(known)
