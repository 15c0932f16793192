/** A fault that a test creates, and that the doctor's printed remedy repairs. */
export interface MendedFault {
  readonly fault: string;
  /** SQL that creates the fault, run by a superuser. */
  readonly put: string;
  readonly check: string;
  readonly level?: "note" | "fault";
  readonly message: RegExp;
  /** SQL that removes what the fault needed. */
  readonly cleanUp?: string;
}
