"""REST: what is found is what the definition finds, by brute force; files survive crashes and refuse damage; drafts keep the target's law."""

import contextlib
import errno
import hashlib
import itertools
import json
import math
import random
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from specref.generation import TableModel, autoregressive, speculative
from specref.generation.drafters import TreeDraft
from specref.rest import BadStore, Rest, Store, build, documents_of
from specref.rest.__main__ import main
from specref.rest.format import HEADER_SIZE
from specref.rest.shard import Shard
from specref.rest.suffixes import sorted_suffixes
from specref.rules import DeterministicChildren, Standard, TrieSampleAndMatch
from specref.trees import Tree
from specref.warp import GREEDY

Documents = Sequence[Sequence[int]]


def by_definition(documents: Documents, context: Sequence[int], n_min: int, n_max: int, m: int, c: int) -> tuple[int, int, list]:
    """Algorithms 1 and 2 of 2311.08252, word by word."""
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        query = tuple(context[-n:])
        found = [tuple(d[i + n : i + n + m]) for d in documents for i in range(len(d) - n) if tuple(d[i : i + n]) == query]
        if found:
            weights = Counter(one[:k] for one in found for k in range(1, len(one) + 1))
            best = sorted(weights.items(), key=lambda one: (-one[1], len(one[0]), one[0]))
            return n, len(found), best[:c]
    return 0, 0, []


def retrieved(store: Store, context: Sequence[int], n_min: int, n_max: int, m: int, c: int) -> tuple[int, int, list]:
    found = Rest(store, n_max, n_min, m, c).retrieve(context)
    return found.matched, found.occurrences, [(one.tokens, one.weight) for one in found.prefixes]


def corpus(rng: random.Random) -> tuple[int, Documents]:
    """A few short documents of a few tokens; of a large vocabulary, ids on both sides of 16 bits."""
    vocabulary = rng.choice([2, 3, 5, 70_000])
    tokens = [0, 65_535, 65_536, vocabulary - 1] if vocabulary > 5 else range(vocabulary)
    return vocabulary, [[rng.choice(tokens) for _ in range(rng.randint(0, 40))] for _ in range(rng.randint(1, 8))]


def held_to_its_definition(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of all sizes, documents with borders, and so few occurrences read at once that every way of looking is taken."""
    rng = random.Random(seed)
    vocabulary, documents = corpus(rng)
    documents = [*documents, [0, 1 % vocabulary]]
    with build(folder, documents, vocabulary, shard_tokens=rng.choice([10**6, 30])) as store:
        tokens = sorted({token for document in documents for token in document})
        for _ in range(20):
            monkeypatch.setattr("specref.rest.heaviest.AT_ONCE", rng.choice([4096, 2, 5]))
            monkeypatch.setattr("specref.rest.heaviest.LOOKS", rng.choice([64, 2, 1]))
            monkeypatch.setattr("specref.rest.heaviest.CLOSER", rng.choice([4, 2]))
            context = [rng.choice(tokens) for _ in range(rng.randint(0, 6))]
            n_min = rng.randint(1, 2)
            wanted = n_min, rng.randint(n_min, 4), rng.randint(1, 4), rng.randint(1, 12)
            assert retrieved(store, context, *wanted) == by_definition(documents, context, *wanted)


@pytest.mark.parametrize("seed", range(20))
def test_retrieval_is_its_definition(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held_to_its_definition(seed, tmp_path, monkeypatch)


@pytest.mark.slow
def test_retrieval_is_its_definition_on_thousands_of_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20, 3_000):
        held_to_its_definition(seed, tmp_path / str(seed), monkeypatch)


def test_all_occurrences_count(tmp_path: Path) -> None:
    """The first 5,000 in the order of suffixes are all 1; the heaviest continuation is 5 (theory: 1e, deviation i)."""
    documents = [[9, 5]] * 9_000 + [[9, 1]] * 6_000
    with build(tmp_path, documents, 10) as store:
        assert retrieved(store, [9], 1, 16, 10, 1) == (1, 15_000, [((5,), 9_000)])


def test_light_beginnings_are_passed_over_exactly_as_long_as_they_do_not_count(tmp_path: Path) -> None:
    """20,000 occurrences: two heavy continuations, and 4,000 that occur once; the ten first of these follow by their tokens."""
    documents = [[0, 1]] * 9_000 + [[0, 2]] * 7_000 + [[0, 10 + i] for i in range(4_000)]
    with build(tmp_path, documents, 5_000) as store:
        assert retrieved(store, [0], 1, 1, 1, 12)[2] == [((1,), 9_000), ((2,), 7_000), *(((10 + i,), 1) for i in range(10))]


def test_few_beginnings_of_many_occurrences_are_found_without_reading_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One token, again and again: ten beginnings, and at most a few looks for each."""
    looked = []
    real = Shard.runs
    monkeypatch.setattr(
        Shard, "runs", lambda shard, spans, skip, step: looked.append(sum(span.size for span in spans) // step) or real(shard, spans, skip, step)
    )
    with build(tmp_path, [[3] * 100_000], 5) as store:
        found = retrieved(store, [3] * 20, 1, 16, 10, 64)
    assert found[1] == 100_000 - 16
    assert found[2] == [((3,) * n, 100_000 - 15 - n) for n in range(1, 11)]
    assert sum(looked) < 10_000


def test_shards_add_up(tmp_path: Path) -> None:
    """A continuation that is the second in each of two shards is the first of both together."""
    with build(tmp_path, [[0, 1]] * 3 + [[0, 2]] * 2, 4), build(tmp_path, [[0, 3]] * 3 + [[0, 2]] * 2, 4) as store:
        assert len(store.shards) == 2
        assert retrieved(store, [0], 1, 1, 1, 1)[2] == [((2,), 4)]


def test_what_is_found_does_not_depend_on_the_shards(tmp_path: Path) -> None:
    rng = random.Random(3)
    documents = [[rng.randrange(3) for _ in range(rng.randint(1, 30))] for _ in range(40)]
    contexts = [[rng.randrange(3) for _ in range(8)] for _ in range(30)]
    found = []
    for size in (10**6, 200, 50, 1):
        with build(tmp_path / str(size), documents, 3, shard_tokens=size) as store:
            found.append([retrieved(store, context, 1, 8, 5, 20) for context in contexts])
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.parametrize("vocabulary", [5, 300, 65_535, 65_536, 200_000])
def test_suffixes_are_in_order(vocabulary: int) -> None:
    """Against a sort of all suffixes, around the border of 16 bits and of the ranks that fit into them."""
    rng = np.random.default_rng(vocabulary)
    kind = ">u2" if vocabulary < 1 << 16 else ">u4"
    text = np.append(rng.integers(0, vocabulary + 1, 300), vocabulary).astype(kind)
    right = sorted((i for i in range(len(text)) if text[i] != vocabulary), key=lambda i: text[i:].tolist())
    assert sorted_suffixes(text, vocabulary).tolist() == right


def test_more_different_tokens_than_ranks_are_sorted_rightly() -> None:
    text = np.append(np.random.default_rng(1).permutation(70_000), 70_000).astype(">u4")
    assert text[sorted_suffixes(text, 70_000)].tolist() == sorted(range(70_000))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with build(tmp_path / "store", [[1, 2, 3, 1, 2, 4], [1, 2, 3]], 6) as made:
        yield made


@pytest.mark.parametrize(
    ("place", "sentence"), [(HEADER_SIZE, "tokens, is damaged: bytes 0 to 23 "), (HEADER_SIZE + 24, "suffixes, is damaged: bytes 0 to 35 ")]
)
def test_a_changed_byte_is_found_when_it_is_read(place: int, sentence: str, store: Store) -> None:
    """Opening reads no tokens, and takes no longer for a larger store; the first search does, and so does verify."""
    file = store.shards[0].path
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    with Store(store.path) as opened, pytest.raises(BadStore, match=sentence):
        opened.longest([1, 2])
    with pytest.raises(BadStore, match=sentence):
        Store(store.path, verify=True)


@pytest.mark.parametrize(("block", "documents"), [(16, [[i * i % 11 % 7, i % 5, i % 3] for i in range(900)]), (16, [[3] * 2_000]), (1 << 16, [[1, 2, 3]])])
def test_no_flipped_bit_changes_an_answer(block: int, documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 flips, each alone: what is answered without verify is right, or refused; small blocks, so that a search rests on some of them only."""
    monkeypatch.setattr("specref.rest.format.BLOCK", block)
    monkeypatch.setattr("specref.rest.heaviest.AT_ONCE", 20)
    monkeypatch.setattr("specref.rest.heaviest.LOOKS", 2)
    rng = random.Random(1)
    contexts = [documents[0], *([rng.randrange(7) for _ in range(3)] for _ in range(3))]
    build(tmp_path, documents, 8).close()
    (file,) = tmp_path.glob("*.rest")
    data = file.read_bytes()
    right = answers(tmp_path, contexts)
    told: Counter[str] = Counter()
    for _ in range(200):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(changed)
        found = answers(tmp_path, contexts)
        assert all(one in (known, None) for one, known in zip(found, right, strict=True))
        told.update("refused" if one is None else "right" for one in found)
        with pytest.raises(BadStore):
            Store(tmp_path, verify=True)
    assert told["refused"] > 50
    assert block > 64 or told["right"] > 100


def test_no_flipped_bit_of_any_byte_moves_the_borders_of_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of a small store, its lowest and its highest bit; a search that halving misleads ends beside what misled it."""
    monkeypatch.setattr("specref.rest.format.BLOCK", 8)
    queries = [*itertools.product(range(3), repeat=1), *itertools.product(range(3), repeat=2)]
    with build(tmp_path, [[i * i % 5 % 3 for i in range(25)], [2, 0, 1] * 3], 3) as store:
        right, end = [store.find(query).intervals for query in queries], HEADER_SIZE + store.shards[0].header.body_size
    (file,) = tmp_path.glob("*.rest")
    data = file.read_bytes()
    for place, bit in itertools.product(range(HEADER_SIZE, end), (1, 128)):
        file.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
        with Store(tmp_path) as opened:
            for query, known in zip(queries, right, strict=True):
                with contextlib.suppress(BadStore):
                    assert opened.find(query).intervals == known


def answers(path: Path, contexts: Documents) -> list[tuple[int, int, list] | None]:
    """Of a store that has just been opened; None for what is refused."""
    found: list[tuple[int, int, list] | None] = [None] * len(contexts)
    with contextlib.suppress(BadStore), Store(path) as opened:
        for i, context in enumerate(contexts):
            with contextlib.suppress(BadStore):
                found[i] = retrieved(opened, context, 1, 16, 4, 10)
    return found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data[:-1], "was cut short or changed"),
        (lambda data: data + b"\0", "was cut short or changed"),
        (lambda data: data[:40], "is no shard"),
        (lambda data: b"", "is no shard"),
        (lambda data: b"X" + data[1:], "does not begin with SPECREST"),
        (lambda data: data[:8] + struct.pack("<I", 1) + data[12:], "has version 1 of the format, and this program reads version 2; build it again"),
        (lambda data: data[:8] + struct.pack("<I", 3) + data[12:], "has version 3 of the format"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "its checksums do not fit their own"),
        *((lambda data, i=i: data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :], "header does not fit its checksum") for i in range(12, 60, 5)),
    ],
)
def test_damaged_files_are_refused(change, sentence: str, store: Store) -> None:
    file = store.shards[0].path
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(BadStore, match=sentence):
        Store(store.path)


def test_no_byte_can_be_changed_unseen(store: Store) -> None:
    """Each bit of a small store; verify reads all of it."""
    file = store.shards[0].path
    data = file.read_bytes()
    for i in range(len(data)):
        file.write_bytes(data[:i] + bytes([data[i] ^ (1 << i % 8)]) + data[i + 1 :])
        with pytest.raises(BadStore):
            Store(store.path, verify=True)


def test_no_length_is_taken_for_another(store: Store) -> None:
    file = store.shards[0].path
    data = file.read_bytes()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        with pytest.raises(BadStore):
            Store(store.path)


@pytest.mark.slow
def test_builders_killed_at_any_moment_leave_right_answers(tmp_path: Path) -> None:
    """Fifty times, at random moments; what is there afterwards is whole, and the store that was there before answers as before."""
    rng = random.Random(1)
    documents = [[1, 2, 3]] * 4
    build(tmp_path, documents, 6).close()
    for _ in range(50):
        program = f"from specref.rest import build; build({str(tmp_path)!r}, ([4, 5, 4] for _ in range(200_000)), 6, shard_tokens=50_000)"
        running = subprocess.Popen([sys.executable, "-c", program])
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(rng.uniform(0.2, 1.6))
        running.kill()
        running.wait()
        with Store(tmp_path, verify=True) as store:
            assert retrieved(store, [1, 2], 1, 16, 3, 8) == by_definition(documents, [1, 2], 1, 16, 3, 8)
            others = [shard.header.documents for shard in store.shards[1:]]
            assert store.find([4, 5]).count == sum(others)


def test_a_crash_leaves_nothing_that_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while a shard is written: the old shards stay as they are, and no new one is seen."""
    before = sorted(file.name for file in store.path.iterdir())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        build(store.path, [[5, 5, 5]], 6)
    assert sorted(file.name for file in store.path.iterdir()) == before


def in_processes(*programs: str) -> list[int]:
    """Exit codes of Python programs that run at once."""
    running = [subprocess.Popen([sys.executable, "-c", f"import os\nfrom specref.rest import build\n{program}"]) for program in programs]
    return [one.wait(60) for one in running]


def test_a_builder_that_is_killed_leaves_whole_shards_alone(tmp_path: Path) -> None:
    rows_and_death = "([1, 2, 3] if i < 100 else os.kill(os.getpid(), 9) for i in range(101))"
    assert in_processes(f"build({str(tmp_path)!r}, {rows_and_death}, 6, shard_tokens=200)") == [-9]
    with Store(tmp_path, verify=True) as store:
        assert 0 < store.documents <= 100


def test_builders_at_once_do_not_overwrite_each_other(tmp_path: Path) -> None:
    assert in_processes(*(f"build({str(tmp_path)!r}, [[{token}, {token}]] * 10, 100, shard_tokens=1)" for token in range(3))) == [0, 0, 0]
    with Store(tmp_path, verify=True) as store:
        assert store.documents == 30
        assert [store.find([token]).count for token in range(3)] == [10] * 3


def test_readers_see_the_store_that_they_opened(store: Store) -> None:
    build(store.path, [[1, 2, 5]] * 9, 6).close()
    assert retrieved(store, [1, 2], 1, 16, 1, 1)[2] == [((3,), 2)]
    with Store(store.path) as later:
        assert retrieved(later, [1, 2], 1, 16, 1, 1)[2] == [((5,), 9)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda path: build(path, [[1, 2], [0, 6]], 6), "document 1, column 1: token 6 is outside 0 … 5"),
        (lambda path: build(path, [[-1]], 6), "document 0, column 0: token -1"),
        (lambda path: build(path, [["a"]], 6), "document 0 must be one row of integer token ids"),
        (lambda path: build(path, [[], []], 6), "no document with a token"),
        (lambda path: build(path, [[1]], 0), "a vocabulary must have 1 to"),
        (Store, "holds no shard"),
    ],
)
def test_bad_input_writes_nothing(call, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(tmp_path)
    assert not list(tmp_path.iterdir())


def test_questions_out_of_range_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="context, column 1: token 6 is outside 0 … 5"):
        Rest(store).retrieve([1, 6])
    with pytest.raises(ValueError, match="1 <= n_min <= n_max"):
        Rest(store, n_max=1, n_min=2)
    with pytest.raises(ValueError, match="has a vocabulary of 6 tokens, not 7"):
        build(store.path, [[1]], 7)


def test_documents_come_from_text_and_from_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab")
    (tmp_path / "b.jsonl").write_text('{"text": "c"}\n\n{"text": "d"}\n')
    assert [list(row) for row in documents_of([tmp_path / "a.txt", tmp_path / "b.jsonl"], lambda text: [ord(x) - 97 for x in text])] == [[0, 1], [2], [3]]
    (tmp_path / "bad.jsonl").write_text('{"txt": "c"}\n')
    with pytest.raises(ValueError, match=r"bad.jsonl, line 1: no JSON object with a text 'text'"):
        list(documents_of([tmp_path / "bad.jsonl"], list))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in [[1, 2, 3], [1, 2, 3], [1, 2, 4]]))
    assert main(["build", str(tmp_path / "store"), str(tmp_path / "rows.jsonl"), "--vocabulary", "5"]) == 0
    assert main(["inspect", str(tmp_path / "store"), "--verify"]) == 0
    assert "3 documents, 9 tokens of 5, 1 shard" in capsys.readouterr().out
    assert main(["search", str(tmp_path / "store"), "0", "1", "2"]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[:2] == ["the last 2 tokens occur, with 3 continuations", "         2  3"]
    assert main(["inspect", str(tmp_path)]) == 2
    assert "holds no shard" in capsys.readouterr().err


def rows(seed: int, vocabulary: int, dtype: torch.dtype = torch.float64) -> TableModel:
    """A table whose rows depend on the last two tokens."""

    def row(prefix: tuple[int, ...]) -> list[float]:
        weights = [hashlib.blake2b(repr((seed, prefix[-2:], token)).encode()).digest()[0] % 4 for token in range(vocabulary)]
        return [math.log(w) if w else -math.inf for w in (weights if any(weights) else [1] * vocabulary)]

    return TableModel(row, vocabulary, dtype)


@pytest.fixture
def corpus_store(tmp_path: Path) -> Iterator[Store]:
    rng = random.Random(1)
    with build(tmp_path, [[rng.randrange(3) for _ in range(12)] for _ in range(6)], 3) as made:
        yield made


@pytest.mark.parametrize("rule", [None, TrieSampleAndMatch(), DeterministicChildren()], ids=lambda rule: type(rule).__name__)
def test_generation_keeps_the_targets_law(rule: object, corpus_store: Store) -> None:
    """Three tokens, explored exactly, drafts of up to six nodes."""
    exact_law = pytest.importorskip("specverify").exact_law
    target, length = rows(2, 3), 3 if rule is None else 2
    rest = Rest(corpus_store, n_max=3, longest=2, count=6)
    law = exact_law(
        lambda g: speculative(target, rest, [0, 1], g, max_new_tokens=length, gamma=2, rule=rule).tokens[0], torch.Generator(), probe=0, max_seconds=100
    )
    for text in itertools.product(range(3), repeat=length):
        right = 1.0
        for i, token in enumerate(text):
            right *= torch.tensor(target.row((0, 1, *text[:i])), dtype=torch.float64).softmax(0)[token].item()
        assert law[text] == pytest.approx(right, abs=1e-12)


def test_drawing_again_after_a_mismatch_is_seen() -> None:
    """reference.md, section 3: V = 3, p = (.5, .3, .2), child {1}: P(1) would be .51."""
    p, child = (0.5, 0.3, 0.2), 1
    redrawn = p[child] + (1 - p[child]) * p[child]
    assert redrawn == pytest.approx(0.51)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_greedy_decoding_is_the_targets_own(corpus_store: Store, dtype: torch.dtype) -> None:
    saved = 0
    for seed in range(12):
        target, prompts = rows(seed, 3, dtype), [[0, 1], [2], [1, 1, 0]]
        plain = autoregressive(target, prompts, torch.Generator(), max_new_tokens=16, sampling=GREEDY)
        ours = speculative(target, Rest(corpus_store), prompts, torch.Generator(), max_new_tokens=16, gamma=4, sampling=GREEDY)
        assert ours.tokens == plain.tokens
        saved += plain.trace.target_calls - ours.trace.target_calls
    assert saved > 0


def test_a_batch_gives_what_its_rows_give_alone(corpus_store: Store) -> None:
    target, prompts = rows(5, 3), [[0, 1], [2], [1, 1, 0], [2, 2, 2, 1]]
    how = {"max_new_tokens": 10, "gamma": 3}
    together = speculative(target, Rest(corpus_store), prompts, [torch.Generator().manual_seed(i) for i in range(4)], **how).tokens
    assert together == [speculative(target, Rest(corpus_store), text, torch.Generator().manual_seed(i), **how).tokens[0] for i, text in enumerate(prompts)]


def test_trees_keep_to_budget_and_limit(corpus_store: Store) -> None:
    rest = Rest(corpus_store, count=7)
    draft = rest.start(2, torch.device("cpu")).draft([[0, 1, 2], [1]], [3, 0], torch.Generator())
    assert isinstance(draft, TreeDraft)
    assert 0 < len(draft.trees[0]) <= 7
    assert len(draft.trees[0].widths) <= 3
    assert draft.trees[1] == Tree((), ())


def test_a_rule_for_chains_is_refused(corpus_store: Store) -> None:
    with pytest.raises(ValueError, match="the drafter proposes trees, and Standard is no rule for them"):
        speculative(rows(1, 3), Rest(corpus_store), [0], torch.Generator(), max_new_tokens=4, rule=Standard())
    with pytest.raises(ValueError, match="vocabulary of 3 tokens and the target one of 4"):
        speculative(rows(1, 4), Rest(corpus_store), [0], torch.Generator(), max_new_tokens=4)


def test_depths_of_rounds_are_those_of_the_trees(corpus_store: Store) -> None:
    done = speculative(rows(6, 3), Rest(corpus_store), [0, 1], torch.Generator().manual_seed(1), max_new_tokens=12, gamma=3)
    assert all(one.accepted <= one.depth <= 3 and len(one.drafted) >= one.depth for one in done.trace.rounds)
    assert done.trace.target_calls == len(done.trace.rounds) <= 12
