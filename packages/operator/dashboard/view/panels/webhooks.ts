import { html } from "hono/html";
import { lastAnswer } from "../../../webhooks/webhook.ts";
import { NEWEST_DELIVERIES, type ShownWebhook, type ShownWebhooks } from "../../read/webhooks.ts";
import { agent, foreign, instant, type Markup, table } from "../cells.ts";

/** The database counts no more. */
const MOST_COUNTED = 1000;

const ENDS = {
  deleted: "You deleted it.",
  gone: "The receiver answered 410. Create another webhook if it should get events again.",
  erased: "It named an erased agent.",
} as const;

/** Where events are sent, and what did not arrive. */
export function webhooksTable({ shown, isCut }: ShownWebhooks): Markup {
  return html`${
    table(shown, {
      name: "webhooks",
      none: "There are no webhooks. agentops webhook create makes one.",
      columns: [
        { head: "webhook", isLong: true, cell: name },
        // The rest of the URL may contain a secret.
        { head: "host", isLong: true, cell: ({ url }) => foreign(URL.parse(url)?.host ?? "") },
        { head: "events", isLong: true, cell: filter },
        { head: "waiting", isNumber: true, cell: ({ waiting }) => counted(waiting) },
        { head: "parked", isNumber: true, cell: ({ parked }) => counted(parked) },
        { head: "last success", cell: ({ success }) => instant(success?.delivered_at ?? null) },
        { head: "last failure", cell: failure },
        { head: "what to do", isLong: true, cell: advice },
      ],
    })
  }${
    shown.length === 0
      ? ""
      : html`<p>The last success and failure are those among the newest ${NEWEST_DELIVERIES} events of a webhook.</p>`
  }${isCut ? html`<p>There are more: agentops webhook list shows all.</p>` : ""}`;
}

function name({ label, webhook_id }: ShownWebhook): Markup {
  return label === null ? html`${webhook_id}` : html`<div>${foreign(label)}<br>${webhook_id}</div>`;
}

function filter({ agent_id, tag, types }: ShownWebhook): Markup {
  const whose = agent_id === null
    ? tag === null ? "all" : `of ${tag}`
    : html`of ${agent(agent_id)}`;
  return html`<div>${whose}${types === null ? "" : `: ${types.join(", ")}`}</div>`;
}

function counted(count: number): string {
  return count >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(count);
}

function failure({ failure }: ShownWebhook): Markup | string {
  if (failure === null) return "";
  const { attempts, parked_at, next_at } = failure;
  return html`<div>${lastAnswer(failure)}, tried ${
    attempts === 1 ? "once" : `${attempts} times`
  }; ${
    parked_at === null ? html`again ${instant(next_at)}` : html`parked ${instant(parked_at)}`
  }</div>`;
}

function advice(
  { ended_at, end_reason, parked, failure, webhook_id }: ShownWebhook,
): Markup | string {
  if (ended_at !== null) {
    return html`<div>Ended ${instant(ended_at)}. ${
      end_reason === null ? "" : ENDS[end_reason]
    }</div>`;
  }
  if (parked > 0) {
    return html`<div>When the receiver works again:
      <code>agentops webhook requeue ${webhook_id}</code></div>`;
  }
  return failure === null ? "" : "Nothing: it is sent again for 24 hours.";
}
