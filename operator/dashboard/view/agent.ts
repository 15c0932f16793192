import { html } from "hono/html";
import type { ShownAgent } from "../read/agent.ts";
import { refusalsTable } from "./agents.ts";
import { agent, bytes, foreign, instant, type Markup, table } from "./cells.ts";

/** What is shown of an agent that nothing names. */
export function unknownAgentFragment(agentId: string): Markup {
  return html`<p class="none">Nothing names ${foreign(agentId)}. <a href="#">close</a></p>`;
}

/** Everything about one agent. */
export function agentFragment(shown: ShownAgent): Markup {
  const { described } = shown;
  return html`<h2>${foreign(described.agent_id)} <a class="close" href="#">close</a></h2>
  <p class="facts">${described.artifacts} artifacts, ${
    bytes(described.bytes)
  }, ${described.pending} pending;
    grants: ${described.grants_given} given, ${described.grants_received} received; ${
    peer(shown)
  }</p>
  <h3>Artifacts</h3>${artifacts(shown)}
  <h3>Grants to it</h3>${grantsTo(shown)}
  <h3>Rules</h3>${rules(shown)}
  <h3>Keys</h3>${keys(shown)}
  <h3>Days</h3>${days(shown)}
  <h3>Refused in the last day</h3>${refusalsTable(shown.refusals, { withAgent: false })}`;
}

function peer({ described: { peer } }: ShownAgent): Markup | string {
  if (peer === null) return "no peer";
  const seen = peer.last_seen === null ? "never seen" : html`last seen ${instant(peer.last_seen)}`;
  return html`peer ${peer.online ? "online" : seen} at ${
    foreign(peer.endpoint ?? "no endpoint")
  }, ${peer.addresses.join(", ")}, runs version ${
    peer.config_version_applied ?? "unknown"
  } of ${peer.config_version}`;
}

function artifacts({ artifacts, grantsOf, described: { artifacts: total } }: ShownAgent): Markup {
  return html`${
    table(artifacts, {
      none: "None.",
      columns: [
        { head: "key", isLong: true, cell: (row) => foreign(row.key) },
        { head: "type", cell: (row) => foreign(row.mime) },
        { head: "size", isNumber: true, cell: (row) => bytes(row.size) },
        { head: "committed", cell: (row) => instant(row.committed_at) },
        { head: "ends", cell: (row) => instant(row.expires_at) },
        {
          head: "granted to",
          cell: (row) =>
            html`${
              (grantsOf.get(row.artifact_id) ?? []).map((grant) =>
                html`
                  <span class="grant" title="until ${grant.expires_at}">${grant.to_agent === null
                    ? "anyone with the link"
                    : agent(grant.to_agent)}</span>
                `
              )
            }`,
        },
      ],
    })
  }${
    total > artifacts.length
      ? html`<p class="none">The first ${artifacts.length} in the order of keys; superseded ones are not shown.</p>`
      : ""
  }`;
}

function grantsTo({ received }: ShownAgent): Markup {
  return table(received, {
    none: "None.",
    columns: [
      { head: "from", cell: (row) => agent(row.from_agent) },
      { head: "key", isLong: true, cell: (row) => foreign(row.key) },
      { head: "granted", cell: (row) => instant(row.granted_at) },
      { head: "ends", cell: (row) => instant(row.expires_at) },
    ],
  });
}

function rules({ rules }: ShownAgent): Markup {
  return table(rules, {
    none: "None.",
    columns: [
      { head: "from", cell: (row) => agent(row.from_agent) },
      { head: "to", cell: (row) => agent(row.to_agent) },
      { head: "port", isNumber: true, cell: (row) => `${row.proto} ${row.port}` },
      {
        head: "",
        cell: (row) => row.active ? "active" : html`waits for ${agent(row.waiting_for)}`,
      },
    ],
  });
}

function keys({ described: { keys } }: ShownAgent): Markup {
  return table(keys, {
    none: "None.",
    columns: [
      { head: "key", cell: (row) => row.key_id },
      { head: "label", cell: (row) => foreign(row.label ?? "") },
      { head: "", cell: (row) => row.state },
      { head: "made", cell: (row) => instant(row.created_at) },
      { head: "last used", cell: (row) => instant(row.last_used_at) },
      { head: "ends", cell: (row) => instant(row.expires_at, "never") },
    ],
  });
}

function days({ usage }: ShownAgent): Markup {
  return table(usage.toReversed(), {
    none: "It asked for nothing in the last week.",
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
