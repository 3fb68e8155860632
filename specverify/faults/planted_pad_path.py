"""Planted faults of `pad_path`. Each is a subject; the catalogue says what is wrong with it."""

import specverify as sv


@sv.subject("pad_path", name="pad-one-short")
def pad_one_short(path: list[int], length: int, pad: int) -> list[int]:
    return path + [pad] * (length - len(path) - 1)


@sv.subject("pad_path", name="pad-in-front")
def pad_in_front(path: list[int], length: int, pad: int) -> list[int]:
    return [pad] * (length - len(path)) + path


@sv.subject("pad_path", name="pad-with-zero")
def pad_with_zero(path: list[int], length: int, pad: int) -> list[int]:  # noqa: ARG001  that is the fault
    return path + [0] * (length - len(path))
