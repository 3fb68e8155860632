"""The law behind a property as a formula: p is the target's, q the draft's, X what comes out, d a draft token; ~ reads "drawn from"."""

from __future__ import annotations

SUPPORT = "p(x) = 0  ⇒  P(X = x) = 0"
CHAIN = "P(X₁ … Xᵧ₊₁ = x₁ … xᵧ₊₁) = ∏ᵢ pᵢ(xᵢ)"
TEXT = "P(X₁ … Xₙ = x₁ … xₙ) = ∏ᵢ p(xᵢ | x₁ … xᵢ₋₁)"
CALLS = "P(X = x, X′ = x′) = P(X = x) · P(X′ = x′), X and X′ of two calls"
STOP = "P(X = d at the stop | d refused) = 0"
GREEDY = "Xᵢ = argmaxₓ pᵢ(x)"

_IDS = {
    SUPPORT: "SMP-002 SMP-003 CHN-003 CHN-004 DET-003 DET-004 BAT-003 BAT-004 PCK-003 PCK-004 DRV-003 DRV-017 GEN-006 TRE-003 TRE-004 TRE-015 TRE-016",
    CHAIN + ", d ~ q": "CHN-008 BAT-008 PCK-008",
    CHAIN + " for every d": "DET-008",
    TEXT: "DRV-008 DRV-009 GEN-007 GEN-008",
    TEXT + ", p as temperature and filters make it": "GEN-011 GEN-012 GEN-013",
    TEXT + ", the children drawn as declared": "TRE-008 TRE-018",
    CALLS: "SMP-005 BAT-009 PCK-009 DRV-010 TRE-009 TRE-019",
    STOP: "CHN-005 BAT-005 PCK-005 TRE-005 TRE-017",
    "P(X = x at the stop) > 0  ⇒  p(x) > q(x)": "CHN-006 BAT-006 PCK-006",
    "p = q  ⇒  P(d accepted) = 1": "CHN-007",
    GREEDY: "GRD-002 BAT-007 PCK-007 GEN-009 TRG-003",
    "r(x) = x⁺ / Σ x⁺": "POS-002",
    "r(x) = (p(x) − q(x))⁺ / Σ (p − q)⁺": "RES-002",
    "p(x) = 0  ⇒  r(x) = 0": "RES-003",
    "p(d) = 0  ⇒  P(d accepted) = 0": "ACC-003",
    "P(d accepted) = min(1, p(d) / q(d))": "ACC-002",
    "P(X = x) = p(x)": "SMP-004 SMP-006",
    "p(x) = exp(ℓ(x) / T) / Σ exp(ℓ / T), over the kept tokens": "WRP-003",
}
FORMULAS = {id_: formula for formula, ids in _IDS.items() for id_ in ids.split()}
"""By the id of the property; one that no formula says better than its sentence has none."""
