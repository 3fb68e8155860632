"""What stand-alone scripts are made of: functions whose source is written into a script. They use the standard library, torch and numpy, and what a script defines above them."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import os
import random
import sys
import types
from bisect import bisect_right

DECLARED: dict = {}
CASE: dict = {}
DTYPES: dict = {}
PARAMETERS: tuple = ()
ONE_ROW: tuple = ()
FUNCTION = OPTIONS = requests_of = None
READY = dict
RNG = random.Random("specverify")
SLACK = 2**-20


def stand_in():
    """A module `specverify` for the subject's file alone: it notes what is declared, and knows nothing else."""
    sv = sys.modules["specverify"] = types.ModuleType("specverify")
    sv.subject = lambda _, **options: lambda function: noted(function, options)
    for name in ("ints", "floats", "lists", "tensors"):
        setattr(sv, name, lambda *_, **__: None)


def noted(function, options):
    """Keep a declaration by its name."""
    DECLARED.setdefault(options.get("name") or getattr(function, "__name__", type(function).__name__), (function, options))
    return function


def from_file(path, name, folders):
    """The subject and its options, from the file that declares it."""
    stand_in()
    sys.path[:0] = folders
    os.chdir(os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("specverify_subjects", path)
    sys.modules["specverify_subjects"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return DECLARED[name]


def from_module(folder, module, dotted):
    """The subject by its dotted name, with the folder on the path."""
    sys.path.insert(0, folder)
    found = importlib.import_module(module)
    for word in dotted.split("."):
        found = getattr(found, word)
    return found, {}


def made(value, dtype):
    """One argument in the subject's world."""
    kind = OPTIONS.get("arrays", "torch")
    if dtype is None or value is None or kind == "list" or callable(value):
        return value
    if kind == "numpy":
        import numpy

        return numpy.array(value, dtype=dtype)
    import torch

    return torch.tensor(value, dtype=getattr(torch, dtype))


def plain(value):
    """A result as lists and numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return sorted(([plain(key), plain(item)] for key, item in value.items()), key=lambda pair: repr(pair[0]))
    if hasattr(value, "tolist"):
        return (value.detach().cpu() if hasattr(value, "detach") else value).tolist()
    return [plain(item) for item in value]


def called(case, **keywords):
    """What the subject gives for a case, as lists and numbers."""
    given = READY({**case, **{name: [case[name]] for name in ONE_ROW}})
    return plain(FUNCTION(*(made(given[name], DTYPES.get(name)) for name in PARAMETERS), **keywords))


def seed_all(python, numpy, torch):
    """Seed what is loaded of the global generators."""
    random.seed(python)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(numpy)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(torch)


def same(found, told):
    """Whether two results agree: numbers up to the last bits of single precision, which machines round in their own ways."""
    if isinstance(found, list) and isinstance(told, list):
        return len(found) == len(told) and all(map(same, found, told))
    if isinstance(found, float) and isinstance(told, float):
        return found == told or math.isclose(found, told, rel_tol=1e-6) or (math.isnan(found) and math.isnan(told))
    return type(found) is type(told) and found == told


def once(case, keywords, seeds):
    """One call; an exception is a result too."""
    if seeds:
        seed_all(*seeds)
    keywords = {name: made(value[1], value[0]) if isinstance(value, tuple) else value for name, value in keywords.items()}
    if "generator" in keywords:
        import torch

        keywords["generator"] = torch.Generator().manual_seed(keywords["generator"])
    try:
        return called(case, **keywords)
    except BaseException as error:
        return f"raises {type(error).__name__}"


def pick(weights):
    """A token of a row of weights."""
    sums = list(itertools.accumulate(weights))
    return min(bisect_right(sums, RNG.random() * sums[-1]), len(sums) - 1)


def ids(value):
    """Token ids as a flat list."""
    if isinstance(value, bool) or not isinstance(value, (int, list)):
        raise TypeError("these are no token ids")
    return [value] if isinstance(value, int) else [token for item in value for token in ids(item)]


def completed(draft, tokens, rows):
    """(draft, accepted length, tokens completed from the target's rows)."""
    if not 1 <= len(tokens) <= len(rows) or not all(0 <= token < len(rows[0]) for token in tokens):
        raise TypeError("these are no tokens of a step")
    return (tuple(draft), len(tokens) - 1, (*tokens, *(pick(row) for row in rows[len(tokens) :])))


def sample(ask):
    """One draw: a token, or one for each row."""
    tokens = ids(ask(CASE))
    return tuple(tokens) if isinstance(CASE["probs"][0], list) else tokens[0]


def verify_chain(ask):
    """One draw: drafts from q, the step, completions from p."""
    draft = CASE.get("draft") or [pick(row) for row in CASE["q"]]
    return completed(draft, ids(ask({**CASE, "draft": draft})), CASE["p"])


def verify_deterministic_draft(ask):
    """One draw: the step, and completions from p."""
    return completed(CASE["draft"], ids(ask(CASE)), CASE["p"])


def verify_tree(ask):
    """One draw: children from the drafter's rows, the step, completions from the target's."""
    width, parents, prefixes = len(CASE["target"][0]), CASE["parents"], []

    def place(prefix):
        return sum((1 + token) * width ** (len(prefix) - 1 - i) for i, token in enumerate(prefix))

    for node, parent in enumerate(parents):
        above = prefixes[parent] if parent >= 0 else ()
        taken = [prefixes[one][-1] for one in range(node) if parents[one] == parent] if CASE["siblings"] == "without-replacement" else []
        row = CASE["drafter"] and [0.0 if token in taken else x for token, x in enumerate(CASE["drafter"][place(above)])]
        prefixes.append((*above, CASE["tokens"][node] if "tokens" in CASE else pick(row)))
    rows = [place(prefix) for prefix in [(), *prefixes, *[()] * len(CASE["pads"])]]
    tokens = [*(prefix[-1] for prefix in prefixes), *CASE["pads"]]
    drawn = {"p": [CASE["target"][row] for row in rows], "q": CASE["drafter"] and [CASE["drafter"][row] for row in rows]}
    path, last = ask({**drawn, "parents": [*parents, *[-1] * len(CASE["pads"])], "tokens": tokens})
    path, emitted = [node for node in ids(path) if node >= 0], ids(last)[0]
    emitted = [*(tokens[node] for node in path), emitted]
    while len(emitted) <= max(map(len, prefixes), default=0) and all(0 <= token < width for token in emitted):
        emitted.append(pick(CASE["target"][place(emitted)]))
    return tuple(tokens), tuple(path), tuple(emitted)


def frequencies(draw, n, spans):
    """How often each outcome comes in n draws; an exception and a malformed result are outcomes too."""
    counts = {}
    for _ in range(n):
        parts = []
        for _ in range(spans):
            try:
                parts.append(draw(one_call))
            except TypeError as error:
                parts.append(("malformed",) if str(error).startswith("these are no") else ("raised", "TypeError"))
            except BaseException as error:
                parts.append(("raised", type(error).__name__))
        outcome = parts[0] if spans == 1 else tuple(parts)
        counts[outcome] = counts.get(outcome, 0) + 1
    return counts


def one_call(case):
    """The subject on a case, with a seed of its own, or coins, where it takes them."""
    keywords = {}
    if OPTIONS.get("seed") == "int":
        keywords["seed"] = RNG.getrandbits(31)
    if OPTIONS.get("seed") == "generator":
        import torch

        keywords["generator"] = torch.Generator().manual_seed(RNG.getrandbits(31))
    if "lengths" in CASE:
        keywords = requests_of(keywords)
    if OPTIONS.get("rng") == "coins":
        dtype = "float64" if "float64" in DTYPES.values() else "float32"
        keywords["coins"] = made([RNG.getrandbits(24) / 2**24 for _ in range(len(CASE.get("p") or ids_of_rows()))], dtype)
    return called(case, **keywords)


def ids_of_rows():
    """A coin per row of `probs`."""
    return CASE["probs"] if isinstance(CASE["probs"][0], list) else [CASE["probs"]]


def alike(results):
    """Which of several results agree."""
    return [[same(one, other) for other in results] for one in results]


def shown_once(calls, *, compared=False):
    """Repeat the calls; 1 if each gives what it gave, or, where they are compared with each other, if the same ones agree; else 0."""
    found = [once(case, keywords, seeds) for case, keywords, seeds, _ in calls]
    for (case, _, _, gave), result in zip(calls, found):
        print(f"arguments  {case}\nnow gives  {result}\nit gave    {gave}\n")
    again = all(same(result, gave) for result, (_, _, _, gave) in zip(found, calls))
    again = again or (compared and alike(found) == alike([gave for _, _, _, gave in calls]))
    print("REPRODUCED: it gives what it gave." if again else "NOT REPRODUCED: it gives something else now.")
    return int(again)


def shown_drawn(draw, too_often, n, spans):
    """Draw n times; 1 if the listed outcomes together come too often, by more than 5 standard deviations, else 0."""
    seed_all(1, 1, 1)
    counts = frequencies(draw, n, spans)
    shares = [sum(counts.get(one, 0) for one in draws) / n for _, _, _, draws in too_often]
    print(f"{n} draws of the case {CASE}\n{'outcome':<28} {'now':>10} {'found':>10} {'right':>10}")
    for (outcome, found, right, _), share in zip(too_often, shares):
        print(f"{outcome:<28} {share:>10.4g} {found:>10.4g} {right:>10.4g}")
    for outcome, count in counts.items():
        if isinstance(outcome, tuple) and outcome[:1] in (("raised",), ("malformed",)):
            print(f"{' '.join(outcome):<28} {count / n:>10.4g}")
    all_now, all_right = sum(shares), sum(right for _, _, right, _ in too_often)
    again = all_now - all_right > 5 * math.sqrt(max(all_right * (1 - all_right), 0) / n) + SLACK
    print(
        f"\nthese together: {all_now:.4g}, right {all_right:.4g}\n"
        + ("REPRODUCED: they come too often." if again else "NOT REPRODUCED: they come as often as they should.")
    )
    return int(again)
