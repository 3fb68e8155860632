"""Laws of subjects: what outlives a call, and what is drawn otherwise, makes none. Right ones are not accused, and wrong ones do not pass."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specprops import sample, verify_chain
from specverify import observe
from specverify.contracts import array_of
from specverify.law import product_law
from specverify.observe import Exactly, Question
from specverify.subjects.replies import Explored, Unexplored
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Worker

SUBJECTS = """
import hashlib, itertools, os, torch
import specverify as sv

def step(p, q, draft, coin):
    for i, x in enumerate(draft.tolist()):
        if not coin(i) * q[i, x] < p[i, x]:
            rest = (p[i] - q[i]).clamp(min=0)
            return [*draft[:i].tolist(), int(torch.multinomial(rest if rest.sum() > 0 else p[i], 1))]
    return [*draft.tolist(), int(torch.multinomial(p[-1], 1))]

STOCK, AT = torch.rand(100_000, dtype=torch.float64), itertools.count()

@sv.subject("verify_chain")
def coins_drawn_at_import(p, q, draft):
    return step(p, q, draft, lambda i: STOCK[next(AT)])

LEFT = [torch.rand(8)]

@sv.subject("verify_chain")
def coins_of_the_call_before(p, q, draft):
    coins, LEFT[0] = LEFT[0], torch.rand(8)
    return step(p, q, draft, lambda i: coins[i])

@sv.subject("verify_chain", seed="int")
def hashed_seed(p, q, draft, seed):
    return step(p, q, draft, lambda i: int(hashlib.sha256(b"%d/%d" % (seed, i)).hexdigest()[:12], 16) / 2**48)

@sv.subject("sample")
def system_bytes(probs):
    cdf = probs.double().cumsum(0)
    return int((cdf <= int.from_bytes(os.urandom(6), "big") / 2**48 * cdf[-1]).sum())

OUT = torch.zeros(16, dtype=torch.long)

@sv.subject("verify_chain")
def reused_output(p, q, draft):
    tokens = step(p, q, draft, lambda i: torch.rand(()))
    OUT[: len(tokens)] = torch.tensor(tokens)
    return OUT[: len(tokens)]

@sv.subject("verify_chain", seed="int")
def seeded(p, q, draft, seed):
    torch.manual_seed(seed)
    return step(p, q, draft, lambda i: torch.rand(()))

@sv.subject("verify_chain")
def half_coin(p, q, draft):
    p, q = p.bfloat16(), q.bfloat16()
    for i, x in enumerate(draft.tolist()):
        if not torch.rand((), dtype=torch.bfloat16) * q[i, x] < p[i, x] * 1.1:
            return [*draft[:i].tolist(), int(torch.multinomial((p[i] - q[i]).clamp(min=0).float(), 1))]
    return [*draft.tolist(), int(torch.multinomial(p[-1].float(), 1))]
"""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Subject]]:
    """A subject by name, fresh for what is remembered of its laws."""
    file = tmp_path_factory.mktemp("laws") / "specverify_subjects.py"
    file.write_text(SUBJECTS)
    worker = Worker(from_path(str(Path(file))))
    described = {one.name: one for one in load(worker)[0]}
    yield lambda name: Subject(name, described[name], worker)
    worker.close()


@pytest.mark.parametrize("name", ["coins_drawn_at_import", "coins_of_the_call_before", "hashed_seed", "system_bytes"])
def test_what_is_hidden_makes_no_law_on_any_case(subjects: Callable, name: str) -> None:
    """Balanced rows come first and are replayed often; after one refusal no other law of the subject counts, those before it included."""
    subject = subjects(name)
    cases = (sample if name == "system_bytes" else verify_chain).first(subject.description)
    told = [observe.explored(subject, case) for case in cases]
    assert isinstance(told[-1], Unexplored)
    assert told[-1].hidden
    assert all(observe.explored(subject, case) is told[-1] for case in cases)
    assert not observe.explorable(subject)


@pytest.mark.parametrize("name", ["reused_output", "seeded"])
def test_two_calls_are_two_results(subjects: Callable, name: str) -> None:
    """Also where the second is written over the first, and where each call has a seed of its own."""
    subject = subjects(name)
    case = verify_chain.first(subject.description)[2]
    (law,) = subject.laws([case], spans=2)
    assert isinstance(law, Explored)
    rows = list(array_of(case, "p").rows())
    masses: dict = {}
    for outcome, mass in law.law.probabilities.items():
        tokens = tuple(token for one in outcome for token in one[2])
        masses[tokens] = masses.get(tokens, 0.0) + mass
    assert masses == pytest.approx(product_law([*rows, *rows]).probabilities, abs=1e-6)


def test_what_half_precision_excuses_is_drawn(subjects: Callable) -> None:
    """A law off by 3 %, in arithmetic whose rounding is granted 13 %, is not passed as rounding."""
    subject = subjects("half_coin")
    case = verify_chain.first(subject.description)[2]
    question = Question(product_law(array_of(case, "p").rows()), lambda outcome: outcome[2])
    seen = observe.law(subject, case, question, run_key="half", draws=100)
    assert not isinstance(seen, Exactly)
    assert "rounding is allowed" in dict(seen.steps)["exact"]
