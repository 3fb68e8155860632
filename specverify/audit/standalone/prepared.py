"""More of what stand-alone scripts are made of: arguments that are objects, and outcomes of batches and loops. Their source is written into a script, beside that of `parts`."""

from __future__ import annotations

import random
import sys
import zlib

from specverify.audit.standalone.parts import CASE, DTYPES, OPTIONS, RNG, completed, ids, made, pick


def with_draws(case):
    """The case of `seeding` with a function that draws from the generators it names, as far as they are loaded."""

    def numbers(name):
        if name == "torch":
            return sys.modules["torch"].randint(0, 2**62, (4,), device="cpu").tolist()
        if name == "numpy":
            return sys.modules["numpy"].random.randint(0, 2**62, 4, dtype="int64").tolist()
        return [random.getrandbits(62) for _ in range(4)]

    return {**case, "draw": lambda: [[name, numbers(name)] for name in case["draw"] if name in sys.modules]}


class Grammar:
    """An automaton in a state; -1 is forbidden."""

    def __init__(self, transitions, state):
        self.transitions, self.state, self.before = transitions, state, []

    def allowed(self):
        """Which tokens may come now."""
        return [state != -1 for state in self.transitions[self.state]]

    def advance(self, token):
        """Take a token, unless it is forbidden."""
        following = self.transitions[self.state][token]
        if following == -1:
            return False
        self.before.append(self.state)
        self.state = following
        return True

    def rollback(self, tokens=1):
        """Take back the last tokens."""
        if not 0 <= tokens <= len(self.before):
            raise ValueError("more tokens to take back than there are")
        for _ in range(tokens):
            self.state = self.before.pop()


def with_grammar(case):
    """The case of `grammar_mask` with its table as an object that moves."""
    return {**case, "grammar": Grammar([list(row) for row in case["transitions"]], case["state"])}


class Model:
    """A model that is a table: row 0 behind the text, row 1 + x behind it and x, and so on; any other prefix has one of these rows, by a hash of its tokens."""

    def __init__(self, rows, text, dtype):
        self.rows, self.text, self.dtype, self.width, self.asked = rows, tuple(text), dtype, len(rows[0]), []

    def number(self, prefix):
        """Of the row behind a prefix."""
        behind = prefix[len(self.text) :]
        place = sum((1 + token) * self.width ** (len(behind) - 1 - i) for i, token in enumerate(behind))
        known = prefix[: len(self.text)] == self.text and place < len(self.rows)
        return place if known else zlib.crc32(repr(prefix).encode()) % len(self.rows)

    def __call__(self, prefix):
        """The row behind a prefix, a new array each time."""
        wanted = tuple(map(int, prefix))
        if not all(0 <= token < self.width for token in wanted):
            raise ValueError("the model is asked about a token that it does not have")
        self.asked.append(wanted)
        return made(list(self.rows[self.number(wanted)]), self.dtype)


def models(text):
    """Target and draft of the case."""
    return (Model(CASE["target"], text, DTYPES["target"]), Model(CASE["draft"], text, DTYPES["draft"]))


def generate(ask):
    """One draw: a call for each prompt on the same models; the new ids, and how often each model was asked."""
    calls = [call if isinstance(call[0], list) else [call] for call in CASE["prompts"]]
    told, (target, draft) = [], models(calls[-1][-1])
    for call in calls:
        before = len(target.asked), len(draft.asked)
        rows = written(ask({**CASE, "prompt": prompted(call), "target": target, "draft": draft}), len(call))
        told += [(tuple(row), len(target.asked) - before[0], len(draft.asked) - before[1]) for row in rows]
    return tuple(told)


def prompted(call):
    """A prompt; the prompts of a batch filled up on the declared side, and their lengths."""
    if not OPTIONS.get("batch"):
        return call[0]
    DTYPES.pop("prompt", None)  # it is made here
    told, longest = OPTIONS.get("conventions", {}), max(map(len, call))
    fills = [[int(told.get("pad", 0))] * (longest - len(prompt)) for prompt in call]
    left = told.get("padding") == "left"
    return [made([fill + row if left else row + fill for fill, row in zip(fills, call)], "int64"), made([len(prompt) for prompt in call], "int64")]


def written(result, count):
    """New ids; of a batch the rows, without what fills them up behind their ends."""
    if not OPTIONS.get("batch"):
        return [ids(result)]
    width, fill, eos = len(CASE["target"][0]), OPTIONS.get("sentinel"), CASE["eos"]
    if len(result) == 2 and isinstance(result[0][0], list) and not isinstance(result[1][0], list):
        result = [row[:length] for row, length in zip(*result)]
    if len(result) != count:
        raise TypeError("these are no rows of a batch")
    rows = [[token for token in ids(row) if 0 <= token < width] for row in result]
    behind = [row[row.index(eos) + 1 :] if eos in row else [] for row in rows]
    return [row[: len(row) - len(rest)] if set(rest) == {fill} else row for row, rest in zip(rows, behind)]


def draft_and_verify(ask):
    """One draw: all rounds, each on the text that those before have left, then completions from the target."""
    target, draft = models(CASE["prefix"])
    told, places, prefix = [], [], target.text
    for _ in range(CASE["rounds"]):
        result = ask({**CASE, "target": target, "draft": draft, "prefix": prefix})
        named = dict(result) if result and all(isinstance(one, list) and one and isinstance(one[0], str) for one in result) else None
        tokens, q, drafted = [named.get(part) for part in ("tokens", "q", "drafted")] if named else [*result, None][:3]
        tokens, drafted = tuple(ids(tokens)), None if drafted is None else tuple(ids(drafted))
        if not 1 <= len(tokens) <= len(q or []) + 1 or not all(0 <= token < target.width for token in tokens):
            raise TypeError("these are no tokens of a round")
        told.append((tokens, drafted))
        places += sorted_in(drafted, q or []) if CASE["places"] and drafted is not None else []
        prefix = (*prefix, *tokens)
    while len(prefix) < len(target.text) + CASE["rounds"] * (CASE["gamma"] + 1):
        prefix = (*prefix, pick(CASE["target"][target.number(prefix)]))
    return tuple(told), tuple(places), prefix[len(target.text) :]


def sorted_in(drafted, q):
    """The place of each draft token among equal parts of its row's cumulative sum, drawn where it lies in several; uniform where it follows that row."""
    found, parts = [], CASE["places"]
    for row, token in zip(q, drafted):
        low, high = sum(row[:token]), sum(row[: token + 1])
        inside = [max(0.0, min(high, (part + 1) / parts) - max(low, part / parts)) for part in range(parts)]
        found.append(pick(inside) if any(inside) else -1)
    return [*found, *(pick([1.0] * parts) for _ in range(CASE["gamma"] - len(found)))]


def verify_batch(ask):
    """One draw: drafts from q, the step, completions from p, each for every request."""
    lengths, wide, pad = CASE["lengths"], len(CASE["q"][0]), int(CASE.get("pad") or 0)
    drafts = [row[:n] for row, n in zip(CASE["draft"], lengths)] if "draft" in CASE else [[pick(row) for row in q[:n]] for q, n in zip(CASE["q"], lengths)]
    given = CASE.get("draft") or [[*row, *[pad] * (wide - len(row))] for row in drafts]
    rows = rows_of(ask({**CASE, "draft": given}), drafts, len(CASE["p"][0][0]))
    if len(rows) != len(drafts):
        raise TypeError("these are no rows of a batch")
    return tuple(completed(draft, row, p[: n + 1]) for draft, row, p, n in zip(drafts, rows, CASE["p"], lengths))


def rows_of(result, drafts, width):
    """Rows of token ids, in whatever form they came back."""
    form, sizes = OPTIONS.get("conventions", {}).get("output", "rows"), [len(draft) + 1 for draft in drafts]
    if form == "accepted and bonus":
        return [[*draft[:n], token] for draft, n, token in zip(drafts, *result)]
    if form in ("flat and counts", "in line and accepted"):
        flat, counts = result
        counts, steps = (counts, counts) if form == "flat and counts" else ([n + 1 for n in counts], sizes)
        return [flat[sum(steps[:b]) :][:count] for b, count in enumerate(counts)]
    if len(result) == 2 and isinstance(result[0][0], list) and not isinstance(result[1][0], list):
        return [row[: count + (form == "rows")] for row, count in zip(*result)]
    fill = OPTIONS.get("sentinel")
    ends = [next((i for i, token in enumerate(row) if (token == fill if fill is not None else not 0 <= token < width)), len(row)) for row in result]
    return [row[:end] for row, end in zip(result, ends)]


def requests_of(keywords):
    """What a batch may take besides: temperature 1, and a seed, or a generator, for each request."""
    count, wanted = len(CASE["lengths"]), OPTIONS.get("supports", ())
    if "temperature" in wanted:
        keywords["temperature"] = made(CASE.get("temperature") or [1.0] * count, "float32")
    if "seeds" in wanted:
        seeds = CASE.get("seeds") or [RNG.getrandbits(31) for _ in range(count)]
        if OPTIONS.get("rng") != "generators":
            keywords["seeds"] = made(seeds, "int64")
        else:
            import torch

            keywords["generators"] = [torch.Generator().manual_seed(seed) for seed in seeds]
    return keywords
