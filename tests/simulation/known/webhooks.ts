/** A webhook that the operator has made. */
export interface KnownWebhook {
  /** Such as `w7`: made in step 7. Its receiver is called so, too. */
  readonly name: string;
  readonly id: string;
}

/** What a history knows of webhooks. */
export class Webhooks {
  readonly made: KnownWebhook[] = [];
  /** How many rotations of each may still have the last word. */
  readonly rotating = new Map<string, number>();
  /** The last event whose deliveries an invariant has looked for. */
  lastEvent = "0";
  /** Whether everything that waited has just been sent. */
  isOver = false;
}
