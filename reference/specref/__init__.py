"""Clean-room reference of speculative sampling (arXiv 2211.17192). It knows nothing of specverify."""

from specref.sampling import residual, sample, verify_chain
from specref.verification import verify
from specref.warp import warp

__all__ = ["residual", "sample", "verify", "verify_chain", "warp"]
