import assert from "node:assert/strict";
import { encodeBase64 } from "../../../../supabase/functions/_shared/identity/encryption/base64.ts";
import {
  deleteWebhook,
  listWebhooks,
  putWebhook,
  QUIET_URL,
} from "../../../conformance/webhooks/webhooks.ts";
import { newName } from "../../../conformance/enrolment/enrolments.ts";
import { HOOK, HOOK_ARRANGED } from "../../../bench/fill/cast.ts";
import { call, OPERATOR } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";

const KEYS = { PSK_ENCRYPTION_KEYS: encodeBase64(new Uint8Array(32).fill(7)) };
const ENCRYPTED = "v1.0123456789abcdef.AAAA";

/** No event has this type. So nothing is ever sent. */
const types = ["nothing.happens"];

export const card: ArtifactsCard = {
  document: "left out: only the operator's tasks call it",
  asks: ({ one }) => ({ url: QUIET_URL, agent_id: one.id, types }),
  valid: async () => {
    const { webhook_id } = await putWebhook();
    return [
      { as: "operator", body: { url: QUIET_URL, label: "mutated", types } },
      { as: "operator", body: { webhook_id, overlap_seconds: 60 } },
    ];
  },
  tool: "none: for the operator",
  afterRestore: "listed",
  faults: [
    {
      environment: KEYS,
      settled: ["200"],
      arrange() {
        const label = newName("label");
        return Promise.resolve({
          request: { as: "operator", body: { url: QUIET_URL, label, types } },
          async holds() {
            const made = (await listWebhooks()).filter((one) => one.label === label);
            assert.ok(made.length > 0);
            for (const { webhook_id } of made) await deleteWebhook(webhook_id);
          },
        });
      },
    },
    {
      situation: "of a webhook that is there",
      environment: KEYS,
      settled: ["200"],
      async arrange() {
        const { webhook_id } = await putWebhook();
        return {
          request: { as: "operator", body: { webhook_id, overlap_seconds: 60 } },
          async holds() {
            assert.ok((await listWebhooks()).some((one) => one.webhook_id === webhook_id));
            await deleteWebhook(webhook_id);
          },
        };
      },
    },
  ],
  plans: [
    call("create_webhook", {
      caller: OPERATOR,
      webhook: {
        webhook_id: `whk_${"1".repeat(32)}`,
        url: "https://hooks.example.com/",
        encrypted_secret: ENCRYPTED,
      },
    }),
    call("rotate_webhook", {
      caller: OPERATOR,
      webhook_id: HOOK,
      encrypted_secret: ENCRYPTED,
      overlap_seconds: 60,
    }, { arranged: HOOK_ARRANGED }),
  ],
  lockWaits: [],
};
