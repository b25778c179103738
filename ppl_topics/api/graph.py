"""Draw the factor graph of a model."""

from __future__ import annotations

from typing import Any

from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.diagnostics.graph import Graph
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.tree import steps
from ppl_topics.spec import Model, Spec

__all__ = ["graph", "graph_of"]


def graph(model: ModelLike, *, schedule: Any = None, **parameters: Any) -> Graph:
    """Return the factor graph of a model with plates, and the kernels that update each variable.

    A notebook shows it. A factor is a small square with the kind of its block: arrows lead from it to the variables
    that it is the distribution of, lines to it from those that this depends on. Observed variables are shaded, those
    that the model integrates out are dashed.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    schedule : mapping or list, optional
        Replaces the model's own schedule. Where neither is given, the kernels are those that the scheduler chooses, as
        :func:`ppl_topics.plan` does without a corpus; if it finds none for a variable, the graph has no kernels.
    **parameters
        Model parameters to set.

    Returns
    -------
    Graph

    Raises
    ------
    SpecError, ScheduleError
        If the model, its parameters or its schedule are wrong.

    Examples
    --------
    >>> drawn = graph("lda", topics=20)
    >>> [(each.name, each.kind, each.plates) for each in drawn.variables if each.name in "theta w"]
    [('theta', 'integrated out', ('doc',)), ('w', 'observed', ('doc', 'token'))]
    >>> [factor.kind for factor in drawn.factors]
    ['dirichlet', 'dirichlet', 'assignments', 'words']
    >>> drawn.to_svg().startswith("<svg")
    True
    """
    return graph_of(resolve(model, parameters, schedule=schedule))


def graph_of(spec: Spec) -> Graph:
    """Return the factor graph of a specification, with its kernels if it has a schedule or one can be chosen."""
    try:
        plan = make_plan(spec)
    except ScheduleError:
        if spec.schedule is not None:
            raise
        return Graph.of(Model.of(spec))
    return Graph.of(plan.model, [(step.variable, step.kernel.name) for step in steps(plan.schedule)])
