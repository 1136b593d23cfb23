"""Scaling laws fitted to curves of bandwidth by threads."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.predict.shared_channels import Scaling
from nearfar_studies.nvdimm_device import fit_scaling


@pytest.mark.parametrize("law", [Scaling(13.0, 68.0, 2.5), Scaling(2.9, 6.5, 7.0)])
def test_a_law_is_recovered_from_its_own_curve(law: Scaling) -> None:
    threads = np.arange(1.0, 33.0)
    # One thread's point lies on the law, slightly below its rate.
    curve = np.asarray(law.at(threads))
    fitted = fit_scaling(threads, curve)
    assert np.allclose(fitted.at(threads), curve, rtol=0.01)
    assert fitted.capacity == pytest.approx(law.capacity, rel=0.02)


def test_a_single_outlier_does_not_dominate_the_fit() -> None:
    law, threads = Scaling(10.0, 80.0, 3.0), np.arange(1.0, 17.0)
    curve = np.asarray(law.at(threads))
    curve[10] *= 0.7
    fitted = np.asarray(fit_scaling(threads, curve).at(threads))
    kept = np.arange(16) != 10
    assert np.allclose(fitted[kept], curve[kept], rtol=0.02)


@pytest.mark.parametrize(
    "threads", [np.array([2.0, 4.0, 8.0]), np.array([1.0, 2.0])], ids=["no one", "too few"]
)
def test_an_unfittable_curve_is_refused(threads: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one thread"):
        fit_scaling(threads, threads)
