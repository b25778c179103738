"""Predictions over HTTP, by FastAPI: a JSON list of texts in, classes and their probabilities out.

    pip install fastapi uvicorn
    python examples/serve.py predictor.nc --port 8000
    curl -H 'Content-Type: application/json' -d '["the launch of a space shuttle"]' http://127.0.0.1:8000/predict

`fit.predictor().save("predictor.nc")` writes the file. http://127.0.0.1:8000/docs describes the service.
"""

from __future__ import annotations

import argparse
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import Field

import ppl_topics as pt

Texts = Annotated[list[str], Field(min_length=1, max_length=10_000)]


def application(predictor: pt.Predictor) -> FastAPI:
    """Return the service; a process answers one request after another, as a prediction takes milliseconds."""
    app = FastAPI(title=repr(predictor))

    # Not a plain function: FastAPI would call it from several threads at once, and compiled code has one pool of them.
    @app.post("/predict")
    async def predict(texts: Texts) -> list[dict[str, Any]]:
        shares = predictor.predict_proba(texts, threads=1)
        best = shares.argmax(axis=1)
        names = [str(name) for name in predictor.classes]
        return [
            {"class": names[place], "probabilities": dict(zip(names, row, strict=True))}
            for place, row in zip(best, shares.tolist(), strict=True)
        ]

    @app.exception_handler(pt.PplTopicsError)
    async def refuse(request: Request, error: pt.PplTopicsError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=400)

    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictor", help="a file that fit.predictor().save wrote, or that of a fit")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        predictor = pt.load_predictor(options.predictor)
        # Compiles.
        predictor.predict_proba([""])
    except pt.PplTopicsError as error:
        parser.error(str(error))
    uvicorn.run(application(predictor), port=options.port)


if __name__ == "__main__":
    main()
