"""The report as one HTML document that needs no other file: sections, style, script and data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from ppl_topics._util.jsonable import jsonable
from ppl_topics._util.output_files import written
from ppl_topics._util.paths import as_path, check_replaceable
from ppl_topics.diagnostics.alignment import Alignment, align
from ppl_topics.diagnostics.plots.canvas import groups_of
from ppl_topics.diagnostics.report.beside import beside_section
from ppl_topics.diagnostics.report.model import model_section
from ppl_topics.diagnostics.report.overview import reproduction, title_of, verdict_section
from ppl_topics.diagnostics.report.responses import responses_section, zeros_section
from ppl_topics.diagnostics.report.sections import Groups, attempt, sentence
from ppl_topics.diagnostics.report.tables import agreement_section, efficiency_section, quality_section
from ppl_topics.diagnostics.report.topic_browser import topics_section
from ppl_topics.diagnostics.report.traces import traces_section
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.results.coefficient_draws import check_probability
from ppl_topics.results.response_topics import check_chain

__all__ = ["embedded_json", "report_html", "write_report"]


def write_report(
    groups: Groups,
    path: str | Path,
    *,
    chain: int | None = None,
    probability: float = 0.9,
    title: str | None = None,
    source: str = "",
    beside: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of a run as one self-contained HTML page.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, which may come from another program. The page says which parts the trace lacks.
    path : str or pathlib.Path
        The file, such as ``report.html``. It is written completely or not at all.
    chain : int, optional
        Whose topics and coefficients to show, since chains number their topics independently; topics have their numbers
        in this chain everywhere on the page. By default the reference chain of
        :func:`ppl_topics.diagnostics.alignment.align` or, without one, the first chain.
    probability : float
        Probability of the equal-tailed intervals.
    title : str, optional
        By default the names of the model and the corpus.
    source : str
        Name of the trace's file, for the commands that repeat the run.
    beside : mapping of str to Fit or to groups, optional
        Other runs by name, for a table of them beside this one: how they ended, and how similar their topics are.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    TraceError
        If the file cannot be written, or there is no such chain.
    """
    place = as_path(path, "a report", TraceError)
    check_replaceable(place, TraceError)
    if place.is_dir() or not place.parent.is_dir():
        what = "it is a folder" if place.is_dir() else f"the folder {place.parent} does not exist"
        raise TraceError(f"{place}: cannot write the report ({what}); name a file such as report.html")
    page = report_html(groups, chain=chain, probability=probability, title=title, source=source, beside=beside)
    try:
        with written(place) as file:
            # Words may hold unpaired surrogates, which UTF-8 cannot encode.
            file.write(page.encode("utf-8", "replace"))
    except PplTopicsError as error:
        raise TraceError(str(error)) from None
    return place


def report_html(
    groups: Groups,
    *,
    chain: int | None = None,
    probability: float = 0.9,
    title: str | None = None,
    source: str = "",
    beside: Mapping[str, Any] | None = None,
) -> str:
    """Return the page that `write_report` writes, as text."""
    from jinja2 import Environment, StrictUndefined

    probability = check_probability(probability)
    if "posterior" not in groups:
        raise TraceError("the trace has no group `posterior`")
    alignment, unaligned = _alignment(groups)
    shown = _chosen(groups, chain, alignment)
    others = {str(name): groups_of(each) for name, each in (beside or {}).items()}
    heading = title_of(groups) if title is None else str(title)
    summary = verdict_section(groups, alignment)
    sections = [
        summary,
        *([beside_section(groups, shown, summary.parts.get("verdict"), others)] if others else []),
        *filter(None, [model_section(groups)]),
        traces_section(groups),
        efficiency_section(groups, alignment),
        agreement_section(groups, shown, alignment, unaligned),
        topics_section(groups, shown),
        quality_section(groups, shown),
        responses_section(groups, shown, probability),
        *filter(None, [zeros_section(groups, probability)]),
        reproduction(groups, source),
    ]
    script = _resource("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["sentence"] = sentence
    return environment.from_string(_resource("page.html.jinja")).render(
        title=heading,
        chain=shown,
        n_chains=groups["posterior"].sizes.get("chain", 0),
        sections=sections,
        style=_resource("page.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=embedded_json(next((s.parts["data"] for s in sections if "data" in s.parts), None)),
        version=version("ppl-topics"),
    )


def _alignment(groups: Groups) -> tuple[Alignment | None, str]:
    """Return the alignment of the chains' topics, or None and the reason."""
    if groups["posterior"].sizes.get("chain", 0) < 2:
        return None, "There is only one chain; run at least two to see if they agree."
    return attempt(lambda: align(groups))


def _chosen(groups: Groups, chain: int | None, alignment: Alignment | None) -> int:
    """Return the requested chain or, by default, the reference chain of the alignment or the first chain."""
    posterior = groups["posterior"]
    chains = posterior["chain"].values.tolist() if "chain" in posterior.dims else []
    if chain is None:
        return alignment.reference if alignment is not None else int(chains[0]) if chains else 0
    return check_chain(chain, chains or [chain])


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def embedded_json(data: Any) -> str:
    r"""Return data as JSON that is safe in a script element, whatever its strings hold; infinities and NaN become null.

    Examples
    --------
    >>> embedded_json(["</script>", "a\u2028b"])
    '["\\u003c/script\\u003e","a\\u2028b"]'
    """
    text = json.dumps(jsonable(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
