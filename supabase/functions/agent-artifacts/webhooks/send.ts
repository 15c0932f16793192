/** Sends one event to an address that was checked, whatever its name resolves to a moment later. */
import { sendPinned } from "../../_shared/identity/issuers/pinned_request.ts";
import { publicAddresses, urlComplaint } from "../../_shared/identity/issuers/public_address.ts";
import type { Sign } from "./signing.ts";
import type { ArtifactsSettings } from "../settings.ts";

type TargetSettings = Pick<ArtifactsSettings, "supabaseUrl" | "webhooksAllowHttp">;

/** What is wrong with the URL of a webhook; null: nothing. Does not look up its name. */
export function targetComplaint(
  text: string,
  { supabaseUrl, webhooksAllowHttp }: TargetSettings,
): string | null {
  // Only for a service that itself runs on loopback, as the local stack does.
  const allowLoopback = webhooksAllowHttp && new URL(supabaseUrl).hostname === "127.0.0.1";
  const options = { allowLoopback, allowQuery: true };
  const complaint = urlComplaint(text, options);
  if (complaint === null || !webhooksAllowHttp || !text.startsWith("http:")) return complaint;
  return urlComplaint(text.replace("http:", "https:"), options)?.replace("https:", "http:") ?? null;
}

/** What take_deliveries returns of one event; null: the log has forgotten it. */
export interface DueEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly position: string;
  readonly agent_id?: string;
  readonly grant_id?: string;
  readonly artifact_id?: string;
}

export interface Delivery {
  readonly webhook_id: string;
  readonly event_id: number;
  /** The header webhook-id. */
  readonly message_id: string;
  /** Which attempt this is. */
  readonly attempt: number;
  readonly event: DueEvent | null;
}

/** How an attempt ended, as record_outcomes takes it. */
export interface Outcome {
  readonly webhook_id: string;
  readonly event_id: number;
  readonly attempt: number;
  /** The receiver's HTTP status; null: it did not answer. */
  readonly status: number | null;
  /** One word; null: it answered. */
  readonly error: string | null;
}

/** How long a receiver may take, with the look-up of its name. */
const SEND_MILLISECONDS = 30_000;

/** Sends one event once. Never throws. No message of an error is kept: it may quote the URL. */
export async function send(
  delivery: Delivery,
  { url, sign, settings }: {
    readonly url: string;
    readonly sign: Sign;
    readonly settings: TargetSettings;
  },
): Promise<Outcome> {
  const { webhook_id, event_id, attempt, event } = delivery;
  const ended = (status: number | null, error: string | null): Outcome => ({
    webhook_id,
    event_id,
    attempt,
    status,
    error,
  });
  if (event === null) return ended(null, "event_forgotten");
  const signal = AbortSignal.timeout(SEND_MILLISECONDS);
  const body = bodyOf(event_id, event);
  try {
    // Again, because the setting may have changed since the webhook was created.
    const addresses = targetComplaint(url, settings) === null
      ? await publicAddresses(new URL(url), signal)
      : null;
    if (addresses === null) return ended(null, "address_refused");
    const headers = {
      "content-type": "application/json",
      ...sign({ id: delivery.message_id, sentAt: new Date(), body }),
    };
    const request = { url: new URL(url), addresses, headers, body, mostBytes: 8192, signal };
    return ended((await sendPinned(request)).status, null);
  } catch {
    return ended(null, signal.aborted ? "timeout" : "unreachable");
  }
}

/** Identifiers alone: never a file's name, a note, a token or bytes. */
function bodyOf(event_id: number, event: DueEvent): string {
  const { type, timestamp, agent_id = null, grant_id, artifact_id, position } = event;
  return JSON.stringify({
    type,
    timestamp,
    data: { event_id: `evt_${event_id}`, agent_id, grant_id, artifact_id, position },
  });
}
