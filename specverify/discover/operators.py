"""What the body of a function does, in a few words: the operations that tell one contract's code from another's, read from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

CALLS = {
    "multinomial": "multinomial", "Categorical": "multinomial", "choice": "multinomial", "choices": "multinomial",
    "exponential_": "race", "gumbel_noise": "race", "gumbel": "race", "gumbel_softmax": "race",
    "rand": "uniform", "rand_like": "uniform", "uniform_": "uniform", "random": "uniform", "uniform": "uniform",
    "cumsum": "cumsum", "cumprod": "cumprod", "topk": "topk", "kthvalue": "topk", "sort": "sort", "argsort": "sort",
    "argmax": "argmax", "softmax": "softmax", "log_softmax": "log_softmax", "gather": "gather", "take_along_dim": "gather",
    "masked_fill": "mask", "masked_fill_": "mask", "scatter": "scatter", "scatter_": "scatter", "ceil": "ceil",
    "manual_seed": "seeds", "manual_seed_all": "seeds", "seed": "seeds", "seed_all": "seeds",
    "expand": "repeat", "repeat_interleave": "repeat", "repeat": "repeat", "tile": "repeat",
    "relu": "positive part", "minimum": "minimum", "sum": "sum",
}  # fmt: skip
"""Name of what is called to the word for it."""
JOINS = ("cat", "concat", "concatenate", "stack", "hstack")
BOUNDS = ("clamp", "clamp_", "clip", "clamp_min", "clamp_min_", "maximum", "max", "where")
SEEDING = ("seed", "seed_all")
"""Short names that mean a seed only where they are called on a generator, as `random.seed(1)` is."""


def operators(tree: ast.AST, parameters: tuple[str, ...] = ()) -> frozenset[str]:
    """The words for everything below a node; `parameters` are the names that may be called as models."""
    sums = {name for node in ast.walk(tree) if isinstance(node, ast.Assign) and _sums(node.value) for target in node.targets for name in _names(target)}
    return frozenset(word for node in ast.walk(tree) for word in _words(node, sums, parameters))


def _words(node: ast.AST, sums: set[str], parameters: tuple[str, ...]) -> Iterator[str]:
    match node:
        case ast.Call():
            yield from _of_a_call(node, parameters)
        case ast.BinOp(op=ast.Div(), right=right) | ast.AugAssign(op=ast.Div(), value=right):
            yield "division"
            if _sums(right) or sums & set(_names(right)):
                yield "division by a sum"
        case ast.BinOp(op=ast.Mult(), left=ast.List()) | ast.BinOp(op=ast.Mult(), right=ast.List()):
            yield "repeated list"
        case ast.While() | ast.For(target=ast.Name(id="_")):
            yield "loop"
        case ast.UnaryOp(op=ast.USub(), operand=operand) if "inf" in ast.unparse(operand).lower():
            yield "-inf"
        case ast.Constant(value=str(text)) if text.lower() == "-inf":
            yield "-inf"
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()]):
            yield "equality"


def _of_a_call(node: ast.Call, parameters: tuple[str, ...]) -> Iterator[str]:
    name = called(node)
    if name in CALLS and (name not in SEEDING or isinstance(node.func, ast.Attribute)):
        yield CALLS[name]
    if name in parameters and isinstance(node.func, ast.Name):
        yield "model call"
    if name in JOINS and any(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for argument in node.args for part in _items(argument)):
        yield "joined with a negative"
    if name in BOUNDS and any(_is_zero(argument) for argument in _values(node)):
        yield "positive part"
    if name in ("clamp", "clamp_", "clip", "clamp_max", "clamp_max_", "minimum", "min") and any(_is(argument, 1) for argument in _values(node)):
        yield "minimum"


def called(node: ast.Call) -> str:
    """The last part of the name that is called."""
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _values(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _is(node: ast.expr, value: float) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and isinstance(node.value, (int, float)) and node.value == value


def _is_zero(node: ast.expr) -> bool:
    return _is(node, 0) or (isinstance(node, ast.Call) and called(node).startswith("zeros"))


def _sums(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) and called(part) == "sum" for part in ast.walk(node))


def _names(node: ast.AST) -> list[str]:
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
