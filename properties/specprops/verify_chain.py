"""Properties of `verify_chain`: the tokens that leave a step follow the target (2211.17192, appendix A.1)."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import rows, rules, scope
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged, same_seed, takes_a_seed
from specprops.suite import Scope, prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Array, Case, Family, array, array_of
from specverify.contracts.arrays import EPS
from specverify.law import Outcome, product_law
from specverify.observe import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from specverify.subjects.subject import Description

THEOREM = "2211.17192, appendix A.1; theory S3"
LARGE_GAMMA = 2


class Draw(NamedTuple):
    """One draw of a step's stream: the drafted tokens, the accepted length, gamma + 1 tokens completed from p."""

    draft: tuple[int, ...]
    n: int
    tokens: tuple[int, ...]


def _case(dtype: str, p: Sequence[Sequence[float]], q: Sequence[Sequence[float]]) -> Case:
    v = len(p[0])
    return {"p": array(dtype, (len(p), v), itertools.chain(*p)), "q": array(dtype, (len(q), v), itertools.chain(*q))}


def first(subject: Description) -> list[Case]:
    """Small tables that tell faults apart, smallest first: rows differ from position to position, supports overlap in part or not at all."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    half, low, high = (0.5, 0.5), (0.25, 0.75), (0.75, 0.25)
    return [
        _case(dtype, [half, low], [(1, 0)]),
        _case(dtype, [(0, 1), (1, 0)], [(1, 0)]),
        _case(dtype, [low, half], [high]),
        _case(dtype, [half, (1, 0), (0, 1)], [(1, 0), (0, 1)]),
        _case(dtype, [half, half, half], [(1, 0), (1, 0)]),
        _case(dtype, [low, high, half], [high, low]),
        _case(dtype, [(0.5, 0.25, 0.25), (0, 0.5, 0.5)], [(0.75, 0.125, 0.125)]),
        _case(dtype, [(0, 0, 1), (0.5, 0.5, 0), (1, 0, 0)], [(0.5, 0.5, 0), (0.25, 0.25, 0.5)]),
        _case(dtype, [(0.25, 0.25, 0.5), (0.5, 0, 0.5), (0.125, 0.375, 0.5)], [(0.5, 0.25, 0.25), (0.125, 0.5, 0.375)]),
    ]


@st.composite
def tables(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None, cells: int | None = None) -> Case:
    """P and q of a chain; each position has its own pair of rows."""
    dtype = draw(st.sampled_from(dtypes or subject.dtypes))
    gamma = draw(st.integers(1, 3))
    v = draw(st.integers(2, 8 if cells is None else _widest(gamma, cells)))
    pairs = [draw(rows.pair(v, dtype)) for _ in range(gamma)]
    return _case(dtype, [*(p for p, _ in pairs), draw(rows.row(v, dtype))], [q for _, q in pairs])


def _widest(gamma: int, cells: int) -> int:
    return max(v for v in range(2, 9) if v ** (gamma + 1) <= cells)


def lawful(subject: Description) -> st.SearchStrategy[Case]:
    """Tables whose joint law has few enough cells, in float32 or float64."""
    return tables(subject, dtypes=rows.wide(subject), cells=rows.CELLS)


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Tables in float32 or float64."""
    return tables(subject, dtypes=rows.wide(subject))


def everything(subject: Description, name: str) -> Iterator[Case]:
    """A whole scope, in the first of the wide dtypes."""
    dtype = rows.wide(subject)[0]
    return (_case(dtype, [[float(x) for x in row] for row in p], [[float(x) for x in row] for row in q]) for p, q in scope.everything(name))


def equal(subject: Description) -> st.SearchStrategy[Case]:
    """P == q at every drafted position, bit for bit."""
    return wide(subject).map(lambda case: {"p": case["p"], "q": _cut(array_of(case, "p"))})


def _cut(p: Array) -> Array:
    return array(p.dtype, (p.shape[0] - 1, p.shape[1]), list(p.values)[: -p.shape[1]])


@prop("CHN-001", "Every call gives 1 to gamma + 1 token ids of the vocabulary, and no exception.", source="2211.17192, algorithm 1", guards="well-formed",
      statistical=True, first=first, cases=tables, limit=25)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The step fails")


@prop("CHN-002", "All tokens but the last are the first draft tokens.", source="theory S12a", guards="well-formed", statistical=True, after=("CHN-001",),
      first=first, cases=tables, limit=15)  # fmt: skip
def test_accepted_prefix(trial: Trial, case: Case) -> None:
    trial.holds(case, on_draws(keeps_prefix), "Tokens before the last differ from the draft")


@prop("CHN-003", "A token that the target gives probability zero is never emitted.", source="theory S12c", guards="support", statistical=True,
      after=("CHN-001",), first=first, cases=tables, limit=25)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    p = _rows(case, "p")
    trial.holds(case, on_draws(lambda d: keeps_support(p, d)), "A token of target probability zero is emitted")


def boundary(subject: Description) -> list[Case]:
    """Each small table with each draft that q can propose."""
    cases: list[Case] = []
    for case in first(subject)[:4] + first(subject)[6:8]:
        q = _rows(case, "q")
        supports = [[t for t, x in enumerate(line) if x > 0] for line in q]
        cases += [{**case, "draft": array("int64", (len(q),), draft)} for draft in itertools.product(*supports)]
    return cases


def declares(*rules: str) -> Callable[[Description], str | None]:
    """The rule must be one of these; in half precision a step that normalises its rows once more may lawfully reject where p == q."""

    def applies(subject: Description) -> str | None:
        if subject.rule not in rules:
            return f"holds for the rule{'s' * (len(rules) > 1)} {', '.join(rules)}; declared is {subject.rule or 'none'}"
        return rows.needs_wide(subject)

    return applies


@prop("CHN-005", "The token at the stop is not the draft token that was rejected there.", source="theory S12b", guards="joint", statistical=True,
      after=("CHN-002",), first=first, cases=wide, limit=20, applies=declares("standard", "block", "sample-and-match"))  # fmt: skip
def test_rejected_token_is_not_emitted(trial: Trial, case: Case) -> None:
    gamma = len(_rows(case, "q"))
    trial.holds(case, on_draws(lambda d: d.n == gamma or d.tokens[d.n] != d.draft[d.n]), "The rejected draft token is emitted")


@prop("CHN-006", "The token at a rejection has more probability under the target than under the draft.", source="theory S12b", guards="joint", statistical=True,
      after=("CHN-002",), first=first, cases=wide, limit=20, applies=declares("standard"))  # fmt: skip
def test_replacement_lies_in_the_residual(trial: Trial, case: Case) -> None:
    p, q = _rows(case, "p"), _rows(case, "q")
    slack = 2 * (len(p[0]) + 1) * EPS[array_of(case, "p").dtype]  # rows may lawfully be normalised once more: a naive sum of V terms each

    def inside(d: Draw) -> bool:
        return d.n == len(q) or p[d.n][d.tokens[d.n]] > q[d.n][d.tokens[d.n]] * (1 - slack)

    trial.holds(case, on_draws(inside), "A replacement comes from outside the residual")


@prop("CHN-007", "Where p and q are equal every draft token is accepted.", source="theory S12d", guards="joint", statistical=True, after=("CHN-001",),
      first=lambda s: [{"p": case["p"], "q": _cut(array_of(case, "p"))} for case in first(s)[:6]], cases=equal, limit=15, applies=declares("standard", "block"))  # fmt: skip
def test_equal_rows_accept(trial: Trial, case: Case) -> None:
    gamma = len(_rows(case, "q"))
    trial.holds(case, on_draws(lambda d: d.n == gamma), "A draft token is rejected though p and q are equal")


ALIKE = 10
"""Tables on which the faults of statistics 2.2 show best, in draws all together: 2,000 of each give lenience 0.95 away with E = 10^15, reused uniforms in each table."""


def alike(subject: Description) -> list[Case]:
    """Rows over five tokens, the draft's weights the target's times 1/e to e, and two drafts."""
    dtype, rng = rows.wide(subject)[0], random.Random("alike")
    tables = [[[rng.randint(1, 16) for _ in range(5)] for _ in range(3)] for _ in range(ALIKE)]
    return [_case(dtype, [_over_sum(p) for p in table], [_over_sum([w * math.exp(rng.uniform(-1, 1)) for w in p]) for p in table[:2]]) for table in tables]


def _over_sum(weights: Sequence[float]) -> list[float]:
    return [weight / math.fsum(weights) for weight in weights]


@prop("CHN-008", "With the draft drawn from q, the emitted tokens completed from p follow the product of p's rows.", source=THEOREM, guards="joint",
      statistical=True, after=("CHN-003",), first=first, cases=lawful, limit=6, applies=rows.needs_wide, scope=Scope(everything, scope.told), alike=alike)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    trial.law(case, product_law(_rows(case, "p")), lambda outcome: Draw(*outcome).tokens, known=True)


@prop("CHN-009", "Successive calls draw afresh: the tokens of two calls are independent.", source="2211.17192, appendix A.1; faults B053, B058", guards="joint", statistical=True,
      after=("CHN-008",), first=lambda subject: first(subject)[2:3], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    p = _rows(case, "p")
    trial.law(case, product_law([*p, *p]), lambda outcome: tuple(token for one in outcome for token in Draw(*one).tokens), spans=2)


@prop("CHN-010", "The call leaves its arguments as they were.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("CHN-001",),
      first=boundary)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@st.composite
def large(draw: st.DrawFn, subject: Description) -> Case:
    """Rows over 1,000 and 32,000 tokens, the target's support small."""
    p = draw(rows.large(subject, "sparse", (LARGE_GAMMA + 1,)))
    q = Family(draw(st.sampled_from(("sparse", "zipf"))), p.seed + draw(st.sampled_from((0, 1))), p.dtype, (LARGE_GAMMA, p.shape[-1]))
    return {"p": p, "q": q}


@prop("CHN-011", "Over a large vocabulary the step keeps to the draft's prefix and to the target's support.", source="theory S12a, S12c", guards="support",
      statistical=True, after=("CHN-002", "CHN-003"), cases=large, limit=6, applies=rows.needs_wide)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    p = _rows(case, "p")

    def keeps(d: Draw) -> bool:
        return keeps_prefix(d) and keeps_support(p, d)

    trial.holds(case, on_draws(keeps), "The prefix or the support is not kept", draws=50)


@prop("CHN-004", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.",
      source="theory S12c, C6, C7; faults B030, B073", guards="support", severity="grid", after=("CHN-001", "CHN-003"), first=boundary)  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    p = _rows(case, "p")
    at_the_bounds(trial, case, lambda tokens: impossible_token(p, tokens), emitted)


def telling(subject: Description) -> list[Case]:
    """Rows under which the rules accept different lengths: 10/9 tokens a block by the standard rule, 11/9 by block verification."""
    dtype = rows.wide(subject)[:1] or subject.dtypes[:1]
    return [_case(dtype[0], [(1 / 3, 2 / 3)] * 3, [(2 / 3, 1 / 3)] * 2)]


@prop("CHN-012", "The rule that is declared is the rule that is followed; without a declaration it is inferred and told.", source="contracts, Which rule?; theory S4, S9",
      guards="efficiency", severity="advisory", after=("CHN-008",), first=telling, applies=rows.needs_wide)  # fmt: skip
def test_rule(trial: Trial, case: Case) -> None:
    p, q = _rows(case, "p"), _rows(case, "q")
    question = Question(rules.standard(p, q), lambda outcome: (outcome[1], outcome[2]))
    rule = rules.inferred(trial.look(case, question), p, q)
    told = f"it follows the rule {rule}" if rule else "it follows no rule that is known here"
    trial.remark = told
    declared = trial.subject.rule
    if declared is not None and rule != declared:
        raise Violation(f"The subject declares the rule {declared}; {told}.", (Row("rule", rule or "unknown", declared),), kind="rule")


CERTIFIED = 1_300_000
"""Draws of a certificate: the first of 32 tokens is then within a total variation of 0.004, but for a chance of 1e-6 (statistics 2.6)."""


def _certified(name: str, gamma: int, v: int) -> Callable[[Description], list[Case]]:
    """One case of Zipf rows, the first of the wide dtypes."""

    def cases(subject: Description) -> list[Case]:
        dtype = (rows.wide(subject) or subject.dtypes)[0]
        p, q = (array_of({"rows": Family("zipf", seed, dtype, (places, v))}, "rows") for seed, places in ((1, gamma + 1), (2, gamma)))
        return [{"p": p, "q": q}]

    cases.__name__ = name
    return cases


@prop("CHN-013", "In batches, the first token follows the target over 32 tokens.", source=f"{THEOREM}; statistics 2.6", guards="joint", statistical=True,
      after=("CHN-008",), first=_certified("first_token", 1, 32), applies=rows.needs_batches)  # fmt: skip
def test_first_token(trial: Trial, case: Case) -> None:
    trial.certify(case, product_law(_rows(case, "p")[:1]), "first", "the first token", draws=CERTIFIED)


@prop("CHN-014", "In batches, the tokens of a block follow the product of the target's rows.", source=f"{THEOREM}; statistics 2.6", guards="joint", statistical=True,
      after=("CHN-008",), first=_certified("block", 2, 8), applies=rows.needs_batches)  # fmt: skip
def test_block(trial: Trial, case: Case) -> None:
    trial.certify(case, product_law(_rows(case, "p")), "tokens", "the tokens of a block, bonus included", draws=CERTIFIED)


@prop("CHN-016", "The same seed gives the same tokens.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("CHN-001",), first=boundary,
      applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    same_seed(trial, case)


def _peeks(subject: Description) -> str | None:
    """Why decisions are not checked by the generator's numbers."""
    return declares("standard")(subject) if subject.peek else "it tells no numbers of a counter-based generator"


def uneven(subject: Description) -> list[Case]:
    """Rows whose ratios no narrow type has, with drafts that are always, often and seldom accepted."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    case = _case(dtype, [(0.1, 0.2, 0.7), (0.3, 0.6, 0.1), (0.45, 0.35, 0.2)], [(0.7, 0.13, 0.17), (0.35, 0.25, 0.4)])
    return [{**case, "draft": array("int64", (2,), draft)} for draft in ((1, 0), (0, 1), (2, 2))]


@prop("CHN-015", "Each decision is the one that the number of the counter-based generator makes at its position.", source="2211.17192, algorithm 1", guards="joint",
      after=("CHN-003",), first=uneven, applies=_peeks)  # fmt: skip
def test_decisions(trial: Trial, case: Case) -> None:
    trial.decisions(case)


def keeps_prefix(d: Draw) -> bool:
    """Whether all tokens but the last are the first draft tokens (theory S12a)."""
    return d.tokens[: d.n] == d.draft[: d.n]


def emitted(outcome: Outcome) -> Outcome:
    """The tokens that the call itself gave, without the completion."""
    d = Draw(*outcome)
    return d.tokens[: d.n + 1]


def keeps_support(p: Sequence[Sequence[float]], d: Draw) -> bool:
    """Whether every emitted token has a target probability (theory S12c)."""
    return impossible_token(p, d.tokens[: d.n + 1]) is None


def impossible_token(p: Sequence[Sequence[float]], tokens: Outcome) -> str | None:
    """The first token of target probability zero, in words, or none."""
    zero = [(i, token) for i, token in enumerate(tokens) if p[i][token] == 0]
    return f"token {zero[0][1]} of target probability zero is emitted at position {zero[0][0]}" if zero else None


def on_draws(predicate: Callable[[Draw], bool]) -> Callable[[Outcome], bool]:
    """A predicate of draws as one of outcomes."""
    return lambda outcome: predicate(Draw(*outcome))


def _rows(case: Case, name: str) -> list[tuple[float, ...]]:
    return list(array_of(case, name).rows())
