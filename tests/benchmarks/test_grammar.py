from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.grammar import drifts, missing
from benchmarks.grammar.dependence import COMPONENTS, DEPENDENCES, Dependence
from benchmarks.grammar.marginals import CONTINUOUS, KINDS, Marginal, draw_marginal
from benchmarks.grammar.nulls import MOST_CELLS, drawn, fixed, kept, null_case
from benchmarks.grammar.tables import FORMS
from scipy.stats import binom, ks_2samp

import gapdrift as gd

MANY = [drawn(seed) for seed in range(300)]
SURE = 1e-3


class TestDrawnCases:
    @pytest.mark.parametrize("seed", range(0, 300, 25))
    def test_a_seed_determines_the_case_and_its_rows(self, seed):
        case = replace(drawn(seed), n_reference=60, n_window=70)
        again = replace(drawn(seed), n_reference=60, n_window=70)
        assert case == again
        for one, two in zip(case.pair(4), again.pair(4), strict=True):
            pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(two))

    def test_trials_and_sides_have_fresh_rows(self):
        case = replace(fixed()["20 Gaussian columns"], n_reference=50, n_window=50)
        tables = [*case.pair(0), *case.pair(1)]
        assert len({np.nansum(table) for table in tables}) == 4

    def test_300_cases_have_every_part_of_the_grammar(self):
        kinds = {marginal.kind for case in MANY for marginal in case.law.marginals}
        mechanisms = {side.mechanism for case in MANY for side in (case.missing_reference, case.missing_window)}
        assert kinds == set(KINDS)
        assert mechanisms == set(missing.MECHANISMS)
        assert {case.law.dependence.kind for case in MANY} == set(DEPENDENCES) - {COMPONENTS}
        assert {case.form for case in MANY} == set(FORMS)
        assert min(Counter(case.judged for case in MANY).values()) > 40

    def test_300_cases_are_narrow_and_wide_short_and_long(self):
        sizes = [size for case in MANY for size in (case.n_reference, case.n_window)]
        widths = [case.n_columns for case in MANY]
        rates = [rate for case in MANY for rate in case.missing_reference.rates]
        assert 50 <= min(sizes) < 60
        assert 90_000 < max(sizes) <= 100_000
        assert min(widths) == 1
        assert 250 < max(widths) <= 300
        assert min(rates) == 0
        assert 0.85 < max(rates) <= 0.9
        assert sum(case.n_window > 50 * case.n_reference for case in MANY) > 10
        assert sum(case.n_reference > 50 * case.n_window for case in MANY) > 10

    def test_cases_are_different_and_affordable(self):
        assert len({str(case) for case in MANY}) == len(MANY)
        assert all((case.n_reference + case.n_window) * case.n_columns <= 1.1 * MOST_CELLS for case in MANY)

    def test_only_the_missing_cells_may_differ(self):
        for case in MANY:
            assert (case.judged == "verdict") == (case.missing_reference == case.missing_window)

    def test_what_hides_by_another_column_can_be_observed(self):
        driven = [
            case
            for case in MANY
            for side in {case.missing_reference, case.missing_window}
            if side.mechanism in {missing.BY_ANOTHER, missing.BY_ANOTHER_SIZE}
        ]
        assert len(driven) > 20
        for case in driven:
            assert case.missing_reference.rates[0] == case.missing_window.rates[0] == 0
            assert case.law.marginals[0].kind in CONTINUOUS

    def test_both_sides_follow_one_law(self):
        """Columns of both sides compared, in all cases together at most one chance in a million."""
        p_values = []
        for case in MANY[::6]:
            same = case.missing_reference if case.judged == "verdict" else missing.at_random(case.n_columns, 0.0)
            sizes = {"n_reference": 400, "n_window": 700}
            pair = replace(case, missing_reference=same, missing_window=same, form="numpy", **sizes)
            reference, window = pair.pair(0)
            for one, two in zip(reference.T[:20], window.T[:20], strict=True):
                p_values.append(ks_2samp(np.isnan(one), np.isnan(two)).pvalue)
                if not (np.isnan(one).all() or np.isnan(two).all()):
                    p_values.append(ks_2samp(one[~np.isnan(one)], two[~np.isnan(two)]).pvalue)
        assert min(p_values) * len(p_values) > 1e-6

    def test_copies_of_dates_leave_something_to_compare(self):
        assert {marginal.kind for marginal in drawn(630_044).law.marginals} == {"gaussian", "sum"}

    def test_kept_cases_are_still_what_they_were(self):
        for name, description in kept().items():
            assert str(null_case(name)) == description


class TestParts:
    @pytest.mark.parametrize("mechanism", missing.MECHANISMS)
    @pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
    def test_rates_are_those_asked_for(self, mechanism, rate):
        rng = np.random.default_rng(0)
        mask = missing.Missing(mechanism, (0.0, *[rate] * 7)).mask(rng.normal(size=(20_000, 8)), rng)
        assert not mask[:, 0].any()
        tail = SURE / 7 / 15
        assert (mask[:, 1:].sum(axis=0) <= binom.ppf(1 - tail, 20_000, rate)).all()
        assert (mask[:, 1:].sum(axis=0) >= binom.ppf(tail, 20_000, rate)).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_values_are_finite_and_depend_on_their_own_cell(self, kind):
        rng = np.random.default_rng(1)
        latent = rng.normal(size=1_000)
        marginal = draw_marginal(kind, rng)
        values = marginal.values(latent)
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(marginal.values(latent[500:]), values[500:])

    @pytest.mark.parametrize("kind", DEPENDENCES)
    def test_latent_numbers_have_about_mean_0_and_variance_1(self, kind):
        dependence = Dependence(kind, 0.5, 3)
        rows = dependence.latents(20_000, 5, np.random.default_rng(2))
        assert np.isfinite(rows).all()
        assert np.abs(rows.mean(axis=0)).max() < (1.5 if kind == "clusters" else 0.1)
        assert rows.std(axis=0).max() < 1.5

    def test_shares_of_categories(self):
        codes = Marginal("Zipf category", 3).values(np.random.default_rng(3).normal(size=50_000))
        np.testing.assert_allclose(np.bincount(codes.astype(int)) / 50_000, [6 / 11, 3 / 11, 2 / 11], atol=0.01)


class TestDrifts:
    @pytest.mark.parametrize("family", drifts.FAMILIES)
    def test_a_family_draws_rows_and_reference_and_calm_window_follow_one_law(self, family):
        n_columns = 6
        case = drifts.DriftCase(family, 5, family, 900, 700, n_columns, 0.3, (0.2,) * n_columns)
        reference, drifted, calm = case.pair(0)
        p_values = [
            [
                ks_2samp(one[~np.isnan(one)], two[~np.isnan(two)]).pvalue
                for one, two in zip(reference.T, side.T, strict=True)
            ]
            for side in (drifted, calm)
        ]
        assert min(p_values[1]) * n_columns > 1e-5
        assert all(p_values[0][place] * n_columns > 1e-5 for place in case.untouched)

    def test_a_seed_determines_the_drift(self):
        for family in drifts.FAMILIES:
            assert drifts.drift_case(f"{family} 8") == drifts.drawn_drift(family, 8)

    def test_the_frame_of_categories_holds_text(self):
        case = drifts.drift_case("new category 3")
        table = case.table(case.pair(0)[1])
        assert table["c0"].dropna().iloc[0].startswith("level ")
        assert table["c0"].isna().mean() == pytest.approx(0.2, abs=0.1)


TRIALS = 15
ONCE_FAILED = (18, 794, 60557, 60877, 60894, 61109)
SEEDS = (28, 46, 163, 203, 236, 287, *ONCE_FAILED)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_null_case_alarms_no_more_often_than_chance_explains(seed):
    """Fixed seeds; at an exact level one of them would fail once in a thousand times."""
    case = drawn(seed)
    p_values = []
    for trial in range(TRIALS):
        reference, window = case.pair(trial)
        result = gd.DriftDetector(random_state=trial).fit(reference).test(window)
        assert result.drift is not None
        p_values.append(result.p_value if case.judged == "verdict" else result.values.p_value)
    for alpha in (0.05, 0.01):
        assert np.sum(np.array(p_values) <= alpha) <= binom.ppf(1 - SURE / 2 / len(SEEDS), TRIALS, alpha)
