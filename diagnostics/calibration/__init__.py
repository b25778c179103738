"""Simulation-based calibration: whether whole runs draw from the posterior of the model that the data came from."""

from ppl_topics.diagnostics.calibration.quantities import Quantities, Quantity
from ppl_topics.diagnostics.calibration.result import Calibration, load_calibration
from ppl_topics.diagnostics.calibration.uniformity import simultaneous_band, uniform_p_value

__all__ = ["Calibration", "Quantities", "Quantity", "load_calibration", "simultaneous_band", "uniform_p_value"]
