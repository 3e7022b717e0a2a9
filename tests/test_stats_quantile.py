"""Quantiles, resampled series, and the imports that the numerical core is allowed."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.signal import lfilter

import tickdisk
from tickdisk.stats import (
    block_length,
    ecdf,
    minimum_n,
    minimum_n_interval,
    quantile,
    stationary_indices,
)

CORE = Path(tickdisk.__file__).parent / "stats"


def test_the_core_imports_numbers_only():
    allowed = {
        "numpy",
        "scipy",
        "statsmodels",
        "arch",
        "tickdisk.stats",
        "tickdisk.foundation.errors",
        "tickdisk.foundation.numbers",
        "hashlib",
        "functools",
        "warnings",
        "math",
        "dataclasses",
        "typing",
        "fractions",
        "collections",
    }
    records = {"pydantic", "tickdisk.foundation.record", "tickdisk.foundation.numbers"}
    for path in CORE.glob("*.py"):
        known = allowed | (records if path.name in ("causes.py", "finding.py") else set())  # these are records
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                assert any(name == root or name.startswith(root + ".") for root in known), f"{path.name} imports {name}"


def test_reach_of_a_sample():
    assert [minimum_n(q) for q in (0.5, 0.9, 0.95, 0.99, 0.999, 0.05)] == [2, 10, 20, 100, 1000, 20]
    # Wilks (1941): 59 and 299 are the published sample sizes for p95 and p99.
    assert [minimum_n_interval(q, 0.95) for q in (0.5, 0.95, 0.99)] == [6, 59, 299]
    assert quantile(range(19), 0.95, 0.95) is None
    assert np.isnan(quantile(range(20), 0.95, 0.95).low)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 400), q=st.sampled_from([0.5, 0.75, 0.9, 0.95, 0.99]))
def test_a_quantile_is_never_the_maximum(n, q):
    found = quantile(np.arange(n), q, 0.95)
    assert (found is None) == (n < minimum_n(q))
    assert found is None or found.value < n - 1 or (q == 0.5 and n < 3)


@pytest.mark.parametrize(("n", "q"), [(6, 0.5), (59, 0.95), (120, 0.95), (118, 0.9), (400, 0.99), (25, 0.05 * 5)])
def test_order_statistics_enclose_with_at_least_95_percent_and_no_closer_pair_does(n, q):
    found = quantile(np.arange(1, n + 1), q, 0.95)
    lower, upper = int(found.low), int(found.high)

    def enclosed(a, b):
        return scipy_stats.binom.cdf(b - 1, n, q) - scipy_stats.binom.cdf(a - 1, n, q)

    assert enclosed(lower, upper) >= 0.95
    assert max(enclosed(a, a + upper - lower - 1) for a in range(1, n - (upper - lower) + 2)) < 0.95
    rng = np.random.default_rng(1)
    draws = np.sort(rng.exponential(size=(4000, n)), axis=1)
    truth = -np.log(1 - q)
    assert np.mean((draws[:, lower - 1] <= truth) & (truth <= draws[:, upper - 1])) >= 0.94


def test_ecdf_is_exact_where_it_is_drawn_and_keeps_both_ends():
    values = np.random.default_rng(2).exponential(size=10_000)
    x, share = ecdf(values, 200)
    assert x.size <= 200
    assert (x[0], x[-1], share[-1]) == (values.min(), values.max(), 1)
    assert share == pytest.approx(scipy_stats.ecdf(values).cdf.evaluate(x))
    assert ((1 - share) < 1e-3).sum() >= 9
    small, shares = ecdf([3.0, 1.0, 2.0])
    assert small.tolist() == [1, 2, 3]
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])


def test_stationary_blocks_have_geometric_lengths_and_wrap():
    drawn = stationary_indices(50, 5.0, 4000, np.random.default_rng(3))
    assert drawn.shape == (4000, 50)
    goes_on = np.mean((drawn[:, 1:] - drawn[:, :-1]) % 50 == 1)
    assert goes_on == pytest.approx(4 / 5 + 1 / 5 / 50, abs=0.005)
    assert np.bincount(drawn.ravel(), minlength=50).std() < 0.05 * drawn.size / 50


def test_block_length_grows_with_autocorrelation():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=600)
    assert block_length(noise) < 5 < block_length(lfilter([1], [1, -0.9], noise)) <= 200
    assert block_length(np.ones(100)) == 1
    for short in range(2, 20):
        assert 1 <= block_length(np.arange(short) % 3) <= max(1, short / 3)
