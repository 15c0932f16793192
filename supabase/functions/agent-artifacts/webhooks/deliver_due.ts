import type { CallerArgument } from "../../_shared/identity/callers/caller.ts";
import type { Platform } from "../../_shared/operations/operation.ts";
import type { EncryptionKeys } from "../../_shared/identity/encryption/encryption_key.ts";
import type { ArtifactsSettings } from "../settings.ts";
import { type Delivery, type Outcome, send } from "./send.ts";
import { readEncryptionKeys, type Sign, signerOf } from "./signing.ts";

/** From then on, a call takes nothing more. The platform ends requests after 150 seconds. */
const TAKING_MILLISECONDS = 40_000;
/** Longer than one attempt, so that no other call sends the same delivery meanwhile. */
const LEASE_SECONDS = 60;
/** Of all webhooks, in one call. */
const AT_ONCE = 256;
/** Of one webhook, in all calls together: a slow receiver takes no more places than these. */
const AT_ONCE_TO_ONE = 8;
const LOOK_MILLISECONDS = 250;
/**
 * How long a call goes on looking when nothing is due. At most one kick a second starts a call: see
 * agents.kick_deliveries.
 */
const LINGER_MILLISECONDS = 2_000;
/** Answers that arrive within this time are recorded together. */
const GATHER_MILLISECONDS = 10;
const TRIES_TO_RECORD = 20;

interface DueWebhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly encrypted_secret: string;
  readonly previous_encrypted_secret: string | null;
  readonly deliveries: readonly Delivery[];
}

interface Taken {
  readonly webhooks: readonly DueWebhook[];
  /** Without a live webhook, nothing can become due. */
  readonly any_live: boolean;
}

export interface DeliveryCounts {
  readonly delivered: number;
  readonly failed: number;
}

/**
 * Sends what is due until nothing has been due for a while, to all receivers at the same time. If
 * this process is killed, the leases end, and another call sends the same deliveries again.
 */
export async function deliverDue(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
  caller: CallerArgument,
): Promise<DeliveryCounts> {
  const startedAt = performance.now();
  const inFlight = new Set<Promise<void>>();
  let outcomes: Outcome[] = [];
  let quietSince = startedAt;
  let failures = 0;
  const counts = { delivered: 0, failed: 0 };
  let any_live = true;
  let encryptionKeys: EncryptionKeys | null = null;

  function settle(attempt: Promise<Outcome>): void {
    const settled = attempt.then((outcome) => {
      outcomes.push(outcome);
      counts[isDelivered(outcome) ? "delivered" : "failed"] += 1;
    }).finally(() => inFlight.delete(settled));
    inFlight.add(settled);
  }

  for (;;) {
    const mayTake = performance.now() - startedAt < TAKING_MILLISECONDS;
    const reported = outcomes;
    outcomes = [];
    let due: readonly DueWebhook[] = [];
    try {
      ({ webhooks: due, any_live } = await callDatabase<Taken>(
        "take_deliveries",
        {
          caller,
          outcomes: reported,
          max_entries: mayTake ? AT_ONCE - inFlight.size : 0,
          max_per_webhook: AT_ONCE_TO_ONE,
          lease_seconds: LEASE_SECONDS,
        },
      ));
      failures = 0;
    } catch (cause) {
      // What was sent must be recorded, or it is sent again.
      failures += 1;
      if (reported.length + inFlight.size === 0 || failures >= TRIES_TO_RECORD) throw cause;
      outcomes = [...reported, ...outcomes];
    }
    for (const webhook of due) {
      encryptionKeys ??= readEncryptionKeys(settings.pskEncryptionKeysText);
      const sign = signerFor(webhook, encryptionKeys);
      for (const delivery of webhook.deliveries) {
        settle(
          sign === null
            ? Promise.resolve(unreadable(delivery))
            : send(delivery, { url: webhook.url, sign, settings }),
        );
      }
    }
    const now = performance.now();
    if (due.length + reported.length > 0) quietSince = now;
    const isQuiet = inFlight.size === 0 && outcomes.length === 0;
    if (isQuiet && (!mayTake || !any_live || now - quietSince > LINGER_MILLISECONDS)) return counts;
    await Promise.race([...inFlight, pause(LOOK_MILLISECONDS)]);
    if (outcomes.length > 0) await pause(GATHER_MILLISECONDS);
  }
}

/** Null if a secret cannot be decrypted. */
function signerFor(webhook: DueWebhook, encryptionKeys: EncryptionKeys): Sign | null {
  const { webhook_id, encrypted_secret, previous_encrypted_secret } = webhook;
  const encryptedSecrets = previous_encrypted_secret === null
    ? [encrypted_secret]
    : [encrypted_secret, previous_encrypted_secret];
  try {
    return signerOf({ webhookId: webhook_id, encryptedSecrets, encryptionKeys });
  } catch {
    return null;
  }
}

function unreadable({ webhook_id, event_id, attempt }: Delivery): Outcome {
  return { webhook_id, event_id, attempt, status: null, error: "secret_unreadable" };
}

function isDelivered({ status }: Outcome): boolean {
  return status !== null && status >= 200 && status < 300;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
