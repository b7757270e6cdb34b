"""Who may ask the server: the page that it opened itself, on this machine, and nobody else."""

from __future__ import annotations

import hmac

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "cepheid_studio"
HOSTS = ("127.0.0.1", "localhost")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Lets through requests to this machine by its own name that have the token.

    The name keeps out pages of other sites whose name was made to mean this machine. The token is in the address that
    the browser is opened with, and in a cookie of that page from then on, which other sites' requests do not carry.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._port = port
        self._cookie = f"{COOKIE}_{port}"  # a cookie is of all ports: two studios have two

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no sockets
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        shown = self._shown(scope)
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            refused = "this server answers only to 127.0.0.1 and localhost"
        elif not shown and not self._is_kept(headers.get("cookie", "")):
            refused = "open the address that `cepheid studio` printed: it has a token, and this request has not"
        elif not self._is_of_the_page(scope["path"], headers):
            refused = "this server answers only to its own page"
        else:
            await self._app(scope, receive, self._marking(send, shown=shown))
            return
        await PlainTextResponse(refused + "\n", status_code=403)(scope, receive, self._marking(send, shown=False))

    def _is_ours(self, host: str) -> bool:
        return host in {f"{name}:{self._port}" for name in HOSTS} or (self._port == 80 and host in HOSTS)

    @staticmethod
    def _is_of_the_page(path: str, headers: dict[str, str]) -> bool:
        """Whether a request comes from the page itself, or opens it.

        To a browser, a page of another program on this machine is of the same site, and its requests carry the cookie.
        """
        if headers.get("origin", f"http://{headers['host']}") != f"http://{headers['host']}":
            return False
        return path == "/" or headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")

    def _shown(self, scope: Scope) -> bool:
        """Whether the address has the token: only that of the page itself."""
        query = scope["query_string"]
        return scope["path"] == "/" and query.startswith(b"token=") and hmac.compare_digest(query[6:], self._token)

    def _is_kept(self, cookies: str) -> bool:
        """Whether the cookies have the token. Those of other programs on this machine may not even be well-formed."""
        pairs = (cookie.strip().partition("=") for cookie in cookies.split(";"))
        return any(name == self._cookie and self._equal(value) for name, _, value in pairs)

    def _equal(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token)

    def _marking(self, send: Send, *, shown: bool) -> Send:
        """With the headers that every answer has, and the cookie with the first one."""
        cookie = f"{self._cookie}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict".encode()
        more = [*_HEADERS, *([(b"set-cookie", cookie)] if shown else [])]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *more]
            await send(message)

        return marked
