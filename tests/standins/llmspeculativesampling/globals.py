"""Stand-in: one instance per process, and a decoder that holds the tokenizer."""

from standin import wrong


class Singleton(type):
    """Classes whose every call gives their one instance."""

    _made: dict = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls._made or wrong("second-instance"):
            cls._made[cls] = super().__call__(*args, **kwargs)
        return cls._made[cls]


class Decoder(metaclass=Singleton):
    """Encodes and decodes by the tokenizer that was set."""

    tokenizer = None

    def set_tokenizer(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, text, return_tensors="pt"):
        return self.tokenizer.encode(text, return_tensors=return_tensors)

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True)
