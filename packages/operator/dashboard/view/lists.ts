import { html } from "hono/html";
import { AGENTS, PEERS } from "../read/agents.ts";
import { type Kind, type Listed, queryOf, type Question } from "../read/listing.ts";
import type { AgentRow, PeerRow } from "../../reads/rows.ts";
import {
  agent,
  bytes,
  type Column,
  foreign,
  instant,
  type Markup,
  type Order,
  table,
} from "./cells.ts";

/** The page of all agents. */
export function agentsList(list: Listed<AgentRow>): Markup {
  const order = orderOf(list.question);
  return html`
    <h1>Agents</h1>${search(list.question, AGENTS)}
        ${found(list, "agent", [
          { head: "agent", order: order("agent"), cell: (row) => agent(row.agent_id) },
          { head: "agent keys", isNumber: true, order: order("keys"), cell: keys },
          { head: "last used", order: order("used"), cell: (row) => instant(row.last_used_at) },
          {
            head: "files",
            isNumber: true,
            order: order("artifacts"),
            cell: (row) => row.artifacts,
          },
          { head: "bytes", isNumber: true, order: order("bytes"), cell: (row) => bytes(row.bytes) },
          {
            head: "peer",
            order: order("seen"),
            cell: (row) => row.has_peer ? instant(row.last_seen, "never seen") : "",
          },
        ])}
        <form class="line" action="../act/key.create">
      <label>New agent <input name="agent_id" required autocomplete="off" spellcheck="false"></label>
      <button>Make an agent key …</button>
    </form>
  `;
}

/** The page of all peers. */
export function peersList(list: Listed<PeerRow>): Markup {
  const order = orderOf(list.question);
  return html`<h1>Peers</h1>${search(list.question, PEERS)}
    ${
    found(list, "peer", [
      { head: "agent", order: order("agent"), cell: (row) => agent(row.agent_id) },
      {
        head: "last seen",
        order: order("seen"),
        cell: (row) => row.online ? "online" : instant(row.last_seen, "never seen"),
      },
      { head: "endpoint", cell: ({ endpoint }) => endpoint === null ? "none" : foreign(endpoint) },
      { head: "version", isNumber: true, order: order("behind"), cell: version },
      { head: "rules", isNumber: true, order: order("rules"), cell: (row) => row.active_rules },
      { head: "requests", isNumber: true, order: order("requests"), cell: (row) => row.requests },
    ])
  }`;
}

function search<Row>({ prefix, show, sort }: Question, { filters }: Kind<Row>): Markup {
  return html`
    <form class="line" action="./">
      <label>Name begins with <input name="prefix" value="${prefix}" autocomplete="off" spellcheck="false"></label>
      <label>Show <select name="show">
          <option value="">all</option>
          ${Object.entries(filters).map(([name, { label }]) =>
            html`<option value="${name}" ${name === show ? html`selected` : ""}>${label}</option>`
          )}
        </select></label>
      <input type="hidden" name="sort" value="${sort}">
      <button>Find</button>
    </form>
  `;
}

function found<Row>(
  { question, rows, total, pages, isCut }: Listed<Row>,
  noun: string,
  columns: readonly Column<Row>[],
): Markup {
  const to = (page: number) => `?${queryOf({ ...question, page })}`;
  const { page } = question;
  return html`<div data-fragment="list">
    <p id="found">${total.toLocaleString("en")} ${noun}${total === 1 ? "" : "s"}${
    pages > 1 ? `, page ${page} of ${pages}` : ""
  }${isCut ? ". There are more: narrow them by a prefix" : ""}.</p>
    ${table(rows, { name: `${noun}s`, none: `No such ${noun}.`, columns })}
    ${
    pages === 1 ? "" : html`<nav class="line" aria-label="Pages">
      ${page > 1 ? html`<a rel="prev" href="${to(page - 1)}">Previous page</a>` : ""}
      ${page < pages ? html`<a rel="next" href="${to(page + 1)}">Next page</a>` : ""}
    </nav>`
  }</div>`;
}

/** A column's link sorts by that column; the next click reverses the order. */
function orderOf(question: Question): (name: string) => Order {
  return (name) => {
    const now = question.sort === name || (name === "agent" && question.sort === "")
      ? "ascending"
      : question.sort === `-${name}`
      ? "descending"
      : "none";
    // For numbers and times, people look for the largest, so these sort in descending order first.
    const first = name === "agent" ? name : `-${name}`;
    const second = name === "agent" ? `-${name}` : name;
    const isFirst = first === question.sort || (name === "agent" && now === "ascending");
    return {
      now,
      href: `?${queryOf({ ...question, sort: isFirst ? second : first, page: 1 })}`,
    };
  };
}

function keys({ live_keys, expired_keys }: AgentRow): Markup | string {
  return expired_keys === 0
    ? String(live_keys)
    : html`<span title="${live_keys} live, ${expired_keys} expired">${live_keys} + ${expired_keys}</span>`;
}

function version({ config_version, config_version_applied }: PeerRow): string {
  return `${config_version_applied ?? "not reported"} of ${config_version}`;
}
