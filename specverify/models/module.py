"""A table as a plain torch module without a cache: ids (B, T) to logits (B, T, V)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from specverify.contracts.table_models import Table
from specverify.models.seen import logits


class TableModule(nn.Module):
    """Logits behind each id of each row.

    Args:
        table: the rows by prefix.

    Attributes:
        vocab_size: V.
        calls: how often it was called.
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table, self.vocab_size = table, table.width
        self.calls = 0
        self.scale = nn.Parameter(torch.ones(()), requires_grad=False)  # so that the module has a device and a dtype

    @property
    def device(self) -> torch.device:
        """Where its logits are."""
        return self.scale.device

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, T, V) of ids (B, T)."""
        self.calls += 1
        rows = [[logits(self.table, row[: i + 1]) for i in range(len(row))] for row in ids.tolist()]
        return torch.tensor(rows, dtype=self.scale.dtype, device=self.scale.device).reshape(*ids.shape, self.table.width)
