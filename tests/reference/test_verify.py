"""Verification of batches: what holds in every single trial (theory: S12), ragged rows, refused arguments, no wait for the device."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

import specref
from specref.rules import PAD, Block, DeterministicDraft, Greedy, Lenient, Round, SampleAndMatch, Standard, Typical, Verdict

TOP = 1 - 2**-53
"""The largest float64 uniform on [0, 1)."""

ALL = {type(rule).__name__: rule for rule in (Standard(), DeterministicDraft(), SampleAndMatch(), Greedy(), Block(), Lenient(0.7), Typical())}
NO_RULE_READS_ON = ("Standard", "DeterministicDraft", "SampleAndMatch", "Lenient", "Greedy", "Typical")
every_rule = pytest.mark.parametrize("rule", ALL.values(), ids=ALL)


def rows(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Rows of probabilities with zeros and points among them, float64."""
    weights = torch.randint(0, 4, shape, generator=generator).double() * (torch.rand(shape, generator=generator) < 0.8)
    empty = weights.sum(-1, keepdim=True) == 0
    return torch.where(empty, 1.0, weights) / torch.where(empty, torch.tensor(float(shape[-1])), weights.sum(-1, keepdim=True))


def batch(seed: int, b: int, gamma: int, v: int, *, extreme: bool = False) -> Round:
    """Drafts that q can draw, ragged; uniforms anywhere, or at the ends of their range."""
    g = torch.Generator().manual_seed(seed)
    p, q = rows(g, b, gamma + 1, v), rows(g, b, gamma, v)
    draft = q.flatten(0, 1).multinomial(1, generator=g).view(b, gamma) if gamma else torch.zeros(b, 0).long()
    lengths = torch.randint(0, gamma + 1, (b,), generator=g)
    u = torch.rand(b, gamma + 1, generator=g, dtype=torch.float64)
    u = u.round() * TOP if extreme else u
    draft = draft.where(torch.arange(gamma) < lengths[:, None], torch.tensor(PAD))
    return Round(p, q, draft, lengths, u[:, :gamma], u[:, gamma])


def call(rule, of: Round) -> Verdict:
    return rule(of if rule.needs_q else of._replace(q=None))


SHAPES = [(0, 3), (1, 2), (3, 2), (3, 5), (4, 600)]


@every_rule
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize(("gamma", "v"), SHAPES)
def test_a_trial_has_the_drafts_prefix_one_token_and_pads(rule, gamma: int, v: int, *, extreme: bool) -> None:
    """S12 a, b, c: nothing of probability zero comes out, at u = 0 and u = 1 - 2^-53 neither; a token that was refused is not emitted."""
    of = batch(gamma, 500, gamma, v, extreme=extreme)
    tokens, n = call(rule, of)
    places = torch.arange(gamma + 1)
    assert ((n >= 0) & (n <= of.lengths)).all()
    assert (tokens[places > n[:, None]] == PAD).all()
    inside = places[:-1] < n[:, None]
    assert torch.equal(tokens[:, :-1][inside], of.draft[inside])
    emitted = tokens.gather(1, n[:, None])[:, 0]
    if rule.exact:
        assert (of.p.gather(-1, tokens.clamp(min=0)[..., None])[..., 0][places <= n[:, None]] > 0).all()
    assert (of.p[torch.arange(500), n, emitted] > 0).all()
    stopped = n < of.lengths
    if rule.exact and not isinstance(rule, Block):  # block refuses prefixes, not tokens
        assert (emitted != torch.nn.functional.pad(of.draft, (0, 1)).gather(1, n[:, None])[:, 0])[stopped].all()


def test_what_replaces_a_refused_token_is_likelier_in_the_target() -> None:
    """S12 b, for the standard rule: p(out) > q(out) where it stops."""
    of = batch(1, 2_000, 3, 5)
    tokens, n = Standard()(of)
    stopped = (n < of.lengths).nonzero()[:, 0]
    stop, token = n[stopped], tokens[stopped, n[stopped]]
    assert len(stopped) > 500
    assert (of.p[stopped, stop, token] > of.q[stopped, stop, token]).all()


@pytest.mark.parametrize("rule", [Standard(), Block(), Lenient(1.0), Lenient(0.3)], ids=repr)
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_equal_rows_accept_all(rule, kind: torch.dtype) -> None:
    """S12 d, whatever the uniforms."""
    for extreme in (False, True):
        of = batch(5, 500, 3, 5, extreme=extreme)
        p = of.p.to(kind)
        draft = p[:, :3].float().flatten(0, 1).multinomial(1, generator=torch.Generator().manual_seed(1)).view(500, 3)
        assert torch.equal(rule(of._replace(p=p, q=p[:, :3].clone(), draft=draft)).accepted, of.lengths)


@pytest.mark.parametrize("name", NO_RULE_READS_ON)
def test_rows_behind_the_stop_change_nothing(name: str) -> None:
    """S12 e: rows of p and q, and tokens, behind the stop; rows of q and uniforms of coins too. Block is not among them."""
    of = batch(2, 1_000, 4, 4)
    before = call(ALL[name], of)
    g = torch.Generator().manual_seed(9)
    behind = torch.arange(5) > before.accepted[:, None]
    changed = of._replace(
        p=torch.where(behind[..., None], rows(g, 1_000, 5, 4), of.p),
        q=torch.where(behind[:, :4, None], rows(g, 1_000, 4, 4), of.q),
        draft=torch.where(behind[:, :4] & of.drafted, torch.randint(0, 4, (1_000, 4), generator=g), of.draft),
        coins=torch.where(behind[:, :4], torch.rand(1_000, 4, generator=g).double(), of.coins),
    )
    after = call(ALL[name], changed)
    assert torch.equal(before.tokens, after.tokens)


@every_rule
def test_what_stands_behind_a_rows_end_changes_nothing(rule) -> None:
    """Padding of a ragged row, NaN included: rows of p behind number lengths[b], rows of q, tokens and coins from there on."""
    of = batch(3, 1_000, 4, 4)
    before = call(rule, of)
    out = ~of.drafted
    nan = torch.tensor(float("nan")).double()
    changed = of._replace(
        p=torch.where((torch.arange(5) > of.lengths[:, None])[..., None], nan, of.p),
        q=torch.where(out[..., None], nan, of.q),
        draft=torch.where(out, 3, of.draft),
        coins=torch.where(out, 0.0, of.coins),
    )
    after = call(rule, changed)
    assert torch.equal(before.tokens, after.tokens)
    assert torch.equal(before.accepted, after.accepted)


@every_rule
def test_row_of_a_batch_is_the_row_alone(rule) -> None:
    """S12 h: the same uniforms, no neighbours, no padding of gamma."""
    of = batch(4, 60, 4, 5)
    tokens, n = call(rule, of)
    for b, length in enumerate(of.lengths.tolist()):
        one = slice(b, b + 1)
        alone = Round(of.p[one, : length + 1], of.q[one, :length], of.draft[one, :length], of.lengths[one], of.coins[one, :length], of.last[one])
        mine, accepted = call(rule, alone)
        assert accepted.item() == n[b].item()
        assert mine[0].tolist() == tokens[b, : length + 1].tolist()


@every_rule
def test_whole_drafts_need_no_mask(rule) -> None:
    """Told that every draft is whole, a rule says what it says when it looks at the lengths."""
    of = batch(8, 400, 3, 5)
    of = of._replace(draft=of.draft.clamp(min=0), lengths=torch.full_like(of.lengths, 3))
    for said, right in zip(call(rule, of._replace(whole=True)), call(rule, of), strict=True):
        assert torch.equal(said, right)


@every_rule
@pytest.mark.parametrize("ragged", [False, True])
def test_a_batch_judged_in_pieces_is_the_batch(rule, monkeypatch, *, ragged: bool) -> None:
    of = batch(9, 50, 3, 5)
    lengths = of.lengths if ragged else None
    said = []
    for at_once in (2**19, 35, 1):  # all, seven rows, one
        monkeypatch.setattr(specref.verification, "AT_ONCE", at_once)
        said.append(specref.verify(rule, of.p, of.q, of.draft.clamp(min=0), torch.Generator().manual_seed(1), lengths))
    for tokens, accepted in said[1:]:
        assert torch.equal(tokens, said[0].tokens)
        assert torch.equal(accepted, said[0].accepted)


@every_rule
def test_generator_per_row(rule) -> None:
    """A row's tokens, and what it takes from its generator, depend neither on its neighbours nor on the width of the batch."""
    of = batch(6, 20, 4, 5)
    sources = [torch.Generator().manual_seed(b) for b in range(20)]
    tokens, _ = specref.verify(rule, of.p, of.q, of.draft, sources, of.lengths)
    for b, length in enumerate(of.lengths.tolist()):
        one, source = slice(b, b + 1), torch.Generator().manual_seed(b)
        mine, _ = specref.verify(rule, of.p[one, : length + 1], of.q[one, :length], of.draft[one, :length], [source])
        assert mine[0].tolist() == tokens[b, : length + 1].tolist()
        assert torch.equal(source.get_state(), sources[b].get_state())


@pytest.mark.parametrize("name", ["Standard", "Block", "Lenient", "DeterministicDraft"])
def test_accepted_lengths_do_not_depend_on_names_of_tokens(name: str) -> None:
    """S12 f: coins know no order of tokens, so a permutation keeps the accepted prefix; the law of what comes then is test_rules' business."""
    of = batch(7, 500, 3, 6)
    order = torch.tensor([3, 5, 0, 2, 4, 1])
    place = order.argsort()
    renamed = of._replace(p=of.p[..., order], q=of.q[..., order], draft=place[of.draft.clamp(min=0)].where(of.drafted, torch.tensor(PAD)))
    (tokens, n), (others, m) = call(ALL[name], of), call(ALL[name], renamed)
    assert torch.equal(n, m)
    inside = torch.arange(4) < n[:, None]
    assert torch.equal(tokens[inside], order[others[inside]])


@every_rule
def test_permuting_the_vocabulary_permutes_the_law(rule) -> None:
    """S12 f, emitted tokens included: counts over a grid of the last uniform, of dyadic rows, for each piece of the coin."""
    of = Round(
        *(torch.tensor(x).double() / 8 for x in ([[[3, 0, 4, 1], [1, 5, 2, 0]]], [[[1, 4, 2, 1]]])),
        *(torch.ones(1, 1).long(), torch.ones(1).long()),
        None,
        None,
    )
    order = torch.tensor([2, 0, 3, 1])
    grid = (torch.arange(64).double() + 0.5) / 64
    u = torch.cartesian_prod(grid, grid)
    for draft in range(4):
        laws = []
        for names in (torch.arange(4), order):
            place = names.argsort()
            given_ = of._replace(p=of.p[..., names].expand(len(u), -1, -1), q=of.q[..., names].expand(len(u), -1, -1))
            given_ = given_._replace(draft=place[draft].expand(len(u), 1), lengths=of.lengths.expand(len(u)), coins=u[:, :1], last=u[:, 1])
            tokens = call(rule, given_).tokens
            back = torch.where(tokens < 0, tokens, names[tokens.clamp(min=0)])
            laws.append(((back + 1) @ torch.tensor([5, 1])).bincount(minlength=25) / len(u))
        assert (laws[0] - laws[1]).abs().sum() / 2 <= 4 / 64, "a piece's border may move by one cell of the grid, at each of four tokens"


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), gamma=st.integers(0, 4), v=st.integers(1, 6), name=st.sampled_from(sorted(ALL)))
def test_verify_writes_into_nothing(seed: int, gamma: int, v: int, name: str) -> None:
    of = batch(seed, 5, gamma, v)
    arguments = of.p, of.q, of.draft
    copies = [x.clone() for x in arguments]
    tokens, n = specref.verify(ALL[name], *arguments, torch.Generator().manual_seed(seed), of.lengths)
    assert all(torch.equal(a, b) for a, b in zip(arguments, copies, strict=True))
    assert (tokens.dtype, n.dtype, tokens.shape) == (torch.int64, torch.int64, (5, gamma + 1))


@every_rule
@pytest.mark.parametrize("check", [True, False])
def test_no_rows_and_no_tokens(rule, *, check: bool) -> None:
    """An empty batch; drafts of length 0 in a wide batch; gamma 0."""
    tokens, n = specref.verify(rule, torch.ones(0, 3, 2) / 2, torch.ones(0, 2, 2) / 2, torch.zeros(0, 2).long(), torch.Generator(), check=check)
    assert (tokens.shape, n.shape) == ((0, 3), (0,))
    point = torch.tensor([0.0, 1.0]).expand(4, 3, 2)
    tokens, n = specref.verify(rule, point, point[:, 1:], torch.zeros(4, 2).long(), torch.Generator(), torch.zeros(4).long(), check=check)
    assert tokens.tolist() == [[1, PAD, PAD]] * 4
    assert n.tolist() == [0] * 4
    assert specref.verify(rule, point[:, :1], point[:, :0], torch.zeros(4, 0).long(), torch.Generator(), check=check).tokens.tolist() == [[1]] * 4


# ---- refused arguments


def good() -> dict:
    return {"p": torch.full((2, 3, 4), 0.25), "q": torch.full((2, 2, 4), 0.25), "draft": torch.zeros(2, 2).long(), "lengths": torch.tensor([2, 1])}


def with_value(name: str, place: tuple, value: float) -> dict:
    arguments = good()
    arguments[name][place] = value
    return arguments


NAN, INF = float("nan"), float("inf")
BAD = [
    (lambda: good() | {"p": torch.full((2, 2, 4), 0.25)}, r"2 drafts of 2 tokens need p of shape \(2, 3, V\), not \(2, 2, 4\)"),
    (lambda: good() | {"p": torch.full((3, 3, 4), 0.25)}, r"2 drafts of 2 tokens need p of shape \(2, 3, V\)"),
    (lambda: good() | {"p": torch.full((3, 4), 0.25)}, r"p must have shape \(B, gamma \+ 1, V\)"),
    (lambda: good() | {"draft": torch.zeros(2).long()}, r"draft \(B, gamma\)"),
    (lambda: good() | {"q": torch.full((2, 2, 5), 0.2)}, r"q must have shape \(2, 2, 4\), not \(2, 2, 5\)"),
    (lambda: good() | {"q": torch.full((2, 3, 4), 0.25)}, r"q must have shape \(2, 2, 4\)"),
    (lambda: good() | {"q": None}, "Standard needs the draft's rows q"),
    (lambda: good() | {"lengths": torch.tensor([2])}, r"lengths must hold 2 integers, one for each row"),
    (lambda: good() | {"lengths": torch.tensor([2, 3])}, r"lengths, row 1: 3 is outside 0 … 2"),
    (lambda: good() | {"lengths": torch.tensor([-1, 2])}, r"lengths, row 0: -1 is outside 0 … 2"),
    (lambda: good() | {"lengths": torch.tensor([1.5, 2.0])}, "lengths"),
    (lambda: good() | {"lengths": torch.tensor([True, True])}, "lengths"),
    (lambda: good() | {"draft": torch.zeros(2, 2)}, "draft must hold integer token ids"),
    (lambda: good() | {"draft": torch.zeros(2, 2).bool()}, "draft must hold integer token ids"),
    (lambda: with_value("draft", (0, 1), 4), r"draft, row 0, column 1: token 4 is outside 0 … 3"),
    (lambda: with_value("draft", (1, 0), PAD), r"draft, row 1, column 0: token -1 is outside 0 … 3"),
    (lambda: with_value("p", (1, 1, 2), NAN), r"p, row \(1, 1\), column 2: nan is not a probability"),
    (lambda: with_value("p", (0, 2, 3), -0.25), r"p, row \(0, 2\), column 3: -0.25 is not a probability"),
    (lambda: with_value("q", (1, 0, 0), INF), r"q, row \(1, 0\), column 0: inf is not a probability"),
    (lambda: with_value("p", (0, 0, 0), 0.5), r"p, row \(0, 0\): the probabilities sum to 1.25, not to 1"),
    (lambda: with_value("q", (0, 1, 1), 0.0), r"q, row \(0, 1\): the probabilities sum to 0.75, not to 1"),
    (lambda: good() | {"p": torch.ones(2, 3, 4).long()}, "p must be a floating-point tensor"),
    (lambda: good() | {"q": torch.ones(2, 2, 4).long()}, "q must be a floating-point tensor"),
    (lambda: good() | {"p": torch.ones(2, 3, 0), "q": torch.ones(2, 2, 0)}, "p has shape .* at least one probability"),
    (lambda: good() | {"q": good()["q"].to("meta")}, "p is on cpu and q is on meta"),
    (lambda: good() | {"draft": good()["draft"].to("meta")}, "p is on cpu and draft is on meta"),
    (lambda: good() | {"lengths": good()["lengths"].to("meta")}, "p is on cpu and lengths is on meta"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_arguments_are_refused_before_anything_is_drawn(arguments, sentence: str) -> None:
    """One sentence with argument, row and column."""
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    with pytest.raises(ValueError, match=sentence) as raised:
        specref.verify(Standard(), **arguments(), generator=generator)
    assert torch.equal(before, generator.get_state())
    assert "\n" not in str(raised.value)


def test_number_of_generators_is_that_of_rows() -> None:
    """Refused by name, and nothing is drawn from those that are there."""
    sources = [torch.Generator().manual_seed(3)]
    before = sources[0].get_state()
    with pytest.raises(ValueError, match="generator"):
        specref.verify(Standard(), **good(), generator=sources)
    assert torch.equal(before, sources[0].get_state())


def test_nothing_is_asked_of_what_a_ragged_row_does_not_have() -> None:
    """NaN rows and any token behind a row's end are padding; the row that follows the draft is looked at."""
    arguments = good()
    arguments["p"][1, 2], arguments["q"][1, 1], arguments["draft"][1, 1] = NAN, NAN, 99
    specref.verify(Standard(), **arguments, generator=torch.Generator())
    arguments["p"][1, 1] = NAN
    with pytest.raises(ValueError, match=r"p, row \(1, 1\)"):
        specref.verify(Standard(), **arguments, generator=torch.Generator())


@pytest.mark.parametrize("make", [lambda: Lenient(0), lambda: Lenient(1.5), lambda: Lenient(NAN)])
def test_lenience_is_refused_out_of_its_range(make) -> None:
    with pytest.raises(ValueError, match="lenience"):
        make()


# ---- no wait for the device


def device() -> torch.device:
    """CUDA where torch has it; a foreign device without kernels elsewhere."""
    return torch.device("cuda" if torch.backends.cuda.is_built() else "meta")


def shaped(v: int, gamma: int) -> Round:
    """A round without values on another device."""
    empty = lambda *shape, dtype=torch.float64: torch.empty(shape, dtype=dtype, device=device())
    ids = {"dtype": torch.int64}
    return Round(empty(5, gamma + 1, v), empty(5, gamma, v), empty(5, gamma, **ids), empty(5, **ids), empty(5, gamma), empty(5))


@every_rule
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("v", "gamma"), [(7, 0), (7, 3), (700, 0), (700, 3)])
def test_rules_look_at_no_value(rule, kind: torch.dtype, v: int, gamma: int) -> None:
    """Tensors without values pass through: no control flow by a value, no constant of the host's among them."""
    with FakeTensorMode():
        of = shaped(v, gamma)
        tokens, n = call(rule, of._replace(p=of.p.to(kind), q=of.q.to(kind)))
    assert (tokens.shape, n.shape) == ((5, gamma + 1), (5,))
    assert {tokens.device.type, n.device.type} == {device().type}


HOST = [lambda of: Verdict(of.draft, of.lengths + int(of.lengths.sum())), lambda of: Verdict(of.draft, torch.arange(5) + of.lengths)]


@pytest.mark.parametrize("twin", HOST)
def test_a_value_or_a_host_constant_would_show(twin) -> None:
    with FakeTensorMode(), pytest.raises(Exception, match=r"item|data-dependent|same device|scalar_dense"):
        twin(shaped(7, 3))
