import { html } from "hono/html";
import { endOf, type Enrolment } from "../../enrolment/enrolment.ts";
import { act, agent, foreign, instant, type Markup, table } from "./cells.ts";

/** The page of the enrolments, newest first. */
export function enrolmentsList(enrolments: readonly Enrolment[]): Markup {
  return html`
    <h1>Enrolments</h1>
    <p>With an enrolment, an agent proves who it is and gets an agent key. Revoking an enrolment ends every agent that enrolled with it.</p>
    <div data-fragment="list">
      ${table(enrolments, {
        name: "enrolments",
        none: "There are none: every agent key is made by the operator.",
        columns: [
          { head: "enrolment", isLong: true, cell: ({ enrolment_id }) => enrolment_id },
          { head: "label", cell: ({ label }) => label === null ? "" : foreign(label) },
          {
            head: "by",
            isLong: true,
            cell: ({ issuer }) => issuer === null ? "enrolment key" : foreign(issuer),
          },
          { head: "agent", cell: agentOf },
          { head: "tags", cell: ({ tags }) => tags.join(" ") },
          {
            head: "uses left",
            isNumber: true,
            cell: ({ uses_left }) => uses_left === null ? "any" : uses_left,
          },
          {
            head: "ends",
            cell: (enrolment) => endOf(enrolment) ?? instant(enrolment.expires_at, "never"),
          },
          {
            head: "",
            cell: ({ enrolment_id, revoked_at }) =>
              revoked_at === null
                ? act("enrolment.revoke", { enrolment_id }, {
                  label: "revoke",
                  about: enrolment_id,
                })
                : "",
          },
        ],
      })}
    </div>
    <form class="line" action="../act/enrolment.create">
      <button>Make an enrolment key …</button>
    </form>
  `;
}

function agentOf({ agent_id, agent_template, agent_prefix }: Enrolment): Markup | string {
  return agent_id === null
    ? agent_template ?? (agent_prefix ? `${agent_prefix}…` : "names itself")
    : agent(agent_id);
}
