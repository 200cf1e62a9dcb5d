"""NannyML: univariate drift, the domain classifier and data reconstruction, with default methods and thresholds.

Thresholds of the first and the last are learned from several chunks of the reference, so their chunks are the default
ten of each side, and an alarm is an alert in any chunk of the window (and any column). With ten chunks and several
columns that happens by chance as well, and the library has no verdict on all of them together: so there is a second
row for each, which alarms where one column alerts in at least half of the chunks. Those of the domain classifier are
constants: its chunk is the whole window.
"""

from typing import Any

import nannyml as nml
import pandas as pd
from protocol import Answer, serve


def alerts(calculator: Any, reference: pd.DataFrame, window: pd.DataFrame) -> pd.DataFrame:
    """Alerts in the chunks of the window: one column for each test."""
    table = calculator.fit(reference).calculate(window).filter(period="analysis").to_df()
    return table.loc[:, [name for name in table.columns if name[-1] == "alert"]]


def by_chunks(make: Any, share: float) -> Any:
    """Alarms where one column alerts in this share of the window's chunks, and at least in one."""

    def test(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
        found = alerts(make(column_names=list(reference.columns)), reference, window).to_numpy(dtype=bool)
        most = int(found.sum(axis=0).max())
        return Answer(most >= max(1, share * len(found)), details={"alerts": int(found.sum()), "most": most})

    return test


def domain_classifier(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    calculator = nml.DomainClassifierCalculator(feature_column_names=list(reference.columns), chunk_number=1)
    table = calculator.fit(reference).calculate(window).filter(period="analysis").to_df()
    area = float(table[("domain_classifier_auroc", "value")].iloc[-1])
    return Answer(bool(table[("domain_classifier_auroc", "alert")].iloc[-1]), details={"auroc": area})


serve(
    {
        "univariate": by_chunks(nml.UnivariateDriftCalculator, 0.0),
        "univariate, half of the chunks": by_chunks(nml.UnivariateDriftCalculator, 0.5),
        "domain classifier": domain_classifier,
        "data reconstruction": by_chunks(nml.DataReconstructionDriftCalculator, 0.0),
        "data reconstruction, half of the chunks": by_chunks(nml.DataReconstructionDriftCalculator, 0.5),
    }
)
