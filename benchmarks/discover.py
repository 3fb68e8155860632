"""`python -m benchmarks.discover`: how well `specverify discover` finds what `discover_labels.tsv` says, package by package.

Recall is the share of the labelled symbols that are shown with a contract that the label allows; precision the share of the shown (symbol, contract) pairs that a label
allows. `--packages FOLDER` holds the environments luc, eco, tf, fls and held; `--misses` lists what is missing and what is false; what is held out is read with `--held-out`
alone.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from specverify.discover import Candidate, candidates, symbols
from specverify.discover.symbols import Symbol

HERE = Path(__file__).parent
STANDINS = HERE.parent / "tests" / "discover" / "standins"
HELD_OUT = ("sequential-speculative-decoding 0.1.1", "mini-infer 0.2.5", "rotalabs-accel 1.1.1")
INSTALLED = {
    "speculative-decoding 0.2.0": ("luc", "speculative_decoding"), "economize 0.3.2": ("eco", "economize"),
    "transformers 5.24.0": ("tf", "transformers"), "flashspec 0.3.1": ("fls", "flashspec"),
    **dict(zip(HELD_OUT, (("held", "seqspecdecod"), ("held", "mini_infer"), ("held", "rotalabs_accel")), strict=True)),
}  # fmt: skip
SCOPE = {"transformers 5.24.0": ("generation/", *(f"models/{name}/modeling_{name}.py" for name in ("llama", "gpt_neox", "gptj", "cohere")))}
"""The files of a package that are labelled, by the beginnings of their paths; all of the others."""
BROUGHT = {
    "stand-in REST": "rest", "stand-in LLMSpeculativeSampling": "llmss", "stand-in ParallelSpeculativeDecoding": "pearl",
    "stand-in EMS-SD": "emssd", "stand-in LMFlow": "lmflow",
}  # fmt: skip


@dataclass(frozen=True)
class Label:
    """A row of the list."""

    package: str
    file: str
    symbol: str
    contracts: tuple[str, ...]
    kind: str

    def speaks_of(self, symbol: Symbol) -> bool:
        """Whether it is the symbol's, or that of its class, or of one of its members."""
        inside = symbol.name.startswith(f"{self.symbol}.") or self.symbol.startswith(f"{symbol.name}.")
        return self.file == symbol.file and (symbol.name == self.symbol or inside)


@dataclass
class Score:
    """One package's count."""

    wanted: int = 0
    missed: list[Label] = field(default_factory=list)
    shown: int = 0
    wrong: list[Candidate] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of what is labelled that is shown."""
        return 1 - len(self.missed) / self.wanted

    @property
    def precision(self) -> float:
        """The share of what is shown that is labelled."""
        return 1 - len(self.wrong) / max(self.shown, 1)


def labels() -> list[Label]:
    """The list."""
    with (HERE / "discover_labels.tsv").open() as file:
        return [
            Label(row["package"], row["file"], row["symbol"], tuple(row["contracts"].split(",")), row["kind"]) for row in csv.DictReader(file, delimiter="\t")
        ]


def score(package: str, root: Path) -> Score:
    """A package against its labels."""
    mine = [label for label in labels() if label.package == package]
    shown = candidates(symbols(root, SCOPE.get(package, ("",))))
    counted = [one for one in shown if not _fits(one, mine, "maybe") or _fits(one, mine, "yes")]
    wanted = [label for label in mine if label.kind == "yes"]
    missed = [label for label in wanted if not any(label.speaks_of(one.symbol) and one.contract in label.contracts for one in shown)]
    return Score(len(wanted), missed, len(counted), [one for one in counted if not _fits(one, mine, "yes")])


def _fits(one: Candidate, mine: list[Label], kind: str) -> bool:
    return any(label.kind == kind and label.speaks_of(one.symbol) and one.contract in label.contracts for label in mine)


def total(scores: list[Score]) -> Score:
    """All together."""
    return Score(
        sum(one.wanted for one in scores), [label for one in scores for label in one.missed],
        sum(one.shown for one in scores), [wrong for one in scores for wrong in one.wrong],
    )  # fmt: skip


def roots(packages: Path, *, held_out: bool) -> Iterator[tuple[str, Path]]:
    """Package to its folder, those that are there."""
    for name, (environment, module) in INSTALLED.items():
        for folder in packages.glob(f"{environment}/lib/python3*/site-packages/{module}"):
            if (name in HELD_OUT) == held_out:
                yield name, folder
    if not held_out:
        yield from ((name, STANDINS / folder) for name, folder in BROUGHT.items())


def line(name: str, found: Score) -> str:
    """A row of the table."""
    return f"| {name:<42} | {found.wanted - len(found.missed):>3} of {found.wanted:<3} | {found.recall:>7.1%} | {found.shown - len(found.wrong):>3} of {found.shown:<3} | {found.precision:>9.1%} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, default=Path("/tmp/v"))  # noqa: S108  where this project's environments are made
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    given = parser.parse_args()
    scores = {name: score(name, root) for name, root in roots(given.packages, held_out=given.held_out)}
    print(f"| {'package':<42} | {'found':<10} | recall  | {'right':<10} | precision |\n| --- | --- | --- | --- | --- |")
    for name, found in [*scores.items(), *([("all", total(list(scores.values())))] if len(scores) > 1 else [])]:
        print(line(name, found))
    for found in scores.values() if given.misses else ():
        print(
            "\n".join(
                [
                    *(f"missed {one}" for one in found.missed),
                    *(f"false  {one.symbol.file}:{one.symbol.line} {one.symbol.name} {one.contract} {one.score} {one.reasons}" for one in found.wrong),
                ]
            )
        )


if __name__ == "__main__":
    main()
