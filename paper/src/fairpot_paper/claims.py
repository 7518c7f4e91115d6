"""The paper's claims in our words, how each is tested, and what the records say."""

from __future__ import annotations

from collections.abc import Iterator

from fairpot_paper import curve_claims as curves
from fairpot_paper.data_sets import DATA_SETS
from fairpot_paper.model_claims import (
    best_classifier,
    boosting_is_best,
    faster,
    partial_models,
    slower,
    stacking_helps,
    trend_over_alpha,
)
from fairpot_paper.verdicts import NEGLIGIBLE, Claim, Judge

_SYNTHETIC = ("synthetic", "draws")
_WITHOUT_DIAL = ("post_logit", "wasserstein")
_SAME = "As claim 1, on the scores of that model"


# The claims in a few words each, for the table of verdicts.
SHORT = {
    "1": "Higher AUC than every baseline at every gap",
    "2": "Higher or comparable AUC at every gap",
    "3": "Higher AUC than xOrder at every gap",
    "4": "Wasserstein: smaller gap, much lower AUC",
    "5": "λ = 0 gives back the model",
    "6": "Some λ improves AUC and gap together",
    "7": "xOrder's curve misses the unadjusted point",
    "8": "xOrder is more sensitive to λ",
    "9": "Gradient boosting: as claim 2",
    "10": "Gradient boosting: as claim 1, as claim 2 for xOrder",
    "11": "Gradient boosting: Post-logit, smaller gap, lower AUC",
    "12": "Gradient boosting: only FairPOT makes the gap smaller",
    "13": "Random forest: as claim 1",
    "14": "Random forest: Post-logit makes the gap larger",
    "15": "Random forest: FairPOT makes the gap smaller",
    "16": "Random forest: the unadjusted gap is about 0.01",
    "17": "Random forest: most baselines make the gap larger",
    "18": "Which group is moved hardly matters",
    "19": "Top of the list: AUC and gap both improve",
    "20": "Top of the list: xOrder's best AUC costs gap",
    "21": "Top of the list: FairPOT's best AUC keeps the gap",
    "22": "FairPOT is faster than xOrder",
    "23": "Post-logit and Wasserstein are faster than FairPOT",
    "24": "The marked classifier has the highest AUC",
    "25": "XGBoost has the highest AUC on average",
    "26": "The marked model for the top is best",
    "27": "Training for the top on XGBoost's scores helps",
    "28": "Top AUC rises with alpha for XGBoost, else falls",
    "29": "The same for xAUC in the top",
}


def make_claims() -> list[Claim]:
    """List the claims in the order of the paper, one for each data set that they are about."""
    parts = (_of_the_whole_ranking, _of_single_points, _of_boosting, _of_forests, _of_the_top, _of_time, _of_models)
    return [claim for part in parts for claim in part()]


def _each(
    data: tuple[str, ...], number: str, where: str, says: str, how: str, judge: Judge, reading: str = ""
) -> Iterator[Claim]:
    for name in data:
        yield Claim(number, where, says, how, name, judge, reading=reading)


_ALL = tuple(DATA_SETS)


def _of_the_whole_ranking() -> Iterator[Claim]:
    how = (
        "Taken is every point of Post-logit, xOrder (eleven lambdas) and Wasserstein that none of the same method "
        "beats in means. It stands against the highest mean AUC of FairPOT's curve, lambda at every hundredth, whose "
        "mean gap is not larger; paired over seeds. Clinical: higher at more than half of these points. The gap at "
        "which AUC is compared has an error of its own, which the interval leaves out. That matters where a baseline's "
        "point lies beside the unadjusted one, as xOrder's do on Synthetic."
    )
    says = "At every gap that a baseline reaches, FairPOT has a higher AUC (autism: at most of them)"
    for data in _ALL:
        yield Claim("1", "Results", says, how, data, curves.higher("xgboost", most=DATA_SETS[data].fixed))
    for data in _ALL:
        judge = curves.higher("xgboost", most=DATA_SETS[data].fixed, fine=False)
        yield Claim("1b", "Results", says, "As claim 1.", data, judge, reading="FairPOT's eleven points alone")
    says = "FairPOT's AUC is higher than or comparable to every baseline's at every gap"
    how = (
        f"As claim 1, FairPOT's gap allowed to be {NEGLIGIBLE:g} larger, and its AUC lower by a tenth of what its "
        "λ changes it on these scores."
    )
    yield from _each(_ALL, "2", "Results, E", says, how, curves.comparable("xgboost"))
    says = "FairPOT has a higher AUC than xOrder at every gap that xOrder reaches"
    yield from _each(_ALL, "3", "Results", says, "As claim 1, xOrder alone.", curves.higher("xgboost", ("xorder",)))
    says = "On the autism data Wasserstein has a smaller gap than FairPOT, at a substantial loss of AUC"
    how = f"Its gap against FairPOT's smallest; its AUC against the unadjusted one less {curves.NOTABLE:g}."
    judge = curves.smaller_gap_at_a_loss("xgboost", "wasserstein")
    yield Claim("4", "Results", says, how, "clinical", judge)


def _of_single_points() -> Iterator[Claim]:
    says = "λ = 0 gives back the model"
    how = "AUC and signed gap at λ = 0 against the original scores, in all runs, whole and partial: equal?"
    yield from _each(_ALL, "5", "Results, E", says, how, curves.recovers("fairpot"))
    judge = curves.recovers("fairpot_boundary")
    yield from _each(_ALL, "5b", "Results, E", says, how, judge, "the paper's boundary value")
    says = "The unadjusted point lies strictly inside FairPOT's frontier"
    how = "One of eleven values of λ with a higher AUC and a smaller gap than the original scores."
    yield from _each(_ALL, "6", "Results", says, how, curves.inside)
    says = "xOrder's curve does not pass through the unadjusted point (the paper: not always)"
    how = (
        f"The place nearest to it on the lines between xOrder's points: further than {curves.SAME_POINT:g} in AUC or "
        "signed gap, beyond error."
    )
    yield from _each(_ALL, "7", "Results", says, how, curves.xorder_misses)
    says = "xOrder is more sensitive to λ than FairPOT"
    how = "The largest change of the signed gap in one of the ten steps of λ; paired over seeds."
    yield from _each(_ALL, "8", "Results", says, how, curves.xorder_jumps)
    how = "The same as a share of all that the ten steps move it, where they move it at all."
    judge = curves.xorder_jumps_in_shares
    yield from _each(_ALL, "8b", "Results", says, how, judge, "in shares of the way")


def _of_boosting() -> Iterator[Claim]:
    boosting = "gradient_boosting"
    says = "With Gradient Boosting, FairPOT's AUC is higher than or comparable to every baseline's at every gap"
    how = f"{_SAME}, with the allowance of claim 2."
    yield from _each(_ALL, "9", "D", says, how, curves.comparable(boosting))
    says = (
        "With Gradient Boosting, FairPOT's AUC is higher than Wasserstein's and Post-logit's at their gaps, and higher "
        "than or comparable to xOrder's (the paper: Synthetic, COMPAS)"
    )
    judge = curves.both(curves.higher(boosting, _WITHOUT_DIAL), curves.comparable(boosting, ("xorder",)))
    yield from _each((*_SYNTHETIC, "compas"), "10", "D", says, "As claims 1 and 9, by baseline.", judge)
    says = "With Gradient Boosting on Bank, Post-logit has a smaller gap than FairPOT, at a notable loss of AUC"
    judge = curves.smaller_gap_at_a_loss(boosting, "post_logit")
    yield Claim("11", "D", says, "As claim 4.", "bank", judge)
    says = "With Gradient Boosting on the autism data, xOrder does not make the gap smaller, and FairPOT can"
    how = f"The gap smaller than the unadjusted by over {NEGLIGIBLE:g}: for no λ of xOrder, for one of FairPOT."
    yield Claim("12", "D", says, how, "clinical", curves.only_fairpot_narrows(boosting))


def _of_forests() -> Iterator[Claim]:
    forest = "random_forest"
    says = "With Random Forest, FairPOT has a higher AUC than every baseline at every gap (the paper: Synthetic, Bank)"
    yield from _each((*_SYNTHETIC, "bank"), "13", "D", says, f"{_SAME}.", curves.higher(forest))
    says = "With Random Forest on Synthetic, Post-logit makes the gap larger"
    judge = curves.widens(forest, "post_logit")
    yield from _each(_SYNTHETIC, "14", "D", says, "Its gap against the unadjusted one.", judge)
    says = "With Random Forest on COMPAS, FairPOT makes the gap smaller and its λ has the wider range"
    how = "Its smallest gap against the unadjusted one; the range of its signed gap over λ against xOrder's."
    yield Claim("15", "D", says, how, "compas", curves.narrows_and_spans(forest))
    says = "With Random Forest on the autism data, the unadjusted gap is about 0.01"
    yield Claim("16", "D", says, "Between 0 and 0.02.", "clinical", curves.near_parity)
    says = "With Random Forest on the autism data, most baselines make the gap larger"
    how = "Two of three: the gap of Post-logit, of Wasserstein, and the smallest of xOrder's, against the unadjusted."
    yield Claim("17", "D", says, how, "clinical", curves.most_widen)
    says = "Which group is moved makes a negligible difference"
    how = (
        "Either way, the highest mean AUC over 101 values of λ with a mean gap of at most 0, 0.01, ..., up to the "
        "unadjusted one. The two are apart by less than a tenth of what FairPOT's λ changes AUC."
    )
    yield from _each(_ALL, "18", "F", says, how, curves.direction)


def _of_the_top() -> Iterator[Claim]:
    how = (
        "The eleven values of λ against XGBoost's original scores. Partial AUC is higher and the gap smaller, beyond "
        f"error, at one of 11 at least on Synthetic, at {curves.NEARLY_ALL} on the others."
    )
    own = how.replace("XGBoost's", "the network's own")
    says = "Partial AUC and gap both improve: for some λ on Synthetic, almost everywhere on the others"
    for region, title, letters in (("pooled", "the top of all rows", " bc"), ("group", "the top of each group", "def")):
        variants = (
            (title, how, False, "xgboost"),
            (f"{title}; the paper's boundary value", how, True, "xgboost"),
            (f"{title}; over the network's original scores", own, False, "unadjusted"),
        )
        for letter, (reading, test, boundary, against) in zip(letters, variants):
            for data in _ALL:
                judge = curves.jointly(region, data not in _SYNTHETIC, boundary, against)
                yield Claim(f"19{letter}".strip(), "Results", says, test, data, judge, reading=reading)
    says = "xOrder reaches a higher partial AUC, at a gap larger than the unadjusted one (the paper: sometimes)"
    how = "xOrder's highest partial AUC: above FairPOT's highest, and with a larger gap than XGBoost's scores have."
    yield from _each(_ALL, "20", "Results", says, how, curves.xorder_at_a_price)
    says = "FairPOT's highest partial AUC comes with a gap that is not larger than the unadjusted one"
    how = f"Its gap there less that of XGBoost's scores: below {NEGLIGIBLE:g}, beyond error."
    yield from _each(_ALL, "21", "Results", says, how, curves.fairpot_keeps_the_gap)


def _of_time() -> Iterator[Claim]:
    how = (
        "CPU seconds of a fit and eleven sets of scores, called as a user would: every run of the one below every run "
        "of the other."
    )
    faster_than, slower_than = "FairPOT is faster than xOrder", "Post-logit and Wasserstein are faster than FairPOT"
    claims = (
        ("22", faster_than, "", faster("fairpot")),
        ("22b", faster_than, "by a cost matrix and `ot.emd`, converged", faster("emd_converged")),
        ("22c", faster_than, "by a cost matrix and `ot.emd` with its defaults", faster("emd_default")),
        ("23", slower_than, "", slower("fairpot")),
        ("23b", slower_than, "Wasserstein alone", slower("fairpot", "wasserstein")),
        ("23c", slower_than, "by a cost matrix, converged", slower("emd_converged")),
    )
    for number, says, reading, judge in claims:
        for data in _ALL:
            if data != "draws":
                yield Claim(number, "Results", says, how, data, judge, once=True, reading=reading)


def _of_models() -> Iterator[Claim]:
    for data in _ALL:
        how = "Paired difference to each of the other eight (half ties)."
        says = "The classifier that the paper marks has the highest AUC"
        yield Claim("24", "C", says, how, data, best_classifier, once=True)
    how = (
        "Mean of the four datasets' paired differences to each of the other eight; Synthetic is the one draw, the "
        "clinical data are simulated."
    )
    yield Claim("25", "C", "XGBoost has the highest AUC on average", how, "", boosting_is_best, once=True)
    how = "Partial AUC in the top of all rows, paired with each of the other two."
    yield from _each(_ALL, "26", "C", "Of (a), (b) and (c) the one that the paper marks is best", how, partial_models)
    says = "(c), trained for partial AUC with XGBoost's scores, has a higher one than (a), XGBoost"
    yield from _each(_ALL, "27", "Protocols, C", says, "Partial AUC in the top of all rows, paired.", stacking_helps)
    how = "Between alpha = 0.1 and 1, {}, over resamples."
    numbers = (("28", "auc", "pAUC"), ("29", "xauc", "pxAUC, the mean of both directions,"))
    for number, figure, title in numbers:
        says = f"XGBoost's {title} rises with alpha; after training for partial AUC it falls"
        test = how.format("the model trained anew for each alpha")
        yield Claim(number, "D", says, test, "clinical", trend_over_alpha(figure, "retrained"))
        test = how.format("the model trained for alpha = 0.1")
        yield Claim(f"{number}b", "D", says, test, "clinical", trend_over_alpha(figure, "one"), reading="trained once")
