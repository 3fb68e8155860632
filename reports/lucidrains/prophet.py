"""Stand-alone: the prophet loop asked for one token, and which embedding its drafter starts from. Needs speculative-decoding and torch alone."""

import sys
from importlib.metadata import version
from typing import Any

import speculative_decoding.speculative_decoding_with_prophet  # noqa: F401  the package rebinds the names of its modules
import torch

PROMPT, NEW = 4, 8
prophets = sys.modules["speculative_decoding.speculative_decoding_with_prophet"]


def decoder(width: int) -> Any:
    """A small one with random weights."""
    return prophets.Decoder(num_tokens=5, dim=width, depth=2, heads=2, dim_head=8)


def main() -> None:
    """One token more than the prompt, and two; then each round's start, compared with the embeddings that the target has given."""
    print(f"speculative-decoding {version('speculative-decoding')}, torch {torch.__version__}")
    torch.manual_seed(0)
    model, drafter = decoder(16), decoder(12)
    net, prompt = prophets.ModelWithProphetWrapper(model, drafter), torch.randint(5, (1, PROMPT))
    for new in (1, 2):
        try:
            tokens, _ = prophets.speculative_decoding_with_prophet_model(net, prompt, PROMPT + new)
            print(f"{new} new: {tokens.shape[1]} came")
        except ZeroDivisionError as error:
            print(f"{new} new: ZeroDivisionError: {error}")
    given = list[torch.Tensor]()

    def keep(_net: Any, _inputs: Any, result: Any) -> None:
        given.extend(result[1][1][0])

    def compare(_net: Any, _inputs: Any, told: dict[str, Any]) -> None:
        start = told["start_tokens"][0, 0]
        places = [place for place, one in enumerate(given) if torch.allclose(net.to_prophet_start_token(one), start)]
        print(f"a round of drafts starts from the embedding at place {places}, of {len(given)} that the target has given")

    model.register_forward_hook(keep)
    drafter.register_forward_pre_hook(compare, with_kwargs=True)
    prophets.speculative_decoding_with_prophet_model(net, prompt, PROMPT + NEW, gamma=1, filter_thres=0.0)


if __name__ == "__main__":
    main()
