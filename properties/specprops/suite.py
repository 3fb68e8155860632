"""Making a test of a property.

    @prop("POS-002", "The result is …", source="2211.17192, section 2.3", guards="position", cases=differences)
    def test_value(trial: Trial, case: Case) -> None: ...

The decorated name is a pytest test with one argument, `bench`, which specverify's plugin fills once per subject of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.judgement import Judgement
from specprops.trial import Trial
from specverify.audit.suite import Property
from specverify.contracts import CONTRACTS, Case

if TYPE_CHECKING:
    from specverify.audit.bench import Bench
    from specverify.subjects.subject import Description

Body = Callable[[Trial, Case], None]
PROPERTIES: list[Property] = []
"""Every property of the modules that are imported so far; `properties.json` is made from it, and says in which module each lies."""


@dataclass(frozen=True)
class Scope:
    """All cases of a scope by its name, smallest first, which an explored subject is judged on; and what they are, in words."""

    cases: Callable[[Description, str], Iterable[Case]]
    told: Callable[[str], str]


@dataclass(frozen=True)
class Claim:
    """A property as code: its row of the table, its body, and where its cases come from."""

    row: Property
    body: Body
    cases: Callable[[Description], st.SearchStrategy[Case]] | None
    first: Callable[[Description], Sequence[Case]]
    limit: int
    applies: Callable[[Description], str | None]
    scope: Scope | None
    drawn_too: bool
    alike: Callable[[Description], Sequence[Case]]

    def on(self, case: Case) -> Claim:
        """The same property on one case alone."""
        return replace(self, cases=None, first=lambda _: (case,), scope=None, alike=lambda _: ())

    def excluded(self, subject: Description) -> str | None:
        """Why the property does not apply to a subject, or none."""
        if "cpu" not in subject.devices:
            return "this version judges subjects on the CPU"
        if not self.row.promised_by(subject.claim):
            return f"the claim {subject.claim} does not promise it"
        return self.applies(subject)


def prop(  # noqa: PLR0913  a property is described in one place
    id_: str,
    sentence: str,
    *,
    source: str,
    guards: str,
    cases: Callable[[Description], st.SearchStrategy[Case]] | None = None,
    first: Callable[[Description], Sequence[Case]] = lambda _: (),
    after: tuple[str, ...] = (),
    statistical: bool = False,
    severity: str = "finding",
    limit: int = 40,
    applies: Callable[[Description], str | None] = lambda _: None,
    scope: Scope | None = None,
    drawn_too: bool = False,
    alike: Callable[[Description], Sequence[Case]] = lambda _: (),
) -> Callable[[Body], Callable[[Bench], None]]:
    """Register a property and make its test.

    Args:
        id_: permanent id; its prefix names the contract, whatever the module is called. Where two contracts share it, the module bears the name of the one that is meant.
        sentence: the claim, for a reader.
        source: paper and section, or the page of theory.
        guards: what a violation breaks: joint, position, support, greedy, well-formed, requests, pathwise, bitwise, hygiene, efficiency.
        cases: strategy of cases for a subject.
        first: small telling cases that are tried before, smallest first.
        after: ids that must hold first.
        statistical: whether it takes a share of alpha; then every violation is confirmed on fresh draws.
        severity: finding, grid or advisory.
        limit: how many cases are searched.
        applies: why it does not apply to a subject, or none.
        scope: all small cases, for subjects whose laws are explored.
        alike: more cases for a law that is drawn and held against known faults, which in single cases may be too small to see.
        drawn_too: whether an explored law that is right is held against draws as well, since what changes from call to call is no part of it.
    """
    mine = [name for name, one in CONTRACTS.items() if one.prefix == id_.partition("-")[0]]

    def decorate(body: Body) -> Callable[[Bench], None]:
        named = body.__module__.rpartition(".")[2]
        (contract,) = [named] if named in mine else mine
        claim = Claim(
            Property(id_, contract, sentence, source, guards, after, statistical, severity, body.__name__, body.__module__),
            body,
            cases,
            first,
            limit,
            applies,
            scope,
            drawn_too,
            alike,
        )
        PROPERTIES.append(claim.row)

        def test(bench: Bench) -> None:
            Judgement(claim, bench).run()

        test.__name__, test.__qualname__, test.__doc__, test.__module__ = body.__name__, body.__qualname__, sentence, body.__module__
        test.specverify_property = claim.row  # type: ignore[attr-defined]
        return test

    return decorate
