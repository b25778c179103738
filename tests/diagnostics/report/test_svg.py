"""Drawings of the page."""

import re

import numpy as np
from report_page import Page

from ppl_topics.diagnostics.report.svg import Line, circle_map, line_chart


def test_topics_on_one_place_are_moved_apart():
    svg = circle_map(np.zeros((4, 2)), np.array([1.0, 0.0, 0.0, np.nan]), ["a"] * 4, 0)
    Page(svg)
    assert len(set(re.findall(r'cx="[\d.]+" cy="[\d.]+"', svg))) == 4


def test_a_chart_of_the_largest_numbers_has_finite_coordinates():
    """Found by fuzzing a stored run."""
    x, y = np.arange(4.0), np.array([-1.7e308, 0.0, 1.0, 1.7e308])
    svg, _ = line_chart([Line("chain 0", x, y, 0)], "lp", x_label="sweep", shade_to=0.0)
    Page(svg)
    assert not re.search("nan|inf", svg)
