"""The operations of the mesh."""

from __future__ import annotations

import base64
import os

import pytest
from conftest import Agent

from agent_files import AgentError, AgentMesh, AsyncAgentMesh

pytestmark = pytest.mark.anyio


def public_key() -> str:
    """The last byte keeps the number below 2^255-19, whatever the random bytes are."""
    return base64.b64encode(os.urandom(31) + b"\x40").decode()


async def test_a_rule_of_both(planner: Agent, builder: Agent) -> None:
    url = os.environ["URL"]
    async with AsyncAgentMesh(url, planner.key) as ours, AsyncAgentMesh(url, builder.key) as theirs:
        registered = await ours.register(public_key(), endpoint="203.0.113.7:51820")
        assert (registered["agent_id"], len(registered["addresses"])) == (planner.id, 2)
        await theirs.register(public_key(), endpoints=["203.0.113.8:51820"], listen_port=51820)
        rule = {"from_agent": builder.id, "to_agent": planner.id, "port": 443, "proto": "tcp"}
        asked = await ours.allow(builder.id, planner.id, 443)
        assert (asked["active"], asked["waiting_for"]) == (False, builder.id)
        requests = (await theirs.netmap())["acl_requests"]
        assert requests == [{**rule, "waiting_for": builder.id}]
        version = (await ours.configuration())["config_version"]
        assert (await theirs.allow(builder.id, planner.id, 443, "tcp"))["active"]
        news = await ours.wait(config_version=version, wait_seconds=60)
        assert news.get("config_version", version) > version
        assert (await ours.json_configuration())["rules"] == [rule]
        assert "[Peer]" in (await ours.configuration(firewall="none"))["config"]
        rotated = await ours.rotate_psk(builder.id, planner.id)
        assert rotated["psk_version"] > 1
        path = {"via": "none", "endpoint": None, "handshake_age_seconds": None}
        beat = await ours.heartbeat(paths=[{**path, "agent_id": builder.id}])
        assert beat["online"]
        assert (await ours.revoke(builder.id, planner.id, 443))["revoked"]
        assert (await theirs.netmap())["acls"] == []
        types = [event["type"] async for event in ours.events()]
        assert types[:3] == ["peer.registered", "rule.requested", "rule.activated"]
        assert (await theirs.remove())["removed"]
        with pytest.raises(AgentError) as refused:
            await theirs.netmap()
        assert (refused.value.code, refused.value.status) == ("peer_not_found", 404)
        assert (await ours.whoami())["agent_id"] == planner.id


async def test_configurations_follow_each_change(planner: Agent, builder: Agent) -> None:
    url = os.environ["URL"]
    async with AsyncAgentMesh(url, planner.key) as ours, AsyncAgentMesh(url, builder.key) as theirs:
        await ours.register(public_key())
        await theirs.register(public_key())
        versions: list[int] = []
        async for configuration in ours.configurations(firewall="none"):
            versions.append(configuration["config_version"])
            if "[Peer]" in configuration["config"]:
                break
            # Both calls change the configuration at most.
            await ours.allow(planner.id, builder.id, 443)
            await theirs.allow(planner.id, builder.id, 443)
        assert versions == sorted(set(versions))
        assert len(versions) > 1
        assert [one async for one in ours.configurations(timeout=0)] == []


def test_a_relay_that_is_not_there(planner: Agent) -> None:
    with AgentMesh(os.environ["URL"], planner.key, retry_seconds=0) as mesh:
        mesh.register(public_key())
        with pytest.raises(AgentError) as refused:
            mesh.relay()
        assert refused.value.code == "misconfigured"
        assert mesh.leave()["left"]
        with pytest.raises(AgentError):
            mesh.whoami()
