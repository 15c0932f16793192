/** A fault that is put into a deployment, and that the remedy mends as the doctor prints it. */
export interface MendedFault {
  readonly fault: string;
  /** SQL, run by a superuser. */
  readonly put: string;
  readonly check: string;
  readonly level?: "note" | "fault";
  readonly message: RegExp;
  /** What the test made for the fault alone. */
  readonly cleanUp?: string;
}
