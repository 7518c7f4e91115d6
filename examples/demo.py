"""The main job from end to end on generated data: audit, repair by rule, check on new rows, apply, report.

    make demo        # or: python examples/demo.py [folder for the files]

It needs nothing but fairpot's own dependencies.
"""

import csv
import sys
import textwrap
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from fairpot import FairPOT, audit, effect
from fairpot.datasets import make_synthetic
from fairpot.report import FairnessReport

SEED = 0


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


def say(text):
    """Print a result as fairpot words it, a little to the right."""
    for line in str(text).splitlines():
        print(textwrap.fill(line, 92, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))


def picture(curve, chosen, width=64, height=14):
    """Draw the curve with characters: gap to the right, AUC upwards."""
    canvas = [[" "] * width for _ in range(height)]
    low, high = curve.auc.min(), curve.auc.max()
    right = curve.gap.max() or 1.0

    def put(gap, value, mark):
        x = round(gap / right * (width - 1))
        y = round((value - low) / ((high - low) or 1.0) * (height - 1))
        canvas[height - 1 - y][x] = mark

    for gap, value, best in zip(curve.gap, curve.auc, curve.pareto):
        put(gap, value, "o" if best else ".")
    put(curve.gap[0], curve.auc[0], "0")
    put(chosen.gap, chosen.auc, "X")
    print(f"  AUC {high:.3f}")
    for row in canvas:
        print("  |" + "".join(row))
    print("  +" + "-" * width)
    print(f"  AUC {low:.3f}, gap from 0 to {right:.3f}")
    print("  0 original   . other strengths   o no other has a higher AUC and a smaller gap   X chosen")


def write_csv(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    data = make_synthetic(6000, random_state=SEED, as_frame=False)
    X, y, group = data.data, data.target, data.group
    fit_rows = np.random.default_rng(SEED).random(len(y)) < 0.5
    new_rows = ~fit_rows

    heading("1. A model is in use")
    print(f"  {len(y):,} generated rows of the groups a and b. Half are past cases, half are new.")
    print("  The model is a boosted classifier; its scores of past cases are out of fold.")
    model = HistGradientBoostingClassifier(random_state=SEED).fit(X[fit_rows], y[fit_rows])
    scores = np.empty(len(y))
    scores[new_rows] = model.predict_proba(X[new_rows])[:, 1]
    scores[fit_rows] = cross_val_predict(model, X[fit_rows], y[fit_rows], cv=5, method="predict_proba")[:, 1]

    heading("2. Audit the past cases")
    say(audit(y[fit_rows], scores[fit_rows], sensitive_features=group[fit_rows]))

    heading("3. Repair: the highest AUC with a gap of at most 0.02")
    fp = FairPOT(max_gap=0.02)
    fp.fit(scores[fit_rows], y[fit_rows], sensitive_features=group[fit_rows])
    curve = fp.tradeoff()
    chosen = curve.at(fp.lam_)
    moved = next(iter(fp.strengths_))
    print(f"  Scores of {fp.reference_} do not change. The top {fp.lam_:.1%} of {moved} is moved.")
    print(f"  On the past cases the gap goes from {curve.gap[0]:.3f} to {chosen.gap:.3f}.")

    heading(f"4. The trade-off: AUC and gap at all {len(curve):,} repair strengths")
    picture(curve, chosen)

    heading("5. Check it on new rows")
    adjusted = fp.transform(scores[new_rows], sensitive_features=group[new_rows])
    say(effect(fp, scores[new_rows], y[new_rows], sensitive_features=group[new_rows]))

    names = ("lam", "auc", "gap", "signed_gap", "xauc_ab", "xauc_ba", "pareto")
    write_csv(folder / "tradeoff.csv", {name: getattr(curve, name).tolist() for name in names})
    columns = {"group": group[new_rows], "outcome": y[new_rows], "score": scores[new_rows], "adjusted": adjusted}
    write_csv(folder / "adjusted.csv", {name: values.tolist() for name, values in columns.items()})
    fp.save(folder / "map.json", overwrite=True)
    about = {"sensitive_features": group[new_rows], "method": fp, "title": "The demo's report"}
    report = FairnessReport.from_predictions(y[new_rows], scores[new_rows], **about)
    page = report.save(folder / "report.html", overwrite=True)

    heading("Written")
    print(f"  {folder / 'tradeoff.csv'}   AUC and gap at every repair strength")
    print(f"  {folder / 'adjusted.csv'}   the new rows with their original and adjusted scores")
    print(f"  {folder / 'map.json'}       the fitted maps: fairpot.load() reads them back")
    print(f"  {page}    what to show a committee: open it in a browser")
    print("\nNext: use your own columns. In Python:")
    print("  from fairpot import FairPOT")
    print("  fp = FairPOT(max_gap=0.02).fit(scores, outcomes, sensitive_features=groups)")
    print("  adjusted = fp.transform(new_scores, sensitive_features=new_groups)")
    print("The README says more; help(fairpot.FairPOT) says it all.")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
