import { html } from "hono/html";
import type { ShownAgent } from "../read/agent.ts";
import { describePath } from "../../../agent-peer/paths/describe_path.ts";
import type { RuleRow } from "../../reads/rows.ts";
import { act, agent, foreign, type Markup, table } from "./cells.ts";
import { section } from "./page.ts";

/** An agent's rules, the paths to its neighbours, and the PSKs that it shares. */
export function mesh(shown: ShownAgent): Markup {
  const { described: { agent_id } } = shown;
  return html`<div class="columns">
    <section id="rules"><h2>Rules</h2>
      <div data-fragment="rules">${rules(shown)}</div>
      <form class="line" action="../act/rule.put">
        <label>From <input name="from_agent" value="${agent_id}" required autocomplete="off" spellcheck="false"></label>
        <label>To <input name="to_agent" required autocomplete="off" spellcheck="false"></label>
        <label>Protocol <select name="proto"><option>tcp</option><option>udp</option></select></label>
        <label>Port <input name="port" type="number" min="1" max="65535" required></label>
        <button>Add a rule …</button>
      </form>
    </section>
    ${section("paths", { title: "Paths", body: paths(shown) })}
    ${section("psks", { title: "PSKs", body: psks(shown) })}
  </div>`;
}

function rules({ rules }: ShownAgent): Markup {
  return table(rules, {
    name: "rules",
    none: "None.",
    columns: [
      { head: "from", cell: (row) => agent(row.from_agent) },
      { head: "to", cell: (row) => agent(row.to_agent) },
      { head: "port", isNumber: true, cell: (row) => `${row.proto} ${row.port}` },
      {
        head: "state",
        cell: (row) =>
          row.origin === "policy"
            ? "active, from the policy"
            : row.active
            ? "active"
            : html`waits for ${agent(row.waiting_for)}`,
      },
      {
        head: "",
        cell: (row) =>
          row.origin === "policy"
            ? "To end it, change the policy."
            : row.active
            ? act("rule.end", targetOf(row), { label: "End …", about: inWords(row) })
            : html`${act("rule.put", targetOf(row), { label: "Agree …", about: inWords(row) })} ${
              act("rule.end", targetOf(row), { label: "End …", about: inWords(row) })
            }`,
      },
    ],
  });
}

/** Whether the agent reaches each peer that it shares a rule with. */
function paths({ paths, relayIsSet, described: { agent_id } }: ShownAgent): Markup {
  return table(paths, {
    name: "paths",
    none: "It sees no other peer.",
    columns: [
      {
        head: "to",
        cell: ([one, other]) => agent(one.agent_id === agent_id ? other.agent_id : one.agent_id),
      },
      // The sentence holds identifiers and endpoints that other agents chose.
      {
        head: "path",
        isLong: true,
        cell: (sides) => foreign(describePath(sides, relayIsSet).sentence),
      },
    ],
  });
}

/**
 * A pair has a PSK if both agents have a peer and share an active rule. Whether the other agent has
 * a peer is unknown here.
 */
function psks({ rules, described: { agent_id, has_peer } }: ShownAgent): Markup {
  const others = new Set(
    rules.filter(({ active }) => active && has_peer)
      .map(({ from_agent, to_agent }) => from_agent === agent_id ? to_agent : from_agent),
  );
  return table(Array.from(others).sort(), {
    name: "PSKs",
    none: "It shares no PSK.",
    columns: [
      { head: "with", cell: agent },
      {
        head: "",
        cell: (other) =>
          act("psk.rotate", { a: agent_id, b: other }, {
            label: "Rotate …",
            about: `with ${other}`,
          }),
      },
    ],
  });
}

function targetOf({ from_agent, to_agent, port, proto }: RuleRow) {
  return { from_agent, to_agent, port: String(port), proto };
}

function inWords({ from_agent, to_agent, port, proto }: RuleRow): string {
  return `${proto} ${port} from ${from_agent} to ${to_agent}`;
}
