/** What an agent proves its origin with. */
export type Proof =
  | { readonly enrolment_key: string }
  | { readonly token: string; readonly enrolment_id?: string | undefined };

/** An agent that has enrolled, with its new key. */
export interface Enrolled {
  readonly agent_id: string;
  readonly key: string;
  readonly key_id: string;
  readonly expires_at: string;
  readonly tags: string[];
  readonly generation: number;
  readonly ephemeral_seconds: number | null;
}

/** What the SQL functions answer: the reason of a refusal is for the operator's events alone. */
export type Outcome = Enrolled | Refused;

export interface Refused {
  readonly refused: string;
  /** If there are too many agents or instances: how many are allowed. */
  readonly maximum?: number;
}
