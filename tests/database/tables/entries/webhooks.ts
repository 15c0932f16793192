/** Webhooks and their outbox. */
import { NAME, OUR_WORD, type Tables } from "../table.ts";

const SECRET = "v1.0123456789abcdef.AAAA";

export const WEBHOOKS = {
  "agents.webhook_deliveries": {
    size: "grows",
    ends: { by: "sweep" },
    lives: "an event that was sent or given up; the log decides nothing by it",
    row: {
      webhook_id: "whk_{hex}",
      event_id: "1",
      message_id: "evt_1",
      delivered_at: "now",
      forget_at: "2026-01-01T00:00:00Z",
    },
  },
  "agents.webhook_kicks": {
    size: { bounded: "one row" },
    ends: { by: "nothing", why: "one row" },
    lives: "one row for ever",
    nameless: {
      url_secret: "the name of a Vault secret, which the operator chose",
      key_secret: "the name of a Vault secret, which the operator chose",
    },
  },
  "agents.webhooks": {
    size: { bounded: "at most 1000 live ones; the operator makes and ends each" },
    ends: { by: "sweep" },
    lives: "where the operator is told of events; it gives no access",
    row: {
      webhook_id: "whk_{hex}",
      url: "https://hooks.example.com/",
      encrypted_secret: SECRET,
      ended_at: "2026-01-01T00:00:00Z",
      end_reason: "deleted",
    },
    names: {
      agent_id: NAME,
      label: { value: "for {name}." },
    },
    nameless: {
      types: OUR_WORD,
      tag: "names a group of agents; the operator chose the word",
    },
  },
} satisfies Tables;
