import { html } from "hono/html";
import type { Holdings, Panel, PanelName } from "../../read/panels.ts";
import { bytes, instant, type Markup, table } from "../cells.ts";
import { webhooksTable } from "./webhooks.ts";

/** What a panel shows: findings and, if known, what the project holds, or its webhooks. */
export function panelFragment(name: PanelName, { findings, holdings, webhooks }: Panel): Markup {
  return html`<ul class="findings">${
    findings.map(({ check, level, message, remedy }) =>
      html`<li class="${level}"><strong>${level}</strong> ${check}: ${message}${
        remedy === null ? "" : html`<br><span class="remedy">${remedy}</span>`
      }</li>`
    )
  }</ul>${
    findings.length === 0
      ? html`<p class="none">The database gave no answer: run the doctor.</p>`
      : ""
  }
  ${holdings === null ? "" : name === "sweep" ? backlog(holdings) : held(holdings)}${
    webhooks === null ? "" : webhooksTable(webhooks)
  }`;
}

function backlog({ backlog, backlog_since, swept_at }: Holdings): Markup {
  return html`<p>Last sweep: ${instant(fromSeconds(swept_at), "never")}. ${
    backlog_since === null
      ? "Nothing waits for the next one."
      : html`The oldest item has waited since ${instant(fromSeconds(backlog_since))}.`
  }</p>${
    table(Object.entries(backlog ?? {}), {
      name: "what waits for the sweep",
      none: "Nothing waits for the sweep.",
      columns: [
        { head: "what waits", cell: ([kind]) => kind },
        { head: "how many", isNumber: true, cell: ([, count]) => count },
      ],
    })
  }`;
}

function held({ artifacts, bytes: held, surplus_bytes, grants, parked_tasks }: Holdings): Markup {
  return html`${
    table(Object.entries(artifacts), {
      name: "what Storage holds",
      none: "Nothing.",
      columns: [
        { head: "files", cell: ([state]) => state },
        { head: "how many", isNumber: true, cell: ([, count]) => count },
        { head: "bytes", isNumber: true, cell: ([state]) => bytes(held[state] ?? 0) },
      ],
    })
  }<p>${bytes(surplus_bytes)} uploaded beyond registered sizes; ${grants} grants${
    parked_tasks ? `, ${parked_tasks} parked tasks` : ""
  }. <a
    href="../agents/?sort=-bytes">Agents by bytes</a></p>`;
}

function fromSeconds(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString();
}
