"""`python -m specref.rest build|inspect|search`: datastores by hand."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from specref.rest.build import SHARD_TOKENS, build, documents_of
from specref.rest.drafter import Rest
from specref.rest.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; 2 for what cannot be done, with its reason."""
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
    except (ValueError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m specref.rest", description="Datastores of token sequences for REST (arXiv 2311.08252).")
    verbs = parser.add_subparsers(required=True, metavar="build|inspect|search")
    making = verbs.add_parser("build", help="make a datastore, or add to one")
    making.add_argument("store", type=Path)
    making.add_argument(
        "files", nargs="+", type=Path, help="with a tokenizer text files, and *.jsonl with one document a line; without one, a JSON list of token ids a line"
    )
    making.add_argument("--tokenizer", help="folder or name of a transformers tokenizer; without it the files hold token ids")
    making.add_argument("--vocabulary", type=int, help="number of token ids; the tokenizer's by default")
    making.add_argument("--field", default="text", help="of a line of JSON, its text")
    making.add_argument("--shard-tokens", type=int, default=SHARD_TOKENS, help="tokens of one shard")
    making.set_defaults(run=_build)
    looking = verbs.add_parser("inspect", help="what a datastore holds")
    looking.add_argument("store", type=Path)
    looking.add_argument("--verify", action="store_true", help="read all of it, and hold it against its checksums")
    looking.set_defaults(run=_inspect)
    searching = verbs.add_parser("search", help="what follows some tokens")
    searching.add_argument("store", type=Path)
    searching.add_argument("tokens", nargs="+", type=int)
    searching.add_argument("--count", type=int, default=16)
    searching.add_argument("--longest", type=int, default=10)
    searching.set_defaults(run=_search)
    return parser


def _build(given: argparse.Namespace) -> None:
    documents, vocabulary = _source(given)
    with build(given.store, documents, vocabulary, shard_tokens=given.shard_tokens, progress=_told) as store:
        print(f"\n{_summary(store)}")


def _source(given: argparse.Namespace) -> tuple[Iterable[Sequence[int]], int]:
    if given.tokenizer is None:
        if given.vocabulary is None:
            raise ValueError("without a tokenizer, --vocabulary must say how many token ids there are")
        return _token_rows(given.files), given.vocabulary
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(given.tokenizer)
    encode: Callable[[str], Sequence[int]] = lambda text: tokenizer(text, add_special_tokens=False).input_ids  # noqa: E731
    return documents_of(given.files, encode, given.field), given.vocabulary or len(tokenizer)


def _token_rows(files: Iterable[Path]) -> Iterator[Sequence[int]]:
    """Lines of JSON lists."""
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield _row(file, number, line) if line.strip() else []


def _row(file: Path, number: int, line: str) -> list[int]:
    try:
        match json.loads(line):
            case [*tokens] if all(type(token) is int for token in tokens):
                return tokens
    except ValueError:
        pass
    raise ValueError(f"{file}, line {number}: no JSON list of token ids")


def _told(what: str, documents: int, tokens: int) -> None:
    print(f"\r{what}: {documents:,} documents, {tokens:,} tokens", end="", flush=True, file=sys.stderr)


def _inspect(given: argparse.Namespace) -> None:
    with Store(given.store, verify=given.verify) as store:
        print(_summary(store))
        for shard in store.shards:
            header = shard.header
            print(f"{shard.path.name}: {header.documents:,} documents, {header.suffixes:,} tokens of {8 * header.width} bits, {header.size:,} bytes")
        if given.verify:
            print("every byte fits its checksum")


def _summary(store: Store) -> str:
    return f"{store.path}: {store.documents:,} documents, {store.tokens:,} tokens of {store.vocabulary:,}, {len(store.shards)} shard{'s' * (len(store.shards) > 1)}"


def _search(given: argparse.Namespace) -> None:
    with Store(given.store) as store:
        found = Rest(store, longest=given.longest, count=given.count).retrieve(given.tokens)
        print(f"the last {found.matched} tokens occur, with {found.occurrences:,} continuations")
        for prefix in found.prefixes:
            print(f"{prefix.weight:>10,}  {' '.join(map(str, prefix.tokens))}")


if __name__ == "__main__":
    sys.exit(main())
