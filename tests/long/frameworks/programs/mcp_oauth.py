"""OAuth logins by the Python SDK, as the planner, and by fastmcp, as the builder.

`log_in` makes both log in, and prints the ids of their clients. `work` uses these clients. The
keys in the environment are the tokens of the two users. Only their consent page has them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastmcp import Client as FastClient
from fastmcp.client.auth import OAuth
from key_value.aio.stores.filetree import FileTreeStore, FileTreeV1KeySanitizationStrategy
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

BASE = os.environ["AGENT_URL"]
URL = f"{BASE}/functions/v1/agent-artifacts/mcp"
REDIRECT_URL = "https://connector.example/callback"
STORE = Path(sys.argv[2])


class User:
    """Answers the consent page of the site."""

    def __init__(self, token: str) -> None:
        self._headers = {
            "authorization": f"Bearer {token}",
            "apikey": os.environ["PUBLISHABLE_KEY"],
        }
        self.action = "approve"
        self.visits = 0
        self.answers: list[str] = []

    async def consent(self, authorization_url: str) -> str:
        """The client's URL with the outcome. Once a client is approved, nobody is asked again."""
        self.visits += 1
        async with httpx2.AsyncClient() as http:
            page = (await http.get(authorization_url)).headers["location"]
            [id] = parse_qs(urlsplit(page).query)["authorization_id"]
            about = f"{BASE}/auth/v1/oauth/authorizations/{id}"
            shown = await http.get(about, headers=self._headers)
            assert shown.status_code == 200, shown.text
            if "redirect_url" in shown.json():
                return shown.json()["redirect_url"]
            self.answers.append(self.action)
            answer = {"action": self.action}
            outcome = await http.post(f"{about}/consent", headers=self._headers, json=answer)
            assert outcome.status_code == 200, outcome.text
            return outcome.json()["redirect_url"]


class Storage:
    """The client's registration is kept in a file, and its tokens in memory."""

    def __init__(self) -> None:
        self._file = STORE / "client.json"
        self.tokens: list[OAuthToken] = []

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens[-1] if self.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if not self._file.exists():
            return None
        return OAuthClientInformationFull.model_validate_json(self._file.read_text())

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._file.write_text(client_info.model_dump_json())


class SdkLogin:
    def __init__(self, user: User) -> None:
        self._user = user
        self._outcome: dict[str, list[str]] = {}
        self.storage = Storage()
        self.provider = OAuthClientProvider(
            URL,
            OAuthClientMetadata.model_validate(
                {"client_name": "The Python connector", "redirect_uris": [REDIRECT_URL]}
            ),
            self.storage,
            redirect_handler=self._redirect,
            callback_handler=self._callback,
        )

    async def _redirect(self, authorization_url: str) -> None:
        url = urlsplit(await self._user.consent(authorization_url))
        assert f"{url.scheme}://{url.netloc}{url.path}" == REDIRECT_URL, url
        self._outcome = parse_qs(url.query)

    async def _callback(self) -> AuthorizationCodeResult:
        if "error" in self._outcome:
            raise PermissionError(self._outcome["error"][0])
        return AuthorizationCodeResult(
            code=self._outcome["code"][0], state=self._outcome["state"][0]
        )

    async def call(self, tool: str, **given: Any) -> dict[str, Any]:
        async with httpx2.AsyncClient(auth=self.provider, timeout=60) as http:
            async with Client(streamable_http_client(URL, http_client=http)) as client:
                result = await client.call_tool(tool, given)
        body = json.loads(result.content[0].text)
        assert not result.is_error, body
        return body


class FastLogin(OAuth):
    """fastmcp's own login, but for the browser: it waits for the redirect on a port."""

    def __init__(self, user: User) -> None:
        folder = STORE / "fastmcp"
        folder.mkdir(exist_ok=True)
        names = FileTreeV1KeySanitizationStrategy(folder)
        store = FileTreeStore(data_directory=folder, key_sanitization_strategy=names)
        super().__init__(URL, token_storage=store)
        self._user = user
        self.browser: asyncio.Task[None] | None = None

    async def redirect_handler(self, authorization_url: str) -> None:
        callback = await self._user.consent(authorization_url)
        self.browser = asyncio.create_task(follow(callback))

    async def call(self, tool: str, **given: Any) -> dict[str, Any]:
        async with FastClient(URL, auth=self) as client:
            result = await client.call_tool(tool, given)
        return json.loads(result.content[0].text)


async def follow(url: str) -> None:
    """Until the client listens."""
    async with httpx2.AsyncClient() as http:
        while True:
            try:
                await http.get(url)
                return
            except httpx2.ConnectError:
                await asyncio.sleep(0.05)


def causes(error: BaseException) -> list[BaseException]:
    # An ExceptionGroup, which Python 3.10 does not have.
    grouped = getattr(error, "exceptions", ())
    return [cause for one in grouped for cause in causes(one)] or [error]


async def refused(login: SdkLogin | FastLogin) -> str:
    try:
        await login.call("events")
    except Exception as error:
        return " ".join(repr(cause) for cause in causes(error))
    raise AssertionError("It was not refused.")


async def whoami(login: OAuthClientProvider) -> httpx2.Response:
    """What the service says to the token of a login."""
    tokens = login.context.current_tokens
    assert tokens is not None
    headers = {"authorization": f"Bearer {tokens.access_token}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        return await http.get(f"{BASE}/functions/v1/agent-artifacts/whoami")


async def log_in(planner: User, builder: User) -> None:
    sdk, fast = SdkLogin(planner), FastLogin(builder)
    for user, login, provider in ((planner, sdk, sdk.provider), (builder, fast, fast)):
        user.action = "deny"
        said = await refused(login)
        assert "denied" in said, said
        assert provider.context.current_tokens is None
        user.action = "approve"
        await refused(login)
        # The user has agreed, but the service does not know the client yet.
        said = await whoami(provider)
        assert said.status_code == 401, said.text
        assert "USER_OAUTH_CLIENT_IDS" in said.text, said.text
        assert user.answers == ["deny", "approve"], user.answers
    clients = [provider.context.client_info for provider in (sdk.provider, fast)]
    print(json.dumps([client.client_id for client in clients if client]))


async def work(planner: User, builder: User) -> None:
    sdk, fast = SdkLogin(planner), FastLogin(builder)
    put = await sdk.call("put", key="plan.txt", text="a house", to=["builder"])
    # An access token that has ended is replaced without asking the user.
    sdk.provider.context.token_expiry_time = 1
    await sdk.call("events")
    assert (await whoami(sdk.provider)).json()["agent_id"] == "planner"
    first, second = sdk.storage.tokens
    # Access tokens of one second are alike: their claims tell whole seconds.
    assert first.refresh_token != second.refresh_token
    assert (planner.visits, planner.answers) == (1, []), planner.visits
    # fastmcp has kept the tokens of the login that was refused: now they are accepted.
    got = await fast.call("get", artifact_id=put["artifact_id"], inline=True)
    assert builder.visits == 0, builder.visits
    print(got["text"])


async def main() -> None:
    users = (User(os.environ["AGENT_KEY"]), User(os.environ["BUILDER_KEY"]))
    await {"log_in": log_in, "work": work}[sys.argv[1]](*users)


asyncio.run(main())
