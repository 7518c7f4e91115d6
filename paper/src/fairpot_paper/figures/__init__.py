"""The paper's figures, from tidy columns."""
