"""What is no bug, though it was reported as one, looks like one or costs speed: a table of exact rules that the suite must pass. The code is in `planted_not_bugs`."""

from __future__ import annotations

from dataclasses import dataclass

from specverify.errors import unknown

MODULE = "specverify.faults.planted_not_bugs"


@dataclass(frozen=True)
class NotBug:
    """An exact implementation that might tempt a judge.

    Attributes:
        name: slug, as in `not-bug:NAME`.
        contract: that it fills.
        corpus: ids of the reports, or the page that says why it is right.
        sentence: what it does, and why that is lawful.
    """

    name: str
    contract: str
    corpus: tuple[str, ...]
    sentence: str


# fmt: off
_TABLE = (
    NotBug("sample-and-match", "verify_chain", ("B211", "B212", "B217", "theory S9"),
           "Accepts what equals a draw of the target, and emits that draw either way: accepts less than it could, exactly."),
    NotBug("sampled-draft-taken-for-given", "verify_chain", ("B239", "theory S8"), "Reads no q: what is exact for every draft is exact for a drawn one."),
    NotBug("block-verification", "verify_chain", ("theory 1c",), "Judges the draft from its end; its replacement may have p < q."),
    NotBug("p-where-nothing-is-left", "verify_chain", ("B075", "B072", "theory S12d"), "Draws every replacement ahead, from p where p equals q: such a draw is never emitted."),
    NotBug("row-becomes-the-residual", "verify_chain", ("B238",), "Seems to replace from p: the row was turned into the residual in place, as it declares."),
    NotBug("uniforms-above-zero", "verify_chain", ("B030", "theory C6"), "Accepts with u <= p / q, u in (0, 1]: never a token of probability zero."),
    NotBug("tested-in-logarithms", "verify_chain", ("B202",), "Compares logarithms; that of 0 is below all."),
    NotBug("all-coins-tossed-first", "verify_chain", ("B059",), "Draws numbers that it may not use."),
    NotBug("bonus-left-to-the-next-step", "verify_chain", ("B048",), "Emits nothing behind a draft that is accepted whole: slower, and the same text."),
    NotBug("fewer-drafts-verified", "verify_chain", ("B213",), "Verifies one draft token and forgets the others: a shorter draft is as exact."),
    NotBug("no-speculation", "verify_chain", ("B240",), "Emits one token of the first row, whatever was drafted."),
    NotBug("given-draft-with-q-one", "verify_deterministic_draft", ("B239", "B210"), "Accepts a looked-up or greedy draft with p, and strikes it from p where it is refused."),
    NotBug("given-draft-matched", "verify_deterministic_draft", ("B210", "B211"), "Goes on while the target's draws are the draft's."),
    NotBug("the-same-for-every-seed", "verify_chain_greedy", ("B241",), "Draws nothing: at temperature 0 no seed changes the output."),
    NotBug("any-of-the-tied", "verify_chain_greedy", ("B065", "theory S10"), "Accepts every token that ties for the maximum, and emits the last of them."),
    NotBug("ties-are-kept", "filter_logits", ("theory C2",), "Keeps all that tie with the k-th: more than k."),
    NotBug("ties-are-cut", "filter_logits", ("theory C2",), "Keeps exactly k, the first of those that tie."),
    NotBug("temperature-zero-is-the-argmax", "warp", ("B241", "B072"), "Divides by no temperature of 0: the row is one-hot, as it declares."),
    NotBug("residual-in-logarithms", "residual", ("B202",), "Takes log p + log1p(-q / p): every digit is kept."),
    NotBug("race-without-a-normaliser", "sample", ("B021", "theory C5"), "Takes the largest p / e, e exponential: a normaliser cancels."),
)
# fmt: on

NOT_BUGS: dict[str, NotBug] = {row.name: row for row in _TABLE}
"""Every one of them, by name."""


def not_bug(name: str) -> NotBug:
    """The one of that name, or SpecverifyError with the nearest."""
    if name not in NOT_BUGS:
        raise unknown("not-bug", name, NOT_BUGS)
    return NOT_BUGS[name]
