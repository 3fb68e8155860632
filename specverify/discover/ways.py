"""The few conventions under which functions of each contract are called in the wild, as Python text: what each role is given, and what is made of the result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One convention.

    Attributes:
        words: what is out of the ordinary about it, "" for nothing.
        values: role to the expression that it is given, in the contract's own names.
        body: what the adapter does; {} is the call.
        options: further options of the declaration.
    """

    words: str
    values: Mapping[str, str]
    body: str = "return {}"
    options: str = ""


FILLERS = {
    "len(draft)": r"gamma|k|(num_)?(draft|candidate|speculative)_(len(gth)?|tokens|steps)|num_drafts?",
    "torch.zeros(1, 0, dtype=torch.long)": r"input_ids|history|prefix|context|token_ids",
    "None": r"generator|seed|eos(_token_id)?|device",
}
"""Expression to the names of further parameters that must be given something and mean nothing to the contract."""
TOKENS = '''def tokens(draft, result):
    """The accepted length and the next token, as token ids."""
    n, token = torch.cat([torch.as_tensor(part).reshape(-1) for part in result]).tolist()
    return [*draft[:n].tolist(), token]
'''
READINGS = {
    "": "return {}", "the first of what it gives": "return ({})[0]", "the first row of the first of what it gives": "return ({})[0][0]",
    "the accepted length and the next token": "return tokens(draft, {})",
    "pads of -1 left out": "return [token for token in torch.as_tensor({}).reshape(-1).tolist() if token >= 0]",
}  # fmt: skip
"""How the result of a step is read as token ids."""


def _joined(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _pairs(first: str, second: str, a: str, b: str, *, logs: bool = True) -> tuple[Way, ...]:
    """Two roles, given as they are, swapped, and as logarithms."""
    values = [("", a, b), ("the two swapped", b, a)]
    plain = [Way(words, {first: x, second: y}) for words, x, y in values]
    logarithms = [Way(_joined("logarithms", words), {first: f"{x}.log()", second: f"{y}.log()"}) for words, x, y in values] if logs else []
    return (*plain, *logarithms, *(Way(_joined("numpy", way.words), way.values, options='arrays="numpy"') for way in plain))


def _alone(role: str, *values: tuple[str, str]) -> tuple[Way, ...]:
    """One role, given each value in turn, then the first in numpy."""
    return (*(Way(words, {role: value}) for words, value in values), Way("numpy", {role: values[0][1]}, options='arrays="numpy"'))


def _rows(names: tuple[str, ...]) -> tuple[Way, ...]:
    """Contracts whose parameters are roles of the same name: as they are, the first of what comes, and in numpy."""
    values = {name: name for name in names}
    return (Way("", values), Way("the first of what it gives", values, "return ({})[0]"), Way("numpy", values, options='arrays="numpy"'))


def _steps(*given: tuple[str, Mapping[str, str]]) -> Iterator[Way]:
    """A step's values in each form, alone and as a batch of one, with each way to read its result."""
    for (words, values), (batch, put) in itertools.product(given, (("", "{}"), ("a batch of one", "{}[None]"))):
        for reading, body in READINGS.items():
            yield Way(_joined(words, batch, reading), {role: put.format(value) for role, value in values.items()}, body)


def _chain() -> Iterator[Way]:
    sides = [("", "p", "q"), ("p and q swapped", "q", "p")]
    forms = [("", "{}"), ("logarithms", "{}.log()")]
    yield from _steps(*((_joined(form, side), {"p": put.format(p), "q": put.format(q), "draft": "draft"}) for side, p, q in sides for form, put in forms))


def _rotary() -> Iterator[Way]:
    at = {"positions": "positions", "cos": "cos[positions]", "sin": "sin[positions]", "q": "q", "k": "k"}
    whole = {**at, "cos": "cos", "sin": "sin"}
    yield Way("", whole)
    yield Way("tables with two axes more", {**whole, "cos": "cos[None, None]", "sin": "sin[None, None]"})
    yield Way("rows of the tables at the positions", {name: value for name, value in at.items() if name != "positions"})
    put = {"x": "x", "cos": "cos[positions][:, None]", "sin": "sin[positions][:, None]"}
    yield Way("queries and keys one by one", put, "return tuple({} for x in (q, k))")


WAYS: dict[str, tuple[Way, ...]] = {
    "residual": _pairs("p row", "q row", "p", "q"),
    "ratio": _pairs("numerator", "denominator", "num", "den", logs=False),
    "accept_probability": _pairs("p row", "q row", "p_x", "q_x"),
    "positive_part": _alone("row", ("", "x")),
    "first_rejection": _alone("decisions", ("", "accepted"), ("rejections", "~accepted")),
    "sample": (
        *_alone("probs", ("", "probs"), ("logarithms", "probs.log()")),
        Way("the first of what it gives", {"probs": "probs"}, "return ({})[0]"),
        Way("logarithms, the first of what it gives", {"probs": "probs.log()"}, "return ({})[0]"),
        Way("the first value of the mapping that it gives", {"probs": "probs"}, "return next(iter(({}).values()))"),
    ),
    "warp": _rows(("logits", "temperature", "top_k", "top_p")),
    "filter_logits": _rows(("logits", "top_k", "top_p")),
    "keep_fraction": _rows(("logits", "thres")),
    "rotate_half": _alone("x", ("", "x")),
    "repeat_kv": (Way("", {"kv": "kv", "repeats": "n"}),),
    "rotary": tuple(_rotary()),
    "pad_path": (Way("", {"path": "path", "length": "length", "pad": "pad"}),),
    "seeding": (Way("", {"seed": "seed"}, "{}\n    return draw()"),),
    "verify_chain": tuple(_chain()),
    "verify_deterministic_draft": tuple(_steps(("", {"p": "p", "draft": "draft"}), ("logarithms", {"p": "p.log()", "draft": "draft"}))),
    "verify_chain_greedy": tuple(
        _steps(("", {"target argmax": "logits", "draft": "draft"}), ("the argmax of each row", {"target argmax": "logits.argmax(-1)", "draft": "draft"}))
    ),
}
"""By contract. What is not here, trees, batches and what keeps state, needs an adapter by hand: no few conventions cover it."""
