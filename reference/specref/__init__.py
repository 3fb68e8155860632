"""Clean-room reference of speculative sampling (arXiv 2211.17192). It knows nothing of specverify.

`verify` and `verify_tree` apply the rules of `specref.rules` to batches; `warp`, `sample` and `residual` are their pieces; `specref.generation` decodes with
real models; `specref.efficiency` has the paper's formulas.
"""

from specref.sampling import residual, sample, verify_chain
from specref.tree_verification import verify_tree
from specref.trees import Tree, pack
from specref.verification import verify
from specref.warp import Sampling, warp

__all__ = ["Sampling", "Tree", "pack", "residual", "sample", "verify", "verify_chain", "verify_tree", "warp"]
