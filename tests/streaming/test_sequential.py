import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import gapdrift as gd
from gapdrift.streaming.sequential import LENGTHS, SHIFTS, ChangePoint, EvidenceProcess, run_length


def evidence(score):
    return gd.Evidence(1, {"score": score})


def judge(block, before):
    """p-value of the mean of scores of variance 1, where the mean without drift is known to be 0."""
    return float(ndtr(-block.sums["score"] / math.sqrt(block.n_rows)))


def feed(process, scores, start=0):
    for place, score in enumerate(scores, start):
        process.update(ChangePoint(place, 10 * place), evidence(score), judge)


def naive_sum(scores, length, shift):
    """Sum over all starts of the product of likelihood ratios of the blocks from there on, as the formula has it."""
    blocks = [sum(scores[i : i + length]) / math.sqrt(length) for i in range(0, len(scores) - length + 1, length)]
    ratios = [math.exp(shift * z - shift**2 / 2) for z in blocks]
    return sum(length * math.prod(ratios[start:]) for start in range(len(ratios)))


def test_the_process_is_the_sum_over_all_starts():
    scores = np.random.default_rng(0).normal(0.3, 1.0, size=150).tolist()
    process = EvidenceProcess()
    feed(process, scores)
    naive = np.mean([naive_sum(scores, length, shift) for length in LENGTHS for shift in SHIFTS])
    assert process.value == pytest.approx(run_length(naive), rel=1e-9)


def test_a_bet_wins_nothing_on_average():
    p_values = (np.arange(200_000) + 0.5) / 200_000
    gains = np.exp(SHIFTS[:, None] * -ndtri(p_values) - SHIFTS[:, None] ** 2 / 2)
    assert np.abs(gains.mean(axis=1) - 1).max() < 0.01


@pytest.mark.parametrize("lengths", [LENGTHS, (1,)])
def test_runs_without_drift_are_as_long_as_asked_for(lengths):
    rng = np.random.default_rng(1)
    process, alarms, every = EvidenceProcess(lengths), 0, 20.0
    for place, score in enumerate(rng.normal(size=6_000).tolist()):
        process.update(ChangePoint(place, place), evidence(score), judge)
        if process.value >= every:
            alarms += 1
            process.begin_anew()
    # The runs vary about as much as they are long.
    expected = 6_000 / every
    assert abs(alarms - expected) < 3.3 * math.sqrt(expected)


def test_slow_drift_adds_up_and_its_beginning_is_estimated():
    rng = np.random.default_rng(2)
    process = EvidenceProcess()
    feed(process, rng.normal(size=128).tolist())
    assert process.value < 1_000
    feed(process, rng.normal(0.5, 1.0, size=80).tolist(), 128)
    assert process.value > 1_000
    change, since, first = process.change(judge)
    assert abs(change.window - 128) <= 16
    assert change.row == 10 * change.window and first == change.window
    assert abs(process.change()[0].window - 128) <= 64
    before = process.before(first)
    assert (before.n_rows, since.n_rows) == (first, 208 - first)
    process.begin_anew(first)
    assert process.value == 0
    assert process.before(10**9).n_rows == first


def test_few_segments_are_kept_whatever_the_length_of_the_stream():
    process = EvidenceProcess()
    feed(process, np.random.default_rng(3).normal(size=1_000).tolist())
    assert len(process.packed()) <= 1 + len(LENGTHS) * (len(SHIFTS) + 1)


def test_undetermined_blocks_are_no_bets():
    process = EvidenceProcess((1,))
    process.update(ChangePoint(0, 0), evidence(1.0), lambda block, before: None)
    assert process.value == 0
    for extreme in (1e-320, 1.0):
        process.update(ChangePoint(1, 1), evidence(1.0), lambda block, before, p=extreme: p)
        assert np.isfinite(process.value)


def test_a_restored_process_goes_on_alike():
    scores = np.random.default_rng(4).normal(0.2, 1.0, size=90).tolist()
    whole = EvidenceProcess()
    feed(whole, scores[:37])
    again = EvidenceProcess.unpacked(whole.packed())
    for process in (whole, again):
        feed(process, scores[37:], 37)
    assert again.value == whole.value
    assert again.change(judge)[0] == whole.change(judge)[0]


def test_evidence_without_a_likely_beginning_has_an_estimate_all_the_same():
    process = EvidenceProcess((1,))
    feed(process, [-1.0, -1.0])
    assert process.change(judge)[0].window in {0, 1}


@pytest.mark.parametrize(
    "damage",
    [{"facts": b"{}"}, {"facts": b'{"lengths": [3]}'}, {"facts": b"nonsense"}, {"segment/0-1/closed": b"nonsense"}],
)
def test_damaged_parts_are_told(damage):
    process = EvidenceProcess()
    feed(process, [0.0])
    with pytest.raises(gd.errors.HistoryError, match="damaged"):
        EvidenceProcess.unpacked(process.packed() | damage)
