"""Access control of the served pages: loopback host names, a secret of this process, same-origin requests only."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES = 100_000
"""Maximum size of a request's body."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy: nothing from elsewhere, no inline scripts; inline styles are allowed, as charts set them."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware that admits only the browser of the user who was given the address."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"vazao-explore-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or reject it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # The page of a run brings its own policy.
                headers.update(HEADERS | {"Content-Security-Policy": headers.get("content-security-policy", POLICY)})
            await send(message)

        refused = self._refused(scope)
        await (refused or self._app)(scope, receive, send_with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        """The response to a request that goes no further: a refusal or a redirect; None for one that may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return _refusal("this address is not the one that was printed")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return _refusal("another page may not ask here")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refusal("another page may not ask here")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refusal("only GET and POST are answered")
        if scope["method"] == "POST" and not self._is_small_json(headers):
            return _refusal("a question is a small JSON document")
        given = QueryParams(scope["query_string"]).get("token", "")
        if scope["path"] == "/" and given and self._is_right(given):
            # From here on a cookie holds the token, so that it stays in no address and no script can read it.
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if not self._is_right(self._kept(headers)):
            return _refusal("open the address that was printed, with its token")
        return None

    def _is_small_json(self, headers: Headers) -> bool:
        length = headers.get("content-length", "")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return kind == "application/json" and length.isdecimal() and len(length) < 9 and int(length) <= MAX_BYTES

    def _kept(self, headers: Headers) -> str:
        """The token in the cookie or the header of a request; empty where there is none."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        kept = cookies.get(self._cookie)
        return kept.value if kept else headers.get("x-vazao-token", "")

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(errors="replace"), self._token.encode())


def _refusal(why: str) -> Response:
    return PlainTextResponse(f"403: {why}\n", status_code=403)
