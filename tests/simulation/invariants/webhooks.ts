import type { Known } from "../known/known.ts";
import { CREW } from "../known/tasks.ts";
import type { Invariant } from "../registry.ts";
import type { DeliveryFaults } from "../webhooks/handed_out.ts";
import type { World } from "../world/world.ts";

/** Agents with the tag, which never lose it. */
const OF_CREW = "('bob', 'cleo')";

/** An event since the last look that a live webhook matches, and that was not queued for it. */
const MISSED = `
  select string_agg(w.url || ' misses ' || e.action, ', ')
  from agents.webhooks w
  join agents.events made on made.action = 'webhook.created' and made.object_id = w.webhook_id
  join agents.events e on e.event_id > greatest(made.event_id, $1::bigint)
  where w.ended_at is null
    and e.action <> 'webhook.tested'
    and (w.types is null or e.action = any (w.types))
    and (w.agent_id is null
      or w.agent_id in (e.subject_agent_id, e.other_agent_id, e.actor_agent_id))
    and (w.tag is null or (w.tag = '${CREW}' and (
      e.subject_agent_id in ${OF_CREW} or e.other_agent_id in ${OF_CREW}
      or e.actor_agent_id in ${OF_CREW}
    )))
    and not exists (
      select from agents.webhook_deliveries d
      where d.webhook_id = w.webhook_id and d.event_id = e.event_id
    )`;

const DELIVERED = `
  select coalesce(json_agg(json_build_array(w.url, d.message_id)), '[]')
  from agents.webhook_deliveries d join agents.webhooks w on w.webhook_id = d.webhook_id
  where d.delivered_at is not null`;

const LATEST = "select coalesce(max(event_id), 0) from agents.events";

/** One query, because it runs at every step. */
function lookAtOutbox({ database, receivers }: World, { webhooks }: Known): string[] {
  const [row] = database.read(
    `select (${LATEST}) as latest, (${MISSED}) as missed, (${DELIVERED}) as delivered`,
    [webhooks.lastEvent],
  );
  webhooks.lastEvent = row!["latest"]!;
  if (row!["missed"] !== null) return [row!["missed"]!];
  return (JSON.parse(row!["delivered"]!) as [string, string][])
    .filter(([url, id]) => !receivers.hasAccepted(url, id))
    .map(([url, id]) => `${id} has not arrived at ${url}`);
}

/** What `HandedOut` saw. */
function none(name: string, faults: keyof DeliveryFaults): Invariant {
  return { name, look: ({ handedOut }) => handedOut.faults[faults] };
}

export const WEBHOOKS: readonly Invariant[] = [
  {
    name: "each event is queued for the webhooks that it concerns, and counts when it has arrived",
    look: (world, known) =>
      known.webhooks.made.length === 0 || world.isClosed ? [] : lookAtOutbox(world, known),
  },
  none("nobody sends what somebody else is sending", "sentTwiceAtOnce"),
  none("nothing that has arrived is sent again", "sentAfterArrival"),
  none("what has failed is not sent again too soon", "sentTooSoon"),
  none("nothing is sent for a webhook that has ended", "sentAfterEnd"),
  {
    name: "receivers get each message signed, with ids alone, and once for each attempt",
    look: ({ receivers }) => receivers.faults,
  },
  {
    name: "a delivery is given up only after a day",
    sql: `select d.message_id || ' was given up' as broken
      from agents.webhook_deliveries d
      where d.parked_at - d.first_attempt_at < interval '1 day'`,
  },
  {
    name: "each event has arrived or was given up when nothing is due any more",
    look({ database }, { webhooks }) {
      if (!webhooks.isOver) return [];
      return database.read(
        `select d.message_id || ' waits for ' || w.url as broken
        from agents.webhook_deliveries d join agents.webhooks w on w.webhook_id = d.webhook_id
        where w.ended_at is null and d.forget_at is null`,
      ).map(({ broken }) => broken!);
    },
  },
];
