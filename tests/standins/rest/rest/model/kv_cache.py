"""Stand-in: caches that are views into one tensor."""

import torch
from standin import wrong


class KVCache:
    """Rows up to a length that it shares with others through one tensor."""

    def __init__(self, data, current_length):
        self.data, self.current_length = data, current_length

    @property
    def shape(self):
        heads, width = self.data.shape[1], self.data.shape[3]
        return (self.data.shape[0], heads, int(self.current_length), width)

    def copy(self, indices, prev_length, dim=2):
        """Keep the rows at these places behind the first ones."""
        rows = self.data.index_select(dim, indices)
        n = indices.shape[0] - (wrong("last-position-lost-in-compaction") and indices.shape[0] > 1)
        self.data.narrow(dim, prev_length, n).copy_(rows.narrow(dim, 0, n))
        self.current_length.fill_(prev_length + n)

    def cat(self, tensor, dim=2):
        """Append, and give all rows."""
        at = int(self.current_length) if not wrong("append-over-the-last") else max(int(self.current_length) - 1, 0)
        self.data.narrow(dim, at, tensor.shape[dim]).copy_(tensor)
        self.current_length.fill_(at + tensor.shape[dim])
        return self.data.narrow(dim, 0, int(self.current_length))


def initialize_past_key_values(model):
    """Pairs of caches for all layers, their memory, their lengths."""
    c = model.config
    width = c.hidden_size // c.num_attention_heads
    data = torch.zeros(2 * c.num_hidden_layers, 1, c.num_key_value_heads, c.max_position_embeddings, width, device=model.device, dtype=model.dtype)
    lengths = torch.zeros(2 * c.num_hidden_layers, dtype=torch.long)

    def slot(layer, part):
        i = 2 * layer if wrong("keys-and-values-share-memory") else 2 * layer + part
        return KVCache(data[i], lengths[2 * layer + part])

    return [[slot(layer, part) for part in range(2)] for layer in range(c.num_hidden_layers)], data, lengths
