"""Every method that is measured: which library and adapter it belongs to, and what must be known to read its row."""

from dataclasses import dataclass

__all__ = ["METHODS", "OURS", "Method", "method_named"]

OURS = "gapdrift"


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Parameters
    ----------
    peer : str
        Environment and adapter.
    name : str
        As its adapter knows it.
    multivariate : bool
        Whether it sees more than one column at a time, so that it can find a change of dependence.
    rule : str
        How its verdict comes about: level 0.05, or the library's own threshold.
    filled : bool
        Whether gaps are filled with the reference's means before, because the method refuses or misreads them.
    """

    peer: str
    name: str
    multivariate: bool
    rule: str
    filled: bool = False

    @property
    def title(self) -> str:
        """Name of the row."""
        return f"{self.peer}: {self.name}" + (", gaps filled with means" if self.filled else "")


def _with_filled(*methods: Method) -> list[Method]:
    """The methods as they are, each followed by itself on tables whose gaps are filled."""
    return [
        row
        for method in methods
        for row in (method, Method(method.peer, method.name, method.multivariate, method.rule, filled=True))
    ]


def _with_left_out(*methods: Method) -> list[Method]:
    """Methods of single columns, each followed by itself on what is present of each column."""
    return [
        row
        for method in methods
        for row in (method, Method(method.peer, f"{method.name}, gaps left out", method.multivariate, "as above"))
    ]


METHODS: tuple[Method, ...] = (
    Method(OURS, "DriftDetector", True, "level 0.05"),
    Method("evidently", "DataDriftPreset", False, "its default: half of the columns drift, each by its default test"),
    Method(
        "evidently", "DataDriftPreset, any column", False, "its default tests of columns; an alarm where any drifts"
    ),
    Method(
        "nannyml",
        "univariate",
        False,
        "its default methods, thresholds and ten chunks; an alarm where any column alerts in any",
    ),
    Method("nannyml", "univariate, half of the chunks", False, "the same; a column alerts in half of them"),
    Method(
        "nannyml",
        "domain classifier",
        True,
        "its default thresholds: AUROC outside 0.45 to 0.65; the chunk is the window",
    ),
    Method(
        "nannyml",
        "data reconstruction",
        True,
        "its default threshold and ten chunks; fills gaps with means itself",
    ),
    Method("nannyml", "data reconstruction, half of the chunks", True, "the same; an alarm where half of them alert"),
    *_with_filled(
        Method("alibi-detect", "KSDrift", False, "level 0.05, Bonferroni"),
        Method("alibi-detect", "MMDDrift", True, "level 0.05, 100 permutations, the default"),
    ),
    Method(
        "alibi-detect",
        "ClassifierDrift",
        True,
        "level 0.05; HistGradientBoostingClassifier, 5 folds, KS test of its probabilities",
    ),
    *_with_left_out(Method("frouros", "KSTest", False, "level 0.05, Bonferroni by us")),
    *_with_filled(Method("frouros", "MMD", True, "level 0.05, 100 permutations")),
    *_with_left_out(
        Method(
            "river",
            "ADWIN",
            False,
            "its default delta of 0.002; one a column, an alarm where any detects inside the window",
        ),
        Method("river", "KSWIN", False, "its default level of 0.005 a row; one a column, as above"),
    ),
    *_with_filled(
        Method(
            "menelaus",
            "HDDDM",
            False,
            "level 0.05, from the first batch on; a mean over columns, so blind to dependence",
        ),
        Method("menelaus", "KdqTreeBatch", True, "level 0.05, 500 bootstrap samples, the default"),
    ),
    Method(
        "deepchecks",
        "FeatureDrift",
        False,
        "its default condition: a drift score of at least 0.2 (numbers and categories)",
    ),
    Method("deepchecks", "MultivariateDrift", True, "its default condition: an overall drift value of at least 0.25"),
    *_with_filled(
        Method("hyppo", "MMD", True, "level 0.05, its fast chi-squared approximation"),
        Method("hyppo", "KSample Dcorr", True, "level 0.05, its fast chi-squared approximation"),
    ),
)


def method_named(title: str) -> Method:
    """The method of a row."""
    return next(method for method in METHODS if method.title == title)
