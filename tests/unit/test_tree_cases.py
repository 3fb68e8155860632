"""Cases of steps on draft trees: nothing is asked that a lawful step cannot answer."""

from hypothesis import HealthCheck, given, settings

from specprops.tree_cases import FAINTEST, Shape, shapes


def test_what_is_left_of_a_drafters_row_is_never_faint_without_replacement() -> None:
    """A child of subnormal probability is sure there, and products round its coin away, lawfully."""

    @settings(max_examples=300, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(shapes(3, "float32", "without-replacement"))
    def check(shape: Shape) -> None:
        assert all(x == 0 or x >= FAINTEST for line in shape.drafter for x in line)

    check()
