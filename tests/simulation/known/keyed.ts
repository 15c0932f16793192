import type { JsonObject } from "../../conformance/client.ts";
import type { Agent, KnownArtifact } from "./known.ts";

/** A request for a grant with an idempotency key, whatever was answered to it. */
export interface KeyedRequest {
  /** Also the key, such as `i7`: first sent in step 7. */
  readonly name: string;
  readonly owner: Agent;
  readonly artifact: KnownArtifact;
  readonly to: Agent;
  readonly request: JsonObject;
}
