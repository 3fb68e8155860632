"""Stand-alone: a Decoder that does not heed seq_start_pos, what its loops write then for several prompts, and an early exit that cannot be built. Needs speculative-decoding and torch alone."""

import sys
from importlib.metadata import version
from types import ModuleType

import speculative_decoding.speculative_decoding_with_prophet  # noqa: F401  the package rebinds the names of its modules
import torch
from torch import Tensor, nn

IDS, PROMPT, NEW, ROWS, MODELS = 8, 5, 16, 3, 20
GREEDY = {"temperature": 1e-9, "filter_thres": 0.0}
SPREAD = 3
"""Weights are so many times larger than they come, so that the texts vary and no two logits are near each other."""


def made(module: ModuleType, seed: int, width: int = 32, **more: int) -> nn.Module:
    """A small decoder in float64, whose weights are a function of a seed."""
    torch.manual_seed(seed)
    net = module.Decoder(num_tokens=IDS, dim=width, depth=2, heads=2, dim_head=8, **more).double().eval()
    for weights in net.parameters():
        weights.data.mul_(SPREAD if weights.dim() > 1 else 1)
    return net


def plain(net: nn.Module, prompt: Tensor) -> Tensor:
    """The greedy text of a prompt by itself: the whole text is read again for each id."""
    ids = prompt[None]
    for _ in range(NEW):
        ids = torch.cat([ids, net(ids)[:, -1:].argmax(-1)], 1)
    return ids[0, PROMPT:]


def rows_behind_pads(net: nn.Module) -> None:
    """A text alone, behind three pads that are told of, and behind as many that are not."""
    text = torch.tensor([[1, 4, 2, 7, 3]])
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), text], 1)
    told, untold = net(padded, seq_start_pos=torch.tensor([3]))[:, 3:], net(padded)[:, 3:]
    print(f"  rows behind three pads, seq_start_pos=[3]: off those of the text alone by {(told - net(text)).abs().max():.2g}")
    print(f"  the same without seq_start_pos: off the rows with it by {(told - untold).abs().max():.2g}")


def texts(module: ModuleType, loop: str, target: nn.Module, *models: nn.Module) -> list[int]:
    """Of several prompts, how many texts differ from plain decoding: each prompt by itself, and all at once."""
    prompts, run = torch.randint(IDS, (ROWS, PROMPT)), getattr(module, loop)
    right = [plain(target, prompt) for prompt in prompts]
    alone = [run(*models, prompt[None], PROMPT + NEW, gamma=3, **GREEDY)[0][0] for prompt in prompts]
    together, _ = run(*models, prompts, PROMPT + NEW, gamma=3, **GREEDY)
    return [sum(not torch.equal(a, b) for a, b in zip(found, right, strict=True)) for found in (alone, list(together))]


@torch.no_grad()
def main() -> None:
    """Rows, texts of the two loops, and the early exit."""
    print(f"speculative-decoding {version('speculative-decoding')}, torch {torch.__version__}")
    package, prophets = (sys.modules[f"speculative_decoding.speculative_decoding{name}"] for name in ("", "_with_prophet"))
    for module in (package, prophets):
        print(f"Decoder of {module.__name__}")
        rows_behind_pads(made(module, 0))
    found = {"speculative_decoding": [0, 0], "speculative_decoding_with_prophet_model": [0, 0]}
    for seed in range(MODELS):
        target, pair = made(package, seed), [made(prophets, seed), made(prophets, MODELS + seed, 16)]
        counted = [
            texts(package, "speculative_decoding", target, target, made(package, MODELS + seed, 16)),
            texts(prophets, "speculative_decoding_with_prophet_model", pair[0], prophets.ModelWithProphetWrapper(*pair).double()),
        ]
        found = {loop: [a + b for a, b in zip(found[loop], more, strict=True)] for loop, more in zip(found, counted, strict=True)}
    for loop, (alone, together) in found.items():
        print(f"{loop}: of {ROWS * MODELS} greedy texts {alone} differ from plain decoding one prompt at a time, {together} with {ROWS} prompts at once")
    for extra in (0, 1):
        try:
            made(package, 0, early_exit_layer=1, early_exit_extra_transformer_blocks=extra)
        except NameError as error:
            print(f"Decoder(early_exit_layer=1, early_exit_extra_transformer_blocks={extra}): NameError: {error}")


if __name__ == "__main__":
    main()
