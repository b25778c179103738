"""What is read from ranks, their table, file and plot."""

import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.calibration.uniformity import simultaneous_band

N = 300
ABOUT = {
    "model_name": "lda",
    "model_yaml": "name: lda",
    "schedules": "model lda",
    "exact": 1,
    "inexact": "",
    "seed": 1,
    "documents": 5,
    "draws": 99,
    "warmup": 10,
    "thin": 1,
    "chains": 2,
    "replicates": N,
    "false_alarm": 0.01,
    "stopped": 0,
}


def calibration(pits, kept=99.0, **about):
    pit = np.stack(list(pits.values()), axis=1)
    rank = np.floor(pit * (kept + 1))
    data = {"pit": pit, "rank": rank, "kept": np.full_like(pit, kept), "ess": np.full_like(pit, kept), "truth": rank}
    coords = {"quantity": np.array(list(pits), dtype=object), "replicate": np.arange(len(pit))}
    values = {name: (("replicate", "quantity"), array) for name, array in data.items()}
    return pt.Calibration(xr.Dataset(values, coords, ABOUT | about))


def pits():
    rng = np.random.default_rng(5)
    return {
        "right": rng.random(N),
        "small": rng.beta(2.0, 1.0, N),
        "large": rng.beta(1.0, 2.0, N),
        "narrow": rng.beta(0.4, 0.4, N),
        "wide": rng.beta(3.0, 3.0, N),
    }


def test_readings_and_coverage():
    result = calibration(pits())
    table = result.table()
    assert not result.passed
    assert result.refused == ["small", "large", "narrow", "wide"]
    assert table["reading"].tolist() == ["", *(f"draws too {name}" for name in result.refused)]
    assert table.loc["right", "coverage_90"] == pytest.approx(0.9, abs=0.06)
    assert table.loc["narrow", "coverage_50"] < 0.4 < 0.6 < table.loc["wide", "coverage_50"]
    assert result.to_dict()["quantities"]["small"]["reading"] == "draws too small"
    assert repr(result) == "Calibration of lda: 300 replicates, refused by 4 quantities"


def test_what_is_printed():
    lines = str(calibration({"right": pits()["right"]})).splitlines()
    assert lines[0] == "model lda: 300 replicates of 5 documents, 2 x 99 draws after 10 sweeps, thin 1"
    assert lines[-1] == "passed: nothing is off (false alarms: at most 0.01 over all 1 quantities)"
    text = str(calibration(pits(), kept=9.0, exact=0, inexact="ad_lda", stopped=1, replicates=500))
    assert "stopped after 300 of 500 replicates" in text
    assert "fewer than 20 independent draws of right and 4 more" in text
    assert "NOT exact: ad_lda does not leave the posterior invariant" in text
    assert "refused: small (draws too small, p = " in text


def test_a_file_gives_the_same(tmp_path):
    result = calibration(pits())
    path = result.save(tmp_path / "ranks.nc")
    again = pt.load_calibration(path)
    assert again.values.identical(result.values)
    assert str(again) == str(result)


@pytest.mark.parametrize("content", [None, b"", b"not a netCDF file"])
def test_what_is_no_calibration_is_refused(tmp_path, content):
    path = tmp_path / "a.nc"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(pt.TraceError, match="no such file" if content is None else "cannot be read as a calibration"):
        pt.load_calibration(path)


def test_another_netcdf_file_is_refused(tmp_path):
    path = tmp_path / "a.nc"
    xr.Dataset({"x": ("a", [1.0])}).to_netcdf(path, group="posterior", engine="h5netcdf")
    with pytest.raises(pt.TraceError, match="not a calibration; expected what"):
        pt.load_calibration(path)
    with pytest.raises(pt.TraceError, match="cannot be written"):
        calibration(pits()).save(tmp_path / "nowhere" / "a.nc")


def test_curves_leave_the_band_where_they_are_refused():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = calibration(pits())
    panels = result.plot()
    low, high = simultaneous_band(N, 0.01 / 5)
    for panel, name in zip(panels, pits(), strict=True):
        assert panel.get_title() == name
        curve = panel.lines[0]
        z, difference = curve.get_xdata()[1:-1], curve.get_ydata()[1:-1]
        outside = ((difference < low - z - 1e-12) | (difference > high - z + 1e-12)).any()
        assert outside == (name in result.refused)
    assert len({panel.lines[0].get_color() for panel in panels}) == 2
    pyplot.close("all")
