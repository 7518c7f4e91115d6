"""What the ``plot`` methods of results draw with matplotlib, which is imported only to draw."""

from fairpot.display.curves import draw_comparison as draw_comparison
from fairpot.display.curves import draw_curve as draw_curve
from fairpot.display.numbers import draw_audit as draw_audit
from fairpot.display.numbers import draw_effect as draw_effect
from fairpot.display.numbers import draw_intervals as draw_intervals
from fairpot.display.scores import draw_maps as draw_maps
from fairpot.display.scores import draw_scores as draw_scores
