import torch


class KVCache:
    def __init__(self, data, current_length):
        self.data, self.current_length = data, current_length

    @property
    def shape(self):
        return (*self.data.shape[:2], int(self.current_length), self.data.shape[3])

    def copy(self, indices, prev_length, dim=2):
        self.data[:, :, prev_length : prev_length + len(indices)] = self.data.index_select(dim, indices)
        self.current_length.fill_(prev_length + len(indices))

    def cat(self, tensor, dim=2):
        end = int(self.current_length) + tensor.shape[dim]
        self.data[:, :, int(self.current_length) : end] = tensor
        self.current_length.fill_(end)
        return self.data[:, :, :end]


def initialize_past_key_values(model):
    config = model.config
    shape = (2 * config.num_hidden_layers, 1, config.num_key_value_heads, config.max_position_embeddings, config.hidden_size // config.num_attention_heads)
    data, lengths = torch.zeros(shape, dtype=model.dtype), torch.zeros(shape[0], dtype=torch.long)
    return [[KVCache(data[2 * i + j], lengths[2 * i + j]) for j in range(2)] for i in range(config.num_hidden_layers)], data, lengths
