"""NannyML: univariate drift, the domain classifier and data reconstruction, with default methods and thresholds.

Thresholds of the first and the last are learned from several chunks of the reference, so their chunks are the default
ten of each side, and an alarm is an alert in any chunk of the window (and any column). Those of the domain classifier
are constants: its chunk is the whole window.
"""

from typing import Any

import nannyml as nml
import pandas as pd
from protocol import Answer, serve


def alerts(calculator: Any, reference: pd.DataFrame, window: pd.DataFrame) -> pd.DataFrame:
    """Alerts in the chunks of the window: one column for each test."""
    table = calculator.fit(reference).calculate(window).filter(period="analysis").to_df()
    return table.loc[:, [name for name in table.columns if name[-1] == "alert"]]


def univariate(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = alerts(nml.UnivariateDriftCalculator(column_names=list(reference.columns)), reference, window)
    return Answer(bool(found.to_numpy().any()), details={"alerts": int(found.to_numpy().sum())})


def reconstruction(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = alerts(nml.DataReconstructionDriftCalculator(column_names=list(reference.columns)), reference, window)
    return Answer(bool(found.to_numpy().any()), details={"alerts": int(found.to_numpy().sum())})


def domain_classifier(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    calculator = nml.DomainClassifierCalculator(feature_column_names=list(reference.columns), chunk_size=len(window))
    table = calculator.fit(reference).calculate(window).filter(period="analysis").to_df()
    area = float(table[("domain_classifier_auroc", "value")].iloc[-1])
    return Answer(bool(table[("domain_classifier_auroc", "alert")].iloc[-1]), details={"auroc": area})


serve({"univariate": univariate, "domain classifier": domain_classifier, "data reconstruction": reconstruction})
