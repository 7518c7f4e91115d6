"""The figures that the paper prints, to stand beside ours. Its clinical data are private: ours are simulated."""

# Table "AUC for different classifiers": mean and standard deviation over 20 runs.
CLASSIFIERS: dict[str, dict[str, tuple[float, float]]] = {
    "synthetic": {
        "logistic_regression": (0.7254, 0.0202),
        "random_forest": (0.7583, 0.0132),
        "gradient_boosting": (0.7670, 0.0143),
        "svm": (0.7363, 0.0136),
        "naive_bayes": (0.7550, 0.0173),
        "decision_tree": (0.5960, 0.0191),
        "knn": (0.7129, 0.0108),
        "extra_trees": (0.7577, 0.0131),
        "xgboost": (0.7311, 0.0139),
    },
    "bank": {
        "logistic_regression": (0.9059, 0.0036),
        "random_forest": (0.9281, 0.0025),
        "gradient_boosting": (0.9248, 0.0027),
        "svm": (0.9091, 0.0038),
        "naive_bayes": (0.8083, 0.0062),
        "decision_tree": (0.7019, 0.0079),
        "knn": (0.8116, 0.0063),
        "extra_trees": (0.9142, 0.0027),
        "xgboost": (0.9312, 0.0024),
    },
    "compas": {
        "logistic_regression": (0.7207, 0.0134),
        "random_forest": (0.6587, 0.0117),
        "gradient_boosting": (0.7259, 0.0118),
        "svm": (0.7223, 0.0134),
        "naive_bayes": (0.6950, 0.0131),
        "decision_tree": (0.6084, 0.0130),
        "knn": (0.6608, 0.0125),
        "extra_trees": (0.6423, 0.0112),
        "xgboost": (0.7044, 0.0105),
    },
    "clinical": {
        "logistic_regression": (0.7161, 0.0179),
        "random_forest": (0.6346, 0.0189),
        "gradient_boosting": (0.6714, 0.0155),
        "svm": (0.6648, 0.0164),
        "naive_bayes": (0.4805, 0.0084),
        "decision_tree": (0.5253, 0.0102),
        "knn": (0.5393, 0.0152),
        "extra_trees": (0.7113, 0.0270),
        "xgboost": (0.7731, 0.0143),
    },
}
# Table "pAUC evaluated from different method": (a) XGBoost, (b) network on the features, (c) network on features and
# XGBoost's scores.
PAUC: dict[str, dict[str, float]] = {
    "synthetic": {"xgboost": 0.6642, "network": 0.6798, "stacked_in": 0.6740},
    "bank": {"xgboost": 0.7546, "network": 0.7544, "stacked_in": 0.7584},
    "compas": {"xgboost": 0.6171, "network": 0.6153, "stacked_in": 0.6383},
    "clinical": {"xgboost": 0.633, "network": 0.573, "stacked_in": 0.749},
}
# Table "Runtime (in seconds)", on an Apple M4 Pro (the clinical row: Intel Xeon E5-2699 v4).
RUNTIME: dict[str, dict[str, float]] = {
    "synthetic": {"post_logit": 0.195, "wasserstein": 0.011, "xorder": 3.687, "fairpot": 0.431},
    "bank": {"post_logit": 0.445, "wasserstein": 0.075, "xorder": 276.700, "fairpot": 53.691},
    "compas": {"post_logit": 0.230, "wasserstein": 0.023, "xorder": 20.314, "fairpot": 2.042},
    "clinical": {"post_logit": 1.242, "wasserstein": 0.264, "xorder": 2125.681, "fairpot": 360.578},
}


def paper_name(data: str) -> str:
    """Return the paper's data set that one of ours stands for."""
    return "synthetic" if data == "draws" else data
