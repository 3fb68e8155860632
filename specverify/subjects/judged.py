"""What a helper's own postcondition and oracle say of a call. Runs in the subject's interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specverify.subjects import adapt
from specverify.subjects.declare import Declaration


def judged(declaration: Declaration, arguments: Callable[[], list[Any]], result: Any, outcome: Callable[[object], object]) -> dict[str, object]:
    """{"ensures": …, "oracle": …}, as far as they are declared; each got fresh arguments and answers with a value, or with its own exception.

    The value of `ensures` is True, or a sentence that says what is wrong; that of the oracle is an outcome like the subject's own.
    """
    told: dict[str, object] = {}
    if (ensures := declaration.ensures) is not None:
        told["ensures"] = _asked(lambda: _sentence(ensures(*arguments(), result)))
    if (oracle := declaration.oracle) is not None:
        told["oracle"] = _asked(lambda: outcome(adapt.plain(oracle(*arguments()))))
    return told


def _sentence(told: Any) -> bool | str:
    if isinstance(told, str):
        return told or True
    return told is None or bool(told) or "the postcondition does not hold"


def _asked(question: Callable[[], object]) -> dict[str, object]:
    try:
        return {"is": "value", "value": question()}
    except BaseException as error:  # noqa: BLE001  a mistake in the subjects file is told, whatever it is
        return adapt.raised(error)


def is_declared(declaration: Declaration, error: BaseException) -> bool:
    """Whether an exception is one that the subject declares, by its type or by the name of one of its types."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return any(told in names if isinstance(told, str) else isinstance(error, told) for told in declaration.raises)
