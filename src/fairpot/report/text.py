"""Every English sentence of a report, in one place: translate this file and the report speaks another language.

Names in braces are filled in by :mod:`fairpot.report.words`; what a name holds is said there. Sentences are whole, so
that word order is the translator's.
"""

LANGUAGE = "en"

TEXT: dict[str, str] = {
    # Head
    "title": "Fairness report",
    "subtitle": "{rows} people, {groups} groups, {positives} ({rate}) with {outcome}",
    "source": "Source: {source}",
    "skip": "Skip to the answer",
    "outcome": "the outcome",
    # The answer
    "answer": "The answer",
    "behind": "“{behind}” is ranked behind “{ahead}”: a person of “{behind}” with {outcome} is ranked above a "
    "person of “{ahead}” without it in {xauc_behind} of pairs; the other way round it is {xauc_ahead}.",
    "even": "“{behind}” and “{ahead}” are ranked almost alike: a person of “{behind}” with {outcome} is ranked "
    "above a person of “{ahead}” without it in {xauc_behind} of pairs; the other way round it is {xauc_ahead}.",
    "unknown": "Who is ranked behind cannot be told: a group has nobody with, or nobody without, {outcome}.",
    "unsure": "With this many people the difference could be chance.",
    "of_many": "This is the widest of {pairs} pairs of groups.",
    "small_apart": "Groups with fewer than 30 people with the outcome, or 30 without it, are not among them and are "
    "listed apart: {groups}.",
    "repaired": "{method} narrows this gap from {gap_before} to {gap_after} percentage points; AUC, the quality of "
    "the ranking as a whole, goes from {auc_before} to {auc_after}, and {moved} of {rows} people ({moved_share}) "
    "get another score.",
    "widened": "{method} does not narrow this gap, which goes from {gap_before} to {gap_after} percentage points; "
    "AUC, the quality of the ranking as a whole, goes from {auc_before} to {auc_after}, and {moved} of {rows} "
    "people ({moved_share}) get another score.",
    "repaired_many": "{method} narrows the widest gap of any two groups from {gap_before} to {gap_after} percentage "
    "points; AUC, the quality of the ranking as a whole, goes from {auc_before} to {auc_after}, and {moved} of {rows} "
    "people ({moved_share}) get another score.",
    "widened_many": "{method} does not narrow the widest gap of any two groups, which goes from {gap_before} to "
    "{gap_after} percentage points; AUC, the quality of the ranking as a whole, goes from {auc_before} to {auc_after}, "
    "and {moved} of {rows} people ({moved_share}) get another score.",
    "repaired_top": "In the top {alpha} of the ranking, which it repairs, the gap goes from {gap_before} to "
    "{gap_after} percentage points and AUC from {auc_before} to {auc_after}.",
    "same_people": "Nobody joins the top, and nobody leaves it unless scores tie at its edge: what changes is the "
    "order.",
    "overshoots": "It goes past even: now “{ahead}” is the one behind.",
    "changed": "Signed, seen from “{ahead}” over “{behind}”, the gap goes from {before} to {after} points: a change of "
    "{change} ({level} interval {low} to {high}).",
    "changed_unsure": "Signed, seen from “{ahead}” over “{behind}”, the gap goes from {before} to {after} points: a "
    "change of {change}. There are too few people for an interval.",
    "gap_overall": "the overall gap",
    "gap_top": "the gap in the top {alpha}",
    "certificate_compatible": "These rows are compatible with the certificate: after the repair {where} is within "
    "{bound} points with {confidence} confidence (measured {gap}, two-sided interval {low} to {high}).",
    "certificate_contradicted": "These rows contradict the certificate: after the repair {where} exceeds {bound} "
    "points with {confidence} confidence (measured {gap}, two-sided interval {low} to {high}).",
    "certificate_cannot_tell": "These rows cannot tell whether the certificate holds: after the repair {where} is "
    "{gap} points (two-sided {confidence} interval {low} to {high}), and the certificate says {bound} at most.",
    "certificate_no_interval": "These rows cannot tell whether the certificate holds: there are too few people to say "
    "whether {where} is within {bound} points.",
    "certified": "Certified then: {where} is at most {bound} percentage points with {confidence} confidence, on rows "
    "like those it was tested on ({rows}).",
    "certified_limit": "One-sided upper limit then: {limit} points.",
    "certified_same_rows": "These are the rows that the repair was fitted on, which cannot test it.",
    "not_repaired": "The quality of the ranking as a whole (AUC) is {auc_before}. No repair was asked for.",
    # Key numbers
    "card_gap": "Gap between the two groups",
    "card_gap_many": "Widest gap of any two groups",
    "card_auc": "Quality of the ranking (AUC)",
    "card_behind": "{behind} ranked above {ahead}",
    "card_ahead": "{ahead} ranked above {behind}",
    "card_moved": "People with another score",
    "points": "{value} points",
    "was": "was {value}",
    "interval": "95 % interval {low} to {high}",
    "no_interval": "too few people for an interval",
    "now": "now",
    "before": "before",
    "after": "after",
    "people_of": "{share} of {rows}",
    # The dial
    "explore": "Turn the dial",
    "explore_fixed": "Before and after",
    "explore_audit": "How the scores are spread",
    "explore_lead": "How far should the repair go? Move the slider: the point on the curve, the pictures and all "
    "numbers below follow. The report's own setting is marked ★.",
    "explore_fixed_lead": "This repair comes as it is, without a dial. Switch it off and on: pictures and numbers "
    "follow.",
    "dial_label": "How far the repair goes",
    "to_before": "As they came",
    "to_chosen": "★ Reported",
    "to_best": "Smallest gap",
    "off": "scores as they came",
    "on": "repaired",
    "dial_FairPOT": "lambda = {value}: the top {share} of {moved} moved",
    "dial_WassersteinRepair": "t = {value}: every group {share} of the way to a common distribution",
    "dial_OptimalMerge": "theta = {value}: the odds of {moved} multiplied by this",
    "dial_PostLogit": "slope = {value}: that of the sigmoid for {moved}",
    "dial_LogitShift": "shift = {value}: added to the log-odds of {moved}, or to scores that are not probabilities",
    "dial_XOrder": "lambda = {value}: weight of the gap in the search",
    "dial_other": "{dial} = {value}",
    "live": "Gap {gap} points, AUC {auc}, {moved} people with another score.",
    "live_top": "Gap {gap} points ({gap_top} in the top), AUC {auc} ({auc_top} in the top), {moved} people with "
    "another score.",
    # Figures
    "fig_tradeoff": "What fairness costs",
    "fig_tradeoff_note": "Each point is a setting of the dial: to the right the gap, upwards the quality of the "
    "ranking. Hollow circles: nothing beats it in both. Square: as they came. Star: reported. Disc: where the "
    "slider is.",
    "fig_limit_note": "Dashed: what a repair that keeps the order inside each group can be expected to reach. Faint: "
    "what it could reach on these rows knowing their outcomes, {chance} more at most; nothing that keeps the order is "
    "above that. A curve that was fitted to these rows may lie between the two.",
    "fig_limit_note_only": "Dashed: no repair that keeps the order inside each group can be above it on these rows. It "
    "knows their outcomes; a repair fixed beforehand reaches less. How much less is not known: {reason}.",
    "fig_bracket_note": "Dashed: no repair that keeps the order inside each group can be above it on these rows. "
    "Faint: what one that knows their outcomes has. The best possible lies between the two; a repair fixed beforehand "
    "reaches less.",
    "fig_tradeoff_alt": "Curve of AUC against the gap. As they came: gap {gap_before} points, AUC {auc_before}. "
    "Reported: gap {gap_after} points, AUC {auc_after}.",
    "fig_top_note": "Both are those of the top {alpha} of the ranking.",
    "fig_band_note": "Shaded: where the gap may truly lie, at each setting (95 %).",
    "fig_many_note": "With more than two groups the gap is the widest of any pair.",
    "fig_few_note": "Fewer than {least} people of a group are not drawn: a bar would be a person.",
    "fig_positive": "Scores of people with {outcome}",
    "fig_negative": "Scores of people without {outcome}",
    "fig_distribution_note": "Shaded: as they came. Line: at this setting.",
    "fig_distribution_alt": "Histogram of scores by group. {means}",
    "fig_mean": "{group}: mean score {before}, now {after}.",
    "fig_mean_only": "{group}: mean score {before}.",
    "fig_map": "What a score becomes",
    "fig_map_note": "Thin diagonal: unchanged. The hills at the bottom show where people are.",
    "fig_map_alt": "Score after the repair against score before, for each group that is moved.",
    "fig_roc": "Who is ranked above whom",
    "fig_roc_note": "For every threshold: how many with the outcome are above it in one group, against how many "
    "without it in the other. Alike where both lines lie on each other. Faint: as they came.",
    "fig_roc_alt": "Two cross-group ROC curves. Area {behind} over {ahead}: {xauc_behind}; {ahead} over {behind}: "
    "{xauc_ahead}.",
    "fig_calibration": "Does a score mean the same for each group?",
    "fig_calibration_note": "On the diagonal the score is the share that has the outcome. Below it, scores are too "
    "high. Faint: as they came.",
    "fig_calibration_alt": "Share with the outcome against mean score, in ten parts of each group.",
    "axis_gap": "gap, percentage points (above 0: {ahead} ahead)",
    "axis_gap_plain": "gap, percentage points",
    "axis_auc": "AUC",
    "axis_top": "{name} (top {alpha})",
    "axis_score": "score",
    "axis_before": "score before",
    "axis_after": "score after",
    "axis_share": "share of people",
    "axis_false": "without outcome, above",
    "axis_true": "with outcome, above",
    "axis_mean": "mean score",
    "axis_rate": "share with outcome",
    "over": "{first} over {second}",
    "drawn": "The pictures show {drawn} of {groups} groups: those with the widest gaps.",
    # Who moves
    "who": "Who moves",
    "who_audit": "Who is above a threshold",
    "who_lead": "Choose where people are acted on: from a score up, or the top share of the ranking. Counted are "
    "people who come to be above that line, and who no longer are.",
    "who_audit_lead": "Choose where people are acted on: from a score up, or the top share of the ranking.",
    "by_threshold": "from a score up",
    "by_top": "the top share",
    "choose_kind": "People are acted on",
    "choose_value": "Where the line is",
    "choice_threshold": "score {value} and above",
    "choice_top": "top {value} of the ranking",
    "who_caption": "People above the line",
    "col_group": "Group",
    "col_outcome": "Outcome",
    "col_people": "People",
    "col_above_before": "Above before",
    "col_above_now": "Above now",
    "col_enter": "Newly above",
    "col_leave": "No longer above",
    "with": "with",
    "without": "without",
    "moves_caption": "Scores that change",
    "col_moved": "Changed",
    "col_up": "Up",
    "col_down": "Down",
    "col_mean_shift": "Mean change",
    "col_mean_shift_moved": "Mean change of the changed",
    "col_mean_shift_all": "Mean change of all",
    "col_largest": "Largest change",
    "bands_caption": "How far scores move, by bands of people",
    "bands_note": "No band has fewer than {least} people.",
    "col_band": "Score before",
    "band": "{low} to {high}",
    "changes_caption": "The largest changes at the reported setting",
    "col_id": "Id",
    "col_score_before": "Score before",
    "col_score_after": "Score after",
    # What it costs
    "cost": "What it costs",
    "cost_audit": "The numbers",
    "cost_caption": "Before and at this setting",
    "col_number": "Number",
    "col_before": "Before",
    "col_now": "Now",
    "row_auc": "AUC of all people",
    "row_auc_top": "AUC in the top {alpha}",
    "row_gap_top": "Gap in the top {alpha}, of the widest pair",
    "row_gap": "xAUC gap ({ahead} minus {behind})",
    "row_largest_gap": "Largest xAUC gap of any pair",
    "row_xauc": "xAUC, {first} over {second}",
    "row_inside": "AUC inside {group}",
    "row_large": "Mean score minus rate, {group}",
    "row_ece": "Calibration error, {group}",
    "row_rank": "Mean change in rank, {group} {label} outcome",
    "all": "all",
    "rank_note": "Ranks in hundredths of the whole ranking: -2.0 means that people of that kind stand two "
    "hundredths lower on average. Also those whose own score stays move, where others pass them.",
    "pairs_caption": "Every pair of groups",
    "col_limits": "95 % interval",
    "limits": "{low} to {high}",
    "pairs_note": "Each interval is of one pair by itself; it is known before the repair and at the reported setting.",
    "pairs_left_out": "{left} more pairs have smaller gaps.",
    "groups_left_out": "{left} more groups are in the JSON form of this report.",
    "col_first": "Group",
    "col_second": "Other group",
    "col_over": "Group over other",
    "col_under": "Other over group",
    "col_gap": "Gap",
    "overshoot_yes": "The repair goes past even at this setting: {ahead} is now behind.",
    # Warnings
    "warnings": "Read with care",
    "warn_empty_cell": "“{group}” has nobody {label} outcome: what rests on them cannot be measured.",
    "warn_small_cell": "“{group}” has only {rows} people {label} outcome: what rests on them is too uncertain to "
    "act on.",
    "warn_same_rows": "These are the very rows that the repair was fitted on: on new people expect a larger gap. "
    "Report on held-out rows to know.",
    "warn_calibration": "Calibration of “{group}” gets worse, from an error of {before} to {after}: its new scores are "
    "no longer probabilities of the outcome.",
    "warn_reference": "“{reference}”, the group that stays as it is, is small ({rows} people) beside “{group}” "
    "({others}): many are moved to where few stand.",
    "warn_reversed": "AUC is below one half: higher scores go with fewer outcomes. Are they upside down?",
    "warn_left_out": "“{group}” ({rows} people) was left out of the repair and is not in these numbers.",
    "warn_no_probabilities": "Scores run from {low} to {high} and are no probabilities: calibration is not shown.",
    "warn_ties": "Ties matter: the {name} is {strict} if a tie is no win, {half} if it is half of one.",
    "warn_coarse": "There are very many different scores: people are counted with scores put into {bins} bins. AUC "
    "and gaps are not affected where the curve is exact.",
    "warn_note": "{text}",
    # How to read
    "read": "How to read this",
    "not": "What it does not show",
    # Origin
    "origin": "Where this comes from",
    "origin_method": "Method",
    "origin_no_method": "none, audit only",
    "origin_reference": "Group that stays as it is",
    "origin_parameters": "Parameters",
    "origin_columns": "Columns",
    "origin_weights": "Weights",
    "origin_ties": "Ties",
    "ties_half": "equal scores count as half a win",
    "ties_strict": "equal scores count as no win",
    "origin_curve": "Curve",
    "curve_exact": "exact, {points} points; the slider stops at {stops} of them",
    "curve_grid": "{points} points; the slider stops at {stops} of them",
    "origin_version": "fairpot version",
    "origin_created": "Made on",
    "origin_command": "To make it again",
    "privacy": "Privacy",
    "privacy_counts": "This file holds counts, no person's row. A count of very few people can still tell about "
    "them: look before you publish it. It makes no connection to anywhere.",
    "privacy_ids": "This file names the people with the largest changes, because an id column was asked for. "
    "Handle it as you handle that column. It makes no connection to anywhere.",
    "no_script": "This page moves with JavaScript, which is off: it shows the reported setting.",
    "figure_table": "The curve as a table",
}

HOW_TO_READ = (
    "A pair is one person with the outcome and one without. A good score ranks the first above the second. AUC "
    "is the share of all pairs in which it does; 50 % is chance.",
    "xAUC takes the two from different groups. If it is lower one way than the other, people of one group are "
    "outranked by people of the other who had less reason to be: that difference is the gap, and 0 is even.",
    "A percentage point of gap is one pair in a hundred.",
    "The repair changes scores of one or more groups only by their score and their group. It needs no new model.",
)

NOT_SHOWN = (
    "Causes: a gap does not say why it is there, nor that the outcome was recorded alike in all groups.",
    "Groups not looked at, and intersections of those that were.",
    "Thresholds chosen elsewhere, and what is done above them.",
    "The future: the numbers are those of these rows. Check again on new ones.",
)
