/** The answer of `read_policy`. The SQL function's comment says what each field means. */
export interface PolicyInForce {
  readonly source: string;
  readonly fingerprint: string;
  readonly applied_at: string;
  /** Null: `agentops policy apply` has to be run again. */
  readonly finished_at: string | null;
  readonly rules: number;
}
