import { html } from "hono/html";
import { inBytes, plain } from "../../../clients/typescript/src/cli/terminal/output.ts";

/** HTML in which every value was escaped. */
export type Markup = ReturnType<typeof html>;

/** What a column holds. */
export interface Column<Row> {
  readonly head: string;
  /** Numbers stand under each other by their last digit. */
  readonly isNumber?: boolean;
  /** Texts of any length, which may be broken anywhere. */
  readonly isLong?: boolean;
  readonly cell: (row: Row) => Markup | string | number;
}

/** A table of `rows`, or `none` if it is empty. */
export function table<Row>(
  rows: readonly Row[],
  { columns, none }: { readonly columns: readonly Column<Row>[]; readonly none: string },
): Markup {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const kindOf = ({ isNumber, isLong }: Column<Row>) =>
    isNumber ? "number" : isLong ? "long" : "text";
  return html`
    <table>
      <thead>
        <tr>${columns.map((column) => html`<th class="${kindOf(column)}">${column.head}</th>`)}</tr>
      </thead>
      <tbody>${rows.map((row) =>
        html`<tr>${
          columns.map((column) => html`<td class="${kindOf(column)}">${column.cell(row)}</td>`)
        }</tr>`
      )}</tbody>
    </table>
  `;
}

/** A text that somebody else chose: it may have no end, or try to steer how it is shown. */
export function foreign(text: string): Markup {
  return html`<bdi>${plain(text)}</bdi>`;
}

/** An agent's name, which opens the agent. */
export function agent(agentId: string | null): Markup | string {
  return agentId === null
    ? ""
    : html`<a href="#${encodeURIComponent(agentId)}" title="${agentId}">${agentId}</a>`;
}

export function bytes(count: number): Markup {
  return html`<span title="${count.toLocaleString("en")} bytes">${inBytes(count)}</span>`;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** How long ago, or in how long; the instant itself is its title. */
export function instant(timestamp: string | null, otherwise = ""): Markup | string {
  if (timestamp === null) return otherwise;
  const seconds = Math.round((Date.parse(timestamp) - Date.now()) / 1000);
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" })
    .format(Math.trunc(seconds / length), unit);
  return html`<time datetime="${timestamp}" title="${timestamp}">${words}</time>`;
}

/** The instant as a clock shows it. */
export function clock(timestamp: string): Markup {
  const [day = "", time = ""] = timestamp.split("T");
  return html`<time datetime="${timestamp}" title="${day}">${time.slice(0, 8)}</time>`;
}
