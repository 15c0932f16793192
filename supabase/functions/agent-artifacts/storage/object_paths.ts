/**
 * The paths of objects that the functions choose. `supabase/schemas/artifacts/storage/objects.sql`
 * defines the same paths, and all others.
 */

/** The private bucket that a migration makes. */
export const BUCKET = "agent-artifacts";

/** Where the upload URL of an artifact puts its bytes. */
export function incomingPath(artifactId: string): string {
  return `incoming/${artifactId}`;
}
