"""Records put side by side and tabulated, with the figures that the paper prints."""
