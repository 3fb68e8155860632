"""Planted faults of `build_tree`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Sequence

from torch import Tensor

import specverify as sv

Mask = list[list[int]]
Built = tuple[Mask, list[int], list[int], list[int]]
END = -1
WIDE = 96
"""Slots of a kernel's buffers: more than any case fills."""
BUFFER: list[list[int]] = [[0] * WIDE for _ in range(WIDE)]


def above_of(parents: Tensor, selected: Tensor) -> list[int]:
    """The slot above each slot; END above the context's."""
    chosen = selected.tolist()
    return [END, *(1 + chosen.index(parents[node]) if parents[node] >= 0 else 0 for node in chosen)]


def mask_of(above: Sequence[int]) -> Mask:
    """Ancestor or self, the context among the ancestors."""
    mask: Mask = []
    for slot, parent in enumerate(above):
        row = list(mask[parent]) if slot else [0] * len(above)
        row[slot] = 1
        mask.append(row)
    return mask


def links_of(above: Sequence[int]) -> tuple[list[int], list[int]]:
    """First children and next siblings."""
    first, sibling = [END] * len(above), [END] * len(above)
    for slot in range(len(above) - 1, 0, -1):
        sibling[slot], first[above[slot]] = first[above[slot]], slot
    return first, sibling


def built(above: Sequence[int]) -> Built:
    """The right one of slots."""
    mask = mask_of(above)
    return mask, [sum(row) for row in mask], *links_of(above)


def packed(mask: Mask, bits: int) -> Mask:
    """Rows of words, the first slot in the lowest bit."""
    return [[sum(sees << j for j, sees in enumerate(row[start : start + bits])) for start in range(0, len(row), bits)] for row in mask]


@sv.subject("build_tree", name="parents-not-renumbered")
def parents_not_renumbered(parents: Tensor, selected: Tensor) -> Built:
    return built([END, *(min(int(parents[node]) + 1, slot) for slot, node in enumerate(selected.tolist()))])


@sv.subject("build_tree", name="context-not-attended")
def context_not_attended(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    return [[int(j > 0 and sees) if i else sees for j, sees in enumerate(row)] for i, row in enumerate(mask)], positions, first, sibling


@sv.subject("build_tree", name="mask-not-cleared")
def mask_not_cleared(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    for i, row in enumerate(mask):
        BUFFER[i] = [old | new for old, new in zip(BUFFER[i], [*row, *[0] * (WIDE - len(row))], strict=True)]
    return [row[: len(mask)] for row in BUFFER[: len(mask)]], positions, first, sibling


@sv.subject("build_tree", name="mask-in-one-word", conventions={"mask": "packed", "word": 64})
def mask_in_one_word(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    return [[row[0], *[0] * (len(row) - 1)] for row in packed(mask, 64)], positions, first, sibling


@sv.subject("build_tree", name="bits-from-the-other-end", conventions={"mask": "packed", "word": 8})
def bits_from_the_other_end(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    words = packed([[*row, *[0] * (-len(row) % 8)] for row in mask], 8)
    return [[int(f"{word:08b}"[::-1], 2) for word in row] for row in words], positions, first, sibling


@sv.subject("build_tree", name="unused-slots-attended", conventions={"mask": "full"})
def unused_slots_attended(parents: Tensor, selected: Tensor) -> Built:
    above = above_of(parents, selected)
    mask, positions, first, sibling = built(above)
    rest = WIDE - len(above)
    rows = [[*[1] * 5, *row, *[1] * rest] for row in mask] + [[0] * (5 + WIDE)] * rest
    return rows, [*positions, *[0] * rest], [*first, *[END] * rest], [*sibling, *[END] * rest]


@sv.subject("build_tree", name="position-is-the-slot")
def position_is_the_slot(parents: Tensor, selected: Tensor) -> Built:
    mask, _, first, sibling = built(above_of(parents, selected))
    return mask, list(range(len(mask))), first, sibling


@sv.subject("build_tree", name="depth-of-the-slot-before")
def depth_of_the_slot_before(parents: Tensor, selected: Tensor) -> Built:
    above = above_of(parents, selected)
    mask, positions, first, sibling = built(above)
    found = [0]
    for slot, parent in enumerate(above[1:], 1):
        found.append(found[-1] + (parent != above[slot - 1]))
    return mask, found if len(found) > 1 else positions, first, sibling


@sv.subject("build_tree", name="first-child-overwritten")
def first_child_overwritten(parents: Tensor, selected: Tensor) -> Built:
    above = above_of(parents, selected)
    mask, positions, first, sibling = built(above)
    for slot, parent in enumerate(above[1:], 1):
        first[parent] = slot
    return mask, positions, first, sibling


@sv.subject("build_tree", name="sibling-left-out-ends-the-list")
def sibling_left_out_ends_the_list(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    chosen = selected.tolist()
    for slot, node in enumerate(chosen, 1):
        later = [other for other in range(node + 1, len(parents)) if parents[other] == parents[node]]
        if later and later[0] not in chosen:
            sibling[slot] = END
    return mask, positions, first, sibling


@sv.subject("build_tree", name="list-ends-at-the-context")
def list_ends_at_the_context(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    return mask, positions, [max(0, slot) for slot in first], [max(0, slot) for slot in sibling]


@sv.subject("build_tree", name="unused-slots-left-as-they-were", conventions={"unused": -1})
def unused_slots_left_as_they_were(parents: Tensor, selected: Tensor) -> Built:
    mask, positions, first, sibling = built(above_of(parents, selected))
    rest = [0] * (WIDE - len(mask))
    return [row + rest for row in mask] + [[0] * WIDE for _ in rest], positions + rest, first + rest, sibling + rest
