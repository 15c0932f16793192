import { html } from "hono/html";
import { inBytes, plain } from "../../../command/terminal/output.ts";

/** HTML in which every value was escaped. */
export type Markup = ReturnType<typeof html>;

/** What a column holds. */
export interface Column<Row> {
  readonly head: string;
  /** Numbers are aligned by their last digit. */
  readonly isNumber?: boolean;
  /** Texts of any length, which may be broken at any character. */
  readonly isLong?: boolean;
  /** Set if the list can be sorted by this column. */
  readonly order?: Order;
  readonly cell: (row: Row) => Markup | string | number;
}

/** The link that sorts by a column, and how the column is sorted now. */
export interface Order {
  readonly href: string;
  readonly now: "ascending" | "descending" | "none";
}

/** A table of `rows`, or the text `none` if there are no rows. `name` is for screen readers. */
export function table<Row>(
  rows: readonly Row[],
  { name, columns, none }: {
    readonly name: string;
    readonly columns: readonly Column<Row>[];
    readonly none: string;
  },
): Markup {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const kindOf = ({ isNumber, isLong }: Column<Row>) =>
    isNumber ? "number" : isLong ? "long" : "text";
  // A region that scrolls can be reached by keyboard only if it takes the focus.
  return html`
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table>
        <thead>
          <tr>${columns.map((column) => head(column, kindOf(column)))}</tr>
        </thead>
        <tbody>${rows.map((row) =>
          html`<tr>${
            columns.map((column) =>
              html`<td class="${kindOf(column)}" data-head="${column.head}">${
                column.cell(row)
              }</td>`
            )
          }</tr>`
        )}</tbody>
      </table>
    </div>
  `;
}

function head<Row>({ head, order }: Column<Row>, kind: string): Markup {
  if (head === "") return html`<td class="${kind}"></td>`;
  if (order === undefined) return html`<th scope="col" class="${kind}">${head}</th>`;
  return html`
    <th scope="col" class="${kind}"
      aria-sort="${order.now}"><a href="${order.href}">${head}</a></th>
  `;
}

/**
 * A text that somebody else chose: it may be very long, or contain characters that steer how it is
 * displayed.
 */
export function foreign(text: string): Markup {
  return html`<bdi>${plain(text)}</bdi>`;
}

/** An agent's name, as a link to its page. */
export function agent(agentId: string | null): Markup | string {
  return agentId === null
    ? ""
    : html`<a href="${agentPath(agentId)}" title="${agentId}">${agentId}</a>`;
}

/** All pages have the same depth, so this relative path works from each of them. */
export function agentPath(agentId: string): string {
  return `../agents/${encodeURIComponent(agentId)}`;
}

/** A link to what an action would do. `about` tells it apart from similar links on the page. */
export function act(
  action: string,
  target: Readonly<Record<string, string>>,
  { label, about = "" }: { readonly label: string; readonly about?: string },
): Markup {
  return html`
    <a class="act"
      href="../act/${action}?${String(
        new URLSearchParams(target),
      )}">${label}<span class="unseen"> ${about}</span></a>
  `;
}

export function bytes(count: number): Markup {
  return html`<span title="${count.toLocaleString("en")} bytes">${inBytes(count)}</span>`;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** How long ago, or how far ahead. The title shows the timestamp itself. */
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
