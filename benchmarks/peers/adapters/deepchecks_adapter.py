"""deepchecks: drift of features and the domain classifier, each with the default thresholds of its own condition."""

from typing import Any

import pandas as pd
from deepchecks.tabular import Dataset
from deepchecks.tabular.checks import FeatureDrift, MultivariateDrift
from protocol import Answer, serve


def failed(check: Any, reference: pd.DataFrame, window: pd.DataFrame) -> Any:
    """Result of a check without its pictures."""
    levels = [name for name, column in reference.items() if not pd.api.types.is_numeric_dtype(column)]
    before, after = (Dataset(table, label=None, cat_features=levels) for table in (reference, window))
    return check.run(before, after, with_display=False)


def feature_drift(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    check = FeatureDrift(random_state=seed)
    check.add_condition_drift_score_less_than()
    return Answer(not failed(check, reference, window).passed_conditions())


def multivariate(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    check = MultivariateDrift(random_state=seed)
    check.add_condition_overall_drift_value_less_than()
    result = failed(check, reference, window)
    return Answer(not result.passed_conditions(), details={"auc": result.value["domain_classifier_auc"]})


serve({"FeatureDrift": feature_drift, "MultivariateDrift": multivariate})
