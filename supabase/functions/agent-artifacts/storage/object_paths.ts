/**
 * Where objects lie, as far as it is decided here.
 * `supabase/schemas/artifacts/storage/objects.sql` says the same, and all the rest.
 */

/** The private bucket that a migration makes. */
export const BUCKET = "agent-artifacts";

/** Where the upload URL of an artifact puts its bytes. */
export function incomingPath(artifactId: string): string {
  return `incoming/${artifactId}`;
}
