"""The HTTP side of the viewer: loopback only, a secret in the path, nothing but GET."""

from __future__ import annotations

import hmac
import secrets
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from rla_envs.errors import RlaError, RunError
from rla_envs.report.page import escape, page
from rla_envs.tracking import RunFolder
from rla_envs.viewer.pages import Pages

LOOPBACK = "127.0.0.1"


class Viewer:
    """A server for one run; ``url`` carries the token without which it answers nothing.

    Args:
        run: The run folder, which may still be written to.
        port: Port to listen on; 0 takes a free one.

    Raises:
        RunError: run is no run folder, or the port is taken.
    """

    def __init__(self, run: Path, *, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        handler = type("Handler", (_Handler,), {})
        handler.token, handler.pages = self.token, Pages(RunFolder.open(run))
        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port), handler)
        except OSError as error:
            raise RunError(
                f"cannot listen on port {port}: {error}; --port 0 takes a free one"
            ) from error
        self._server.daemon_threads = True
        # A page of another origin can reach loopback under a name of its own (DNS rebinding).
        self.port: int = self._server.server_address[1]
        handler.hosts = frozenset(f"{host}:{self.port}" for host in (LOOPBACK, "localhost"))
        self.url = f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until another thread calls ``stop`` or the process is interrupted."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """End ``serve``."""
        self._server.shutdown()

    def close(self) -> None:
        """Give the port back."""
        self._server.server_close()


def view(run: Path, *, port: int = 0, open_browser: bool = True) -> None:
    """Print the viewer's address, open it in a browser, and serve until interrupted (Ctrl-C)."""
    viewer = Viewer(run, port=port)
    print(f"{viewer.url}\n(Ctrl-C ends it)", flush=True)
    if open_browser:
        webbrowser.open(viewer.url)
    try:
        viewer.serve()
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()


class _Handler(BaseHTTPRequestHandler):
    token: str
    pages: Pages
    hosts: frozenset[str]
    server_version = "rla"
    sys_version = ""
    # A client that opens a connection and says nothing must not hold a thread for good.
    timeout = 30

    def do_GET(self) -> None:
        """Answer one request."""
        target = urlsplit(self.path)
        token, _, route = target.path.removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.hosts or not hmac.compare_digest(
            token.encode(), self.token.encode()
        ):
            self._send(HTTPStatus.FORBIDDEN, "This address needs the token that rla view printed.")
            return
        query = {name: values[-1] for name, values in parse_qs(target.query).items()}
        try:
            answer = self.pages.answer(route, query)
        except RlaError as error:
            self._send(HTTPStatus.NOT_FOUND, str(error))
            return
        if answer is None:
            self._send(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        self._send(HTTPStatus.OK, answer, whole=True)

    def _send(self, status: HTTPStatus, text: str, *, whole: bool = False) -> None:
        body = (
            text if whole else page(status.phrase, f"<h1>{status.phrase}</h1><p>{escape(text)}</p>")
        )
        data = body.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline';"
            " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the token is in every request line."""
