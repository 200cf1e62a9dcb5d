"""The paper's experiments and the methods it compares with; not part of the installed package."""
