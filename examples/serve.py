"""Predictions over HTTP, by Python's own server: a JSON list of texts in, classes and their probabilities out.

    python examples/serve.py predictor.nc --port 8000
    curl -d '["the launch of a space shuttle"]' http://127.0.0.1:8000/

`fit.predictor().save("predictor.nc")` writes the file. In a web framework the same two lines are all there is: load the
predictor once, and call it in the handler.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

import ppl_topics as pt

MOST_BYTES = 10**7


def server(predictor: pt.Predictor, port: int) -> HTTPServer:
    """Return a server that answers one request after another: a prediction takes milliseconds."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                size = int(self.headers.get("Content-Length", 0))
                if size > MOST_BYTES:
                    raise pt.PplTopicsError(f"a request has at most {MOST_BYTES:,} bytes")
                texts = json.loads(self.rfile.read(size))
                shares = predictor.predict_proba(texts, threads=1)
                found = [dict(zip(predictor.classes, row, strict=True)) for row in shares.tolist()]
                self.answer(200, [{"class": max(each, key=lambda name: each[name]), **each} for each in found])
            except (ValueError, pt.PplTopicsError) as error:
                self.answer(400, {"error": str(error)})

        def answer(self, status: int, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, form: str, *values: object) -> None:
            """Say nothing of each request."""

    return HTTPServer(("127.0.0.1", port), Handler)


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
    with server(predictor, options.port) as running:
        print(f"{predictor!r} at http://127.0.0.1:{running.server_port}/", flush=True)
        running.serve_forever()


if __name__ == "__main__":
    main()
