"""Laws of whole rounds, explored: drafts, decisions and the rounds that follow, in one law."""

from collections.abc import Callable

import pytest

from specprops import loops
from specprops.draft_and_verify import Draw
from specverify.observe import Exactly, Question, law

TEXT = """
import random
import specverify as sv

@sv.subject("draft_and_verify", arrays="list", rule="standard")
def right(target, draft, prefix, gamma):
    drafted, q = [], []
    for _ in range(gamma):
        q.append(draft((*prefix, *drafted)))
        drafted += random.choices(range(len(q[-1])), q[-1])
    for place, x in enumerate(drafted):
        p = target((*prefix, *drafted[:place]))
        if random.random() * q[place][x] >= p[x]:
            left = [max(0.0, a - b) for a, b in zip(p, q[place])]
            return [*drafted[:place], *random.choices(range(len(p)), left)], q, drafted
    return [*drafted, *random.choices(range(len(q[0])), target((*prefix, *drafted)))], q, drafted
"""


@pytest.mark.slow
def test_rounds_are_explored_where_their_laws_are_small(subjects: Callable) -> None:
    """One round of one or two drafts over two or three tokens, two rounds of one draft; and the places of drafts."""
    subject = subjects(TEXT)["right"]
    wider = loops.case("float32", loops.WIDER)
    for case in (*loops.first(subject.description), wider, loops.case("float32", loops.SMALL[0], rounds=2)):
        seen = law(subject, case, Question(loops.right_law(case), lambda outcome: Draw(*outcome).tokens), run_key="x", draws=10)
        assert isinstance(seen, Exactly)
        assert seen.found.total_variation(seen.right) < 1e-6
    joint = law(
        subject,
        wider,
        Question(loops.standard_law(wider), lambda outcome: (len(Draw(*outcome).rounds[0][0]) - 1, Draw(*outcome).tokens)),
        run_key="x",
        draws=10,
    )
    assert joint.found.total_variation(joint.right) < 1e-6
