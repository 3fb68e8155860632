"""Planted faults of `first_rejection`. Each is a subject; the catalogue says what is wrong with it."""

from torch import Tensor

import specverify as sv


@sv.subject("first_rejection", name="counts-every-acceptance", batch=True)
def counts_every_acceptance(accepted: Tensor) -> Tensor:
    return accepted.long().sum(-1)


@sv.subject("first_rejection", name="all-accepted-is-zero", batch=True)
def all_accepted_is_zero(accepted: Tensor) -> Tensor:
    return (~accepted).long().argmax(-1)
