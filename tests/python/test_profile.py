"""The profile of operations."""

import heedml
import pytest


def test_a_profile_sums_up_operations():
    layer = heedml.Linear(heedml.Scope(seed=1), 8, 4)
    with heedml.Profile() as profile:
        with heedml.Recording():
            layer(heedml.ones((2, 8))).sum().backward()
        assert profile.totals()["linear"].calls == 1
        with pytest.raises(heedml.Error, match="already open on this thread"), heedml.Profile():
            pass
    layer(heedml.ones((2, 8)))
    totals = profile.totals()
    assert totals["linear"].calls == totals["linear backward"].calls == 1
    assert totals["linear"].flops == 2 * 2 * 8 * 4 and totals["linear"].duration > 0
    lines = str(profile).splitlines()
    assert any(line.startswith("linear backward ") for line in lines) and max(map(len, lines)) <= 80
    assert repr(profile) == f"heedml.Profile({len(totals)} operations)"
