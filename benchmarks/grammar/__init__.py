"""Tables drawn at random from a grammar: marginals x dependence x missing cells x sizes x widths x types.

A null case (`nulls`) draws a reference and a window from one law; a drift (`drifts`) changes the law of the window.
Every case is a frozen record that one integer determines. `python -m benchmarks.grammar SEED` shows a null case.
"""
