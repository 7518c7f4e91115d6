"""The paper's tables and figures, from data to page."""
