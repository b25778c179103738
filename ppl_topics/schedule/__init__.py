"""Schedules: the algebra, the rules, the default choice, and the plan."""

from ppl_topics.schedule.plan import Plan, make_plan
from ppl_topics.schedule.tree import cycle, every, mixture, repeat, step

__all__ = ["Plan", "cycle", "every", "make_plan", "mixture", "repeat", "step"]
