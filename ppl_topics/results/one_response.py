"""The trace of a model of several responses, as if it were of one of them alone: nothing else need know of several.

The draws of what belongs to a response, with those of the topics, are draws of the posterior given the labels of all.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from ppl_topics._util.argument_names import spelled
from ppl_topics._util.nearest import nearest
from ppl_topics.errors import TraceError
from ppl_topics.results.validation import check_groups
from ppl_topics.spec import Model, load_spec
from ppl_topics.spec.model import Marginal

__all__ = ["check_one_response", "of_response"]

OF_LABELS = ("labels", "class", "target_mean", "target_scale", "training_loss", "log_likelihood_class")
"""Variables and coordinates of observed data, constants and statistics that each response has."""


def of_response(groups: Mapping[str, xr.Dataset], response: str) -> dict[str, xr.Dataset]:
    """Return the groups of a trace with one of several responses, its variables named as in its model alone.

    ``lp`` stays that of the whole model.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
    response : str
        The name of its block.

    Raises
    ------
    TraceError
        If the model has not several responses, or none of this name.
    """
    model = Model.of(load_spec(_yaml(groups)))
    if not model.marginals:
        raise TraceError(f"model {model.spec.name!r} does not have several responses; leave of_response out")
    if response not in model.marginals:
        known = model.marginals
        raise TraceError(f"model {model.spec.name!r} has no response {response!r}{nearest(str(response), known)}")
    chosen = _names(response, model.marginals[response])
    others = {
        whole for name, marginal in model.marginals.items() if name != response for whole in _names(name, marginal)
    }
    yaml = model.marginals[response].model.spec.to_yaml()
    made = {name: _of_group(group, chosen, others, yaml) for name, group in groups.items()}
    # Whatever reads a trace relies on these checks, which do not know the names in that of several responses.
    check_groups(made, f"response {response!r}")
    return made


def check_one_response(model: Model) -> None:
    """Refuse a model of several responses, where there must be one.

    Raises
    ------
    TraceError
        That says how to take one.
    """
    if model.marginals:
        first, names = next(iter(model.marginals)), ", ".join(model.marginals)
        raise TraceError(
            f"model {model.spec.name!r} has several responses, {names}; take one of them: "
            + spelled(f"fit.of_response({first!r})", f"--of-response {first}")
        )


def _names(response: str, marginal: Marginal) -> dict[str, str]:
    """Return the names of all that one response has, of variables and dims, by those in the whole trace."""
    names = {whole: own for own, whole in marginal.names.items()}
    names |= marginal.dims | {f"{name}_{response}": name for name in OF_LABELS}
    return names | {f"log_likelihood_{response}": "log_likelihood_y"}


def _of_group(group: xr.Dataset, chosen: Mapping[str, str], others: set[str], yaml: str) -> xr.Dataset:
    left = group.drop_vars([name for name in map(str, group.variables) if name in others])
    renamed = left.rename({name: own for name, own in chosen.items() if name in {*left.variables, *left.dims}})
    return renamed.assign_attrs(model_yaml=yaml) if "model_yaml" in group.attrs else renamed


def _yaml(groups: Mapping[str, xr.Dataset]) -> str:
    attributes = groups["posterior"].attrs
    if "model_yaml" not in attributes:
        raise TraceError("the trace lacks the attribute `model_yaml`; it was not written by ppl-topics")
    return str(attributes["model_yaml"])
