import { html } from "hono/html";
import type { ShownAgent } from "../read/agent.ts";
import type { GrantRow } from "../../reads/rows.ts";
import { act, agent, bytes, foreign, instant, type Markup, table } from "./cells.ts";
import { section } from "./page.ts";

/** An agent's files, the grants from and to it, and the senders that it has blocked. */
export function files(shown: ShownAgent): Markup {
  return html`
    ${section("files", { title: "Files", body: artifacts(shown) })}
    ${section("given", { title: "Grants from it", body: given(shown) })}
    ${section("received", { title: "Grants to it", body: received(shown) })}
    <section id="blocked">
      <h2>Blocked senders</h2>
      <div data-fragment="blocked">${blocked(shown)}</div>
      <form class="line" action="../act/sender.block">
        <input type="hidden" name="agent_id" value="${shown.described.agent_id}">
        <label>Sender <input name="from_agent" required autocomplete="off" spellcheck="false"></label>
        <button>Block …</button>
      </form>
    </section>
  `;
}

function artifacts({ artifacts, grantsOf, described: { artifacts: total } }: ShownAgent): Markup {
  return html`${
    table(artifacts, {
      name: "files",
      none: "None.",
      columns: [
        { head: "name", isLong: true, cell: (row) => foreign(row.key) },
        { head: "type", isLong: true, cell: (row) => foreign(row.mime) },
        { head: "size", isNumber: true, cell: (row) => bytes(row.size) },
        { head: "committed", cell: (row) => instant(row.committed_at) },
        { head: "ends", cell: (row) => instant(row.expires_at) },
        {
          head: "granted to",
          cell: (row) =>
            html`${
              (grantsOf.get(row.artifact_id) ?? []).map((grant) =>
                html`
                  <span class="grant" title="until ${grant.expires_at}">${reader(grant)}</span>
                `
              )
            }`,
        },
      ],
    })
  }${
    total > artifacts.length
      ? html`<p class="none">The first ${artifacts.length} in the order of names; superseded ones are not shown.</p>`
      : ""
  }`;
}

function given({ given, described: { agent_id, grants_given: total } }: ShownAgent): Markup {
  return html`${
    table(given, {
      name: "grants from it",
      none: "None.",
      columns: [
        { head: "to", cell: reader },
        { head: "name", isLong: true, cell: (row) => foreign(row.key) },
        { head: "granted", cell: (row) => instant(row.granted_at) },
        { head: "ends", cell: (row) => instant(row.expires_at) },
        { head: "downloads", isNumber: true, cell: downloads },
        { head: "work", isLong: true, cell: work },
        { head: "made by", cell: maker },
        { head: "", cell: (row) => ending(row, agent_id) },
      ],
    })
  }${cut(given, total)}`;
}

function received(
  { received, described: { agent_id, blocked_senders, grants_received: total } }: ShownAgent,
): Markup {
  return html`${
    table(received, {
      name: "grants to it",
      none: "None.",
      columns: [
        { head: "from", cell: (row) => agent(row.from_agent) },
        { head: "name", isLong: true, cell: (row) => foreign(row.key) },
        { head: "granted", cell: (row) => instant(row.granted_at) },
        { head: "ends", cell: (row) => instant(row.expires_at) },
        { head: "work", isLong: true, cell: work },
        { head: "", cell: (row) => ending(row, agent_id) },
        {
          head: "",
          cell: ({ from_agent, grant_id }) =>
            blocked_senders.includes(from_agent) || from_agent === agent_id ? "" : act(
              "sender.block",
              { agent_id, from_agent },
              { label: "Block the sender …", about: `${from_agent} of ${grant_id}` },
            ),
        },
      ],
    })
  }${cut(received, total)}`;
}

function blocked({ described: { agent_id, blocked_senders } }: ShownAgent): Markup {
  return table(blocked_senders, {
    name: "blocked senders",
    none: "None.",
    columns: [
      { head: "sender", cell: agent },
      {
        head: "",
        cell: (from_agent) =>
          act("sender.unblock", { agent_id, from_agent }, {
            label: "Unblock …",
            about: from_agent,
          }),
      },
    ],
  });
}

function reader({ to_agent, to_tag }: GrantRow): Markup | string {
  return to_agent === null ? to_tag ?? "anyone with the link" : agent(to_agent);
}

/** A standing grant is named by its first digits, which tell an agent's few from one another. */
function maker({ standing_id }: GrantRow): Markup | string {
  return standing_id === undefined
    ? ""
    : html`<span title="${standing_id}">${standing_id.slice(0, "standing_".length + 6)}…</span>`;
}

function downloads({ downloads, max_downloads }: GrantRow): string {
  return max_downloads === null ? String(downloads) : `${downloads} of ${max_downloads}`;
}

/** What became of a grant as work. */
function work({ state, taken_by, reason, tasks }: GrantRow): Markup | string {
  if (tasks) {
    return Object.entries(tasks).filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`).join(", ");
  }
  if (!state) return "";
  if (taken_by) return html`${state} by ${agent(taken_by)}`;
  return reason ? html`${state}: ${foreign(reason)}` : state;
}

function ending({ grant_id, artifact_id }: GrantRow, agent_id: string): Markup {
  return act("grant.end", { grant_id, artifact_id, agent_id }, { label: "End …", about: grant_id });
}

function cut(shown: readonly unknown[], total: number): Markup | string {
  return total > shown.length
    ? html`<p class="none">Only the first to expire; agentops grants lists all.</p>`
    : "";
}
