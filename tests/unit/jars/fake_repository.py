"""A Maven repository on 127.0.0.1 that serves small jars and misbehaves on demand."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from streamgauge.jars import Artifact
from streamgauge.jars.lockfile import repository_path

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def send_whole(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that disconnect early are part of the tests; other failures show up in the client."""


class Repository:
    """``answers`` overrides the response for a path; ``requested`` lists the requested paths."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.answers: dict[str, Answer] = {}
        self.requested: list[str] = []
        repository = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.removeprefix("/m2/")
                repository.requested.append(path)
                if path in repository.bodies:
                    repository.answers.get(path, send_whole)(self, repository.bodies[path])
                else:
                    self.send_error(404)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/m2"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, coordinates: str, body: bytes) -> Artifact:
        path = repository_path(coordinates)
        self.bodies[path] = body
        self.bodies[f"{path}.sha1"] = hashlib.sha1(body).hexdigest().encode()
        return Artifact(coordinates, hashlib.sha256(body).hexdigest(), len(body))

    def answer(self, artifact: Artifact, answer: Answer) -> None:
        self.answers[artifact.repository_path] = answer
