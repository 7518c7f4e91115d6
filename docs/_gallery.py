"""How the pictures of the gallery look: the colours of the report and of all pictures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

from fairpot.display.axes import COLOURS


def dress(gallery_conf: dict[str, Any], fname: str) -> None:
    """Set the look before each example; sphinx-gallery has just set Matplotlib back to its own."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.dpi": 120,
            "font.size": 11,
            "legend.frameon": False,
        }
    )
