"""What all post-processors share: applying one fitted map a group to rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fairpot._validation import check_groups, check_scores, match_groups, restore
from fairpot.modelfile import ModelFile, write
from fairpot.postprocessing._saving import describe, stamped, with_columns
from fairpot.transport import ScoreMap


class ScoreMapper(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A post-processor: ``fit`` sets ``groups_`` and ``maps_``, the rest is here."""

    groups_: tuple[Hashable, ...]
    maps_: dict[Hashable, ScoreMap]

    # To scikit-learn's routing the first argument is data, whatever its name.
    __metadata_request__fit: ClassVar = {"scores": UNUSED}
    __metadata_request__transform: ClassVar = {"scores": UNUSED}

    def fit(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Learn the map of every group."""
        raise NotImplementedError

    def transform(self, scores: Any, *, sensitive_features: Any) -> Any:
        """Apply the fitted maps.

        Parameters
        ----------
        scores : column of shape (n,) or (n, 1)
        sensitive_features : as in ``fit``

        Returns
        -------
        The adjusted scores, float64, in the order and the type of ``scores``: a pandas or Polars series comes
        back as one with the same name and index, a list as an array.
        """
        check_is_fitted(self, "maps_")
        clean = check_scores(scores)
        codes, names = check_groups(sensitive_features, len(clean), several=False)
        codes = match_groups(codes, names, self.groups_)
        maps = self._maps_for(clean, codes)
        result = clean.copy()
        for place, group in enumerate(self.groups_):
            rows = np.flatnonzero(codes == place)
            if len(rows) and not maps[group].is_identity:
                result[rows] = maps[group](clean.take(rows))
        return restore(result, scores)

    def fit_transform(self, scores: Any, y: Any = None, *, sensitive_features: Any, sample_weight: Any = None) -> Any:
        """Fit, then transform the same rows."""
        self.fit(scores, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return self.transform(scores, sensitive_features=sensitive_features)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the one output column, for ``set_output``."""
        check_is_fitted(self, "maps_")
        names = ["score"] if input_features is None else list(input_features)
        return np.asarray(names, dtype=object)

    def save(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        timestamp: bool = False,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the fitted maps to a JSON file, for :func:`fairpot.load`; equal fits give equal bytes.

        Parameters
        ----------
        path : str or path
        overwrite : bool, default False
            Whether a file that is there already is replaced.
        timestamp : bool, default False
            Whether the time of saving is put down.
        columns : dict or None, default None
            ``{"score": name, "group": [names]}``: what `fairpot apply` looks for in a file.
        """
        check_is_fitted(self, "maps_")
        content = self._file_content()
        if columns is not None:
            content = with_columns(content, columns)
        write(stamped(content) if timestamp else content, path, overwrite=overwrite)

    def _file_content(self) -> ModelFile:
        """Return what a model file holds of this model."""
        return describe(self)

    def _maps_for(self, scores: NDArray[np.float64], codes: NDArray[np.intp]) -> Mapping[Hashable, ScoreMap]:
        """Return the maps to use on a batch, for the groups that are in it."""
        return self.maps_
