"""``ppl-topics verify``: certify or refuse kernels."""

from __future__ import annotations

from typing import Annotated

import typer

from ppl_topics.cli.model_options import Model
from ppl_topics.cli.options import AsJson, OnDevice
from ppl_topics.cli.output import print_json, working
from ppl_topics.errors import RunError

__all__ = ["verify"]


def verify(
    model: Model,
    kernel: Annotated[
        list[str] | None, typer.Option(help="Test this kernel; may be given several times. By default all.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="Seed of the tests.")] = None,
    device: OnDevice = "cpu",
    json: AsJson = False,
) -> None:
    """Certify or refuse the kernels of MODEL.

    Each kernel is tested: does it keep to its declaration, draw from the distribution that it declares, and reach all?

    For example:
      ppl-topics verify lda
      ppl-topics verify my_model.yaml --kernel my_kernel

    Exit code 0 if all are certified, 1 if one is refused, 2 if the model or a name is wrong.
    """
    from ppl_topics.api.sampling import resolve
    from ppl_topics.diagnostics.exactness import verify as certify
    from ppl_topics.schedule import make_plan

    options = {} if seed is None else {"seed": seed}
    given = model.given()
    spec = resolve(model.model, given["parameters"])
    # A schedule that breaks a rule is refused before any test runs.
    make_plan(spec if given["schedule"] is None else spec.with_schedule(given["schedule"], "--schedule"))
    with working("testing on small corpora, some seconds a kernel"):
        result = certify(spec, kernel=kernel or None, schedule=given["schedule"], device=device, **options)
    if json:
        print_json(result.to_dict())
    else:
        print(result)
    if not result.passed:
        raise RunError(f"model {result.model}: refused: {', '.join(c.kernel for c in result.refused)}")
