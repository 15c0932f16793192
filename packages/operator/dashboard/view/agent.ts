import { html } from "hono/html";
import type { ShownAgent } from "../read/agent.ts";
import { files } from "./agent_files.ts";
import { mesh } from "./agent_mesh.ts";
import { act, bytes, foreign, instant, type Markup, table } from "./cells.ts";
import { eventsFragment } from "./events.ts";
import { picture } from "./overview.ts";
import { section } from "./page.ts";
import { refusalsTable } from "./usage.ts";

/** What is shown of an agent that nothing names. */
export function unknownAgent(agentId: string): Markup {
  return html`
    <h1>${foreign(agentId)}</h1>
    <p class="none">Nothing names this agent. <a
        href="../agents/">All agents</a></p>
  `;
}

/** Everything about one agent. */
export function agentPage(shown: ShownAgent): Markup {
  const { described: { agent_id, peer, live_keys, expired_keys } } = shown;
  return html`<h1>${foreign(agent_id)}</h1>
  <div data-fragment="facts" id="agent">${facts(shown)}</div>
  <p class="acts">${act("key.create", { agent_id }, { label: "Make an agent key …" })}
    ${
    live_keys + expired_keys > 0
      ? act("keys.revoke", { agent_id }, { label: "Revoke every agent key …" })
      : ""
  }
    ${act("agent.remove", { agent_id }, { label: "Remove the agent …" })}</p>
  ${section("keys", { title: "Agent keys", body: keys(shown) })}
  ${mesh(shown)}
  ${
    peer === null && shown.rules.length === 0
      ? ""
      : html`<section id="mesh"><h2>Its neighbours in the mesh</h2>${picture(agent_id)}</section>`
  }
  ${files(shown)}
  ${section("events", { title: "Newest events", body: eventsFragment(shown) })}
  <div class="columns">
    ${section("days", { title: "Days", body: days(shown) })}
    ${
    section("refusals", {
      title: "Refused in the last day",
      body: refusalsTable(shown.refusals, { withAgent: false }),
    })
  }
  </div>`;
}

function facts(shown: ShownAgent): Markup {
  const { described } = shown;
  return html`
    <dl>
      <dt>Agent keys</dt>
      <dd>${described.live_keys} live, ${described.expired_keys} expired, ${described
        .revoked_keys} revoked; last used ${instant(described.last_used_at, "never")}</dd>
      <dt>Files</dt>
      <dd>${described.artifacts}, ${bytes(described.bytes)}; ${described
        .pending} uploads not committed</dd>
      <dt>Grants</dt>
      <dd>${described.grants_given} given, ${described.grants_received} received</dd>
      <dt>Peer</dt>
      <dd>${peer(shown)}</dd>
    </dl>
  `;
}

function peer({ described: { peer } }: ShownAgent): Markup | string {
  if (peer === null) return "none";
  const seen = peer.last_seen === null ? "never seen" : html`last seen ${instant(peer.last_seen)}`;
  return html`${peer.online ? "online" : seen} at ${foreign(peer.endpoint ?? "no endpoint")}, ${
    peer.addresses.join(", ")
  }, runs version ${peer.config_version_applied ?? "unknown"} of ${peer.config_version}`;
}

function keys({ described: { agent_id, keys } }: ShownAgent): Markup {
  return table(keys, {
    name: "agent keys",
    none: "None.",
    columns: [
      { head: "agent key", isLong: true, cell: (row) => row.key_id },
      { head: "label", isLong: true, cell: (row) => foreign(row.label ?? "") },
      { head: "state", cell: (row) => row.state },
      { head: "made", cell: (row) => instant(row.created_at) },
      { head: "last used", cell: (row) => instant(row.last_used_at, "never") },
      { head: "ends", cell: (row) => instant(row.expires_at, "never") },
      {
        head: "",
        cell: ({ key_id, state }) =>
          state === "revoked"
            ? ""
            : act("key.revoke", { agent_id, key_id }, { label: "Revoke …", about: key_id }),
      },
    ],
  });
}

function days({ usage }: ShownAgent): Markup {
  return table(usage.toReversed(), {
    name: "days",
    none: "It sent no request in the last week.",
    columns: [
      { head: "day", cell: (row) => row.day },
      { head: "requests", isNumber: true, cell: (row) => row.requests },
      { head: "refusals", isNumber: true, cell: (row) => row.refusals },
      { head: "artifacts", isNumber: true, cell: (row) => row.artifacts },
      { head: "bytes", isNumber: true, cell: (row) => bytes(row.bytes) },
      { head: "grants", isNumber: true, cell: (row) => row.grants },
    ],
  });
}
