"""The table of planted faults: what each does wrong, where it was seen, which properties must find it. Data only; the code is in `planted_*`."""

from __future__ import annotations

from dataclasses import dataclass

from specverify.errors import unknown


@dataclass(frozen=True)
class Fault:
    """A known way to be wrong.

    Attributes:
        name: slug, as in `fault:NAME`.
        kind: of the taxonomy, such as RESIDUAL.
        contract: that its planted implementation fills.
        corpus: ids of the public bugs that it is modelled on, or of the page that names it.
        sentence: what it does wrong.
        found_by: the properties that must find it, one of them at least; the first is the one that names it best.
        grid: whether only boundary draws show it, so that it is audited with `--fail-on grid`.
    """

    name: str
    kind: str
    contract: str
    corpus: tuple[str, ...]
    sentence: str
    found_by: tuple[str, ...]
    grid: bool = False

    @property
    def module(self) -> str:
        """Where it is planted."""
        return f"specverify.faults.planted_{self.contract}"


_TABLE = (
    Fault("max-as-normaliser", "RESIDUAL", "positive_part", ("B024",), "Divides by the greatest entry instead of the sum.", ("POS-002",)),
    Fault(
        "absolute-residual", "RESIDUAL", "positive_part", ("statistics 2.2",), "Takes the absolute value instead of the positive part.", ("POS-002", "POS-003")
    ),
    Fault(
        "softmax-residual", "RESIDUAL", "positive_part", ("B021",), "Puts the positive part through a softmax, so that zeros get mass.", ("POS-002", "POS-003")
    ),
    Fault("floor-in-residual", "RESIDUAL", "positive_part", ("L2",), "Lifts every entry to 1e-6, so that impossible tokens become possible.", ("POS-003",)),
    Fault("batch-normaliser", "RESIDUAL", "positive_part", ("L9",), "Divides by the sum of the whole batch instead of the row's.", ("POS-002",)),
    Fault("pad-one-short", "PADDING", "pad_path", ("A4",), "Appends one pad too few.", ("PAD-001",)),
    Fault("pad-in-front", "PADDING", "pad_path", ("A3",), "Puts the pads in front.", ("PAD-002",)),
    Fault("pad-with-zero", "PADDING", "pad_path", ("B081",), "Pads with the real id 0 instead of the pad value.", ("PAD-002",)),
    Fault("token-zero-raises", "PADDING", "sample", ("B080",), "Takes token 0 for an error and raises.", ("SMP-001",)),
    Fault("shared-row-uniform", "RNG", "sample", ("statistics 2.7",), "Draws every row of a batch with one uniform.", ("SMP-004",)),
    Fault("reseeded-every-call", "SEED", "sample", ("B053",), "Seeds the generator anew before each draw.", ("SMP-004", "SMP-005")),
    Fault("greedy-sampling", "LOSSY", "sample", ("B184",), "Returns the most probable token instead of a draw.", ("SMP-004",)),
    Fault(
        "cdf-starts-at-zero",
        "DEGENERATE",
        "sample",
        ("B030", "C6"),
        "At u = 0 the search of the CDF stops on a leading token of probability zero.",
        ("SMP-003",),
        grid=True,
    ),
    Fault(
        "cdf-ends-on-the-last-id",
        "DEGENERATE",
        "sample",
        ("B073",),
        "At the greatest u the draw falls on the last id, whatever its probability.",
        ("SMP-003",),
        grid=True,
    ),
    Fault("always-accept", "ACCEPT", "verify_chain", ("B026",), "Accepts every draft token.", ("CHN-003", "CHN-008")),
    Fault("inverted-ratio", "ACCEPT", "verify_chain", ("B028",), "Accepts with min(1, q/p).", ("CHN-003", "CHN-008")),
    Fault(
        "two-chances",
        "ACCEPT",
        "verify_chain",
        ("B031",),
        "Accepts when a fresh target draw equals the draft, or else when the ratio test passes.",
        ("CHN-008",),
    ),
    Fault("residual-from-p", "RESIDUAL", "verify_chain", ("B022",), "Draws the replacement from p instead of the residual.", ("CHN-005", "CHN-006", "CHN-008")),
    Fault("residual-row-zero", "ROW", "verify_chain", ("B040",), "Takes the residual of row 0 at every rejection.", ("CHN-006", "CHN-003", "CHN-008")),
    Fault("residual-last-row", "ROW", "verify_chain", ("B038",), "Draws the replacement from the row after all drafts.", ("CHN-003", "CHN-008")),
    Fault(
        "bonus-missing",
        "BONUS",
        "verify_chain",
        ("B048",),
        "Emits nothing when every draft token is accepted at the last position.",
        ("CHN-001", "CHN-005", "CHN-008"),
    ),
    Fault(
        "bonus-from-previous-row", "BONUS", "verify_chain", ("statistics 2.2",), "Draws the bonus token from the row before the last.", ("CHN-003", "CHN-008")
    ),
    Fault("reused-uniform", "RNG", "verify_chain", ("B051", "B055"), "Draws the replacement with the uniform that failed the acceptance test.", ("CHN-008",)),
    Fault("one-uniform-for-all", "RNG", "verify_chain", ("B053",), "Tests every position with the same uniform.", ("CHN-008",)),
    Fault(
        "reseeds-itself",
        "SEED",
        "verify_chain",
        ("B053", "B058"),
        "Seeds the generator anew at every call: each step makes the same draws.",
        ("CHN-009", "CHN-008"),
    ),
    Fault("raises-on-rejection", "DEGENERATE", "verify_chain", ("B071",), "Fails when the residual has a single token.", ("CHN-001",)),
    Fault("accepts-at-zero", "ACCEPT", "verify_chain", ("B030", "C6"), "Accepts with u <= p/q: a token of probability zero at u = 0.", ("CHN-004",), grid=True),
    Fault("difference-unclamped", "RESIDUAL", "residual", ("theory S1",), "Normalises p - q with its negative entries.", ("RES-002",)),
    Fault("residual-reversed", "RESIDUAL", "residual", ("B028",), "Takes (q - p)+.", ("RES-003", "RES-002")),
    Fault("residual-over-mass-of-p", "RESIDUAL", "residual", ("B024",), "Divides by the mass of p where it exceeds q, not by the excess.", ("RES-002",)),
    Fault("residual-lifted", "RESIDUAL", "residual", ("L2",), "Adds 1e-4 everywhere before it normalises.", ("RES-003",)),
    Fault("ratio-reversed", "ACCEPT", "ratio", ("B028",), "Divides den by num.", ("RAT-002", "RAT-001")),
    Fault("ratio-heavy-guard", "DEGENERATE", "ratio", ("L12",), "Adds 0.01 to every denominator and does not say so.", ("RAT-002",)),
    Fault("guard-that-is-none", "DEGENERATE", "ratio", ("L12",), "Declares a guard, and gives NaN for 0/0.", ("RAT-003",)),
    Fault("ratio-uncapped", "ACCEPT", "accept_probability", ("L1",), "Gives p/q above 1.", ("ACC-001",)),
    Fault("ratio-of-logs", "ACCEPT", "accept_probability", ("B032",), "Takes the square root of the ratio, a softer test.", ("ACC-002",)),
    Fault("acceptance-floor", "ACCEPT", "accept_probability", ("L2",), "Never goes below 1e-3, for a token of target probability zero neither.", ("ACC-003",)),
    Fault("counts-every-acceptance", "ACCEPT", "first_rejection", ("B026",), "Counts all accepted tokens, those after the first rejection too.", ("FRJ-002",)),
    Fault("all-accepted-is-zero", "ACCEPT", "first_rejection", ("B026",), "Takes the argmax of the rejections: 0 where none was rejected.", ("FRJ-002",)),
    Fault("top-k-one-short", "P-MISMATCH", "filter_logits", ("B011",), "Drops the k-th token too, all tokens for k = 1.", ("FLT-002", "FLT-003")),
    Fault("top-p-empties-rows", "DEGENERATE", "filter_logits", ("B011",), "Drops every token where the first alone has mass top-p.", ("FLT-002",)),
    Fault(
        "top-p-not-unsorted",
        "P-MISMATCH",
        "filter_logits",
        ("paper-systems",),
        "Applies the mask of the sorted row to the unsorted one.",
        ("FLT-003", "FLT-002"),
    ),
    Fault("top-k-ignored", "P-MISMATCH", "filter_logits", ("B010",), "Takes top_k and does nothing with it.", ("FLT-003",)),
    Fault("top-p-forgotten-with-top-k", "P-MISMATCH", "filter_logits", ("B010",), "Applies top-p only where top-k keeps all.", ("FLT-004",)),
    Fault("fraction-rounded-down", "P-MISMATCH", "keep_fraction", ("theory C2",), "Keeps floor((1 - thres) V).", ("KPF-002", "KPF-001")),
    Fault("fraction-of-the-smallest", "P-MISMATCH", "keep_fraction", ("theory C2",), "Keeps the smallest, masked ones included.", ("KPF-002", "KPF-001")),
    Fault("temperature-ignored", "P-MISMATCH", "warp", ("B008",), "Takes the softmax at temperature 1.", ("WRP-003",)),
    Fault("temperature-twice", "P-MISMATCH", "warp", ("paper-systems",), "Divides by the temperature twice.", ("WRP-003",)),
    Fault("kept-not-renormalised", "P-MISMATCH", "warp", ("B024",), "Filters probabilities and leaves their sum below 1.", ("WRP-001",)),
    Fault("top-p-of-the-tail", "P-MISMATCH", "warp", ("B011",), "Keeps the least probable tokens up to mass top-p.", ("WRP-002",)),
    Fault("filters-in-another-order", "P-MISMATCH", "warp", ("B014",), "Declares top-k first, and takes top-p of the whole row.", ("WRP-005",)),
    Fault("first-draft-token-unverified", "ROW", "verify_chain_greedy", ("B037",), "Takes the first draft token as it is.", ("GRD-002",)),
    Fault("greedy-row-late", "ROW", "verify_chain_greedy", ("B034",), "Takes the replacement from the row after the rejection.", ("GRD-002",)),
    Fault("greedy-by-chance", "MIXED", "verify_chain_greedy", ("B062",), "Draws from the softmax instead of taking the argmax.", ("GRD-002",)),
    Fault(
        "mismatch-drawn-again", "RESIDUAL", "verify_deterministic_draft", ("B023",), "Throws the mismatching draw away and draws again from p.", ("DET-008",)
    ),
    Fault(
        "one-hot-always-accepted", "ACCEPT", "verify_deterministic_draft", ("B006",), "Takes the draft's probability for 0 and accepts.", ("DET-003", "DET-008")
    ),
    Fault(
        "softmax-q-for-a-given-draft",
        "Q-MISMATCH",
        "verify_deterministic_draft",
        ("B003",),
        "Tests a draft that was not drawn against p/q with q = 0.6.",
        ("DET-008",),
    ),
    Fault("numpy-unseeded", "SEED", "seeding", ("B058",), "Seeds random, and leaves numpy as it is.", ("SED-002",)),
    Fault("seed-ignored", "SEED", "seeding", ("contracts, seeding",), "Seeds with 42, whatever it is given.", ("SED-003",)),
    Fault("seeded-once", "SEED", "seeding", ("B058",), "Seeds in its first call only.", ("SED-002",)),
    Fault("seed-capped", "SEED", "seeding", ("contracts, seeding",), "Takes every seed above 65,535 for that one.", ("SED-003",)),
    Fault("last-window-missing", "RETRIEVAL", "helper", ("contracts, helper",), "Stops one window of tokens too early.", ("HLP-002",)),
    Fault("raises-on-nothing-drafted", "DEGENERATE", "helper", ("contracts, helper",), "Divides by the number of drafts, which may be 0.", ("HLP-001",)),
    Fault("remembers-calls", "RNG", "helper", ("contracts, helper",), "Counts the tokens of earlier calls too.", ("HLP-003",)),
    Fault("ties-by-chance", "RNG", "helper", ("contracts, helper",), "Draws among equal counts.", ("HLP-003",)),
    Fault("overlap-of-p-alone", "EFFICIENCY", "helper", ("contracts, helper",), "Sums p where q is above 0, instead of the smaller of both.", ("HLP-002",)),
    Fault("sorted-along-the-wrong-axis", "ROW", "helper", ("contracts, helper",), "Sorts over the rows, not within them.", ("HLP-002",)),
    Fault("root-among-the-candidates", "RETRIEVAL", "retriever", ("theory R5",), "Returns the root of its trie, a candidate without ids.", ("RTR-001",)),
    Fault("documents-joined", "RETRIEVAL", "retriever", ("B230",), "Joins documents without a separator.", ("RTR-002",)),
    Fault("shortest-match", "RETRIEVAL", "retriever", ("theory R2",), "Matches the shortest suffix instead of the longest.", ("RTR-003",)),
    Fault("n-max-ignored", "RETRIEVAL", "retriever", ("theory R2",), "Matches suffixes longer than n_max.", ("RTR-003",)),
    Fault("n-min-ignored", "RETRIEVAL", "retriever", ("theory 1e, v",), "Matches suffixes shorter than n_min.", ("RTR-011",)),
    Fault(
        "end-of-a-document-matches",
        "RETRIEVAL",
        "retriever",
        ("contracts, E",),
        "Stops at a suffix that only ends a document, and finds nothing.",
        ("RTR-004",),
    ),
    Fault("continuation-one-long", "RETRIEVAL", "retriever", ("theory R5",), "Returns continuations of m + 1 ids.", ("RTR-005",)),
    Fault("continuation-one-short", "RETRIEVAL", "retriever", ("theory R5",), "Returns continuations of m - 1 ids.", ("RTR-005",)),
    Fault("weights-of-a-sample", "RETRIEVAL", "retriever", ("theory R4",), "Weighs by every second occurrence.", ("RTR-006",)),
    Fault("overlaps-skipped", "RETRIEVAL", "retriever", ("theory R4",), "Looks for the next occurrence behind the last one.", ("RTR-006", "RTR-003")),
    Fault("ties-not-cut", "RETRIEVAL", "retriever", ("B226",), "Keeps all that are as heavy as the last that fits.", ("RTR-007",)),
    Fault("deeper-before-shallower", "RETRIEVAL", "retriever", ("theory R6",), "Keeps the longer of equally heavy beginnings.", ("RTR-008",)),
    Fault("longest-paths-dropped", "RETRIEVAL", "retriever", ("theory 1e, iii",), "Drops the longest paths until the budget holds the rest.", ("RTR-009",)),
    Fault("lightest-kept", "RETRIEVAL", "retriever", ("theory R8",), "Keeps the lightest.", ("RTR-009",)),
    Fault("unseen-id-raises", "RETRIEVAL", "retriever", ("theory R13",), "Fails on an id that its datastore has not.", ("RTR-010",)),
    Fault("guess-where-nothing-is-found", "RETRIEVAL", "retriever", ("B229",), "Proposes token 100 where nothing is found.", ("RTR-011",)),
    Fault("ids-in-16-bits", "RETRIEVAL", "retriever", ("B228",), "Keeps ids modulo 65,536.", ("RTR-012",)),
    Fault("first-hits-of-the-sorted", "RETRIEVAL", "retriever", ("theory 1e, i",), "Looks at the first 5,000 hits in the order of suffixes.", ("RTR-013",)),
    Fault("ties-by-a-random-hash", "RNG", "retriever", ("theory 1e, ii",), "Breaks ties by a hash of another seed in each call.", ("RTR-014",)),
)

FAULTS: dict[str, Fault] = {row.name: row for row in _TABLE}
"""Every planted fault, by name."""


def fault(name: str) -> Fault:
    """The planted fault of that name, or SpecverifyError with the nearest one."""
    if name not in FAULTS:
        raise unknown("planted fault", name, FAULTS)
    return FAULTS[name]
