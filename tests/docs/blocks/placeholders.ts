/** Replaces the documentation's placeholders, as a reader would. */
import { SECRET_KEY, SUPABASE_URL } from "../../conformance/client.ts";

/** A project ref that `link` accepts: 20 letters. */
export const PROJECT_REF = "abcdefghijklmnopqrst";

/** A block with the values of this stack. */
export function filledIn(
  block: string,
  { url = SUPABASE_URL, secretKey = SECRET_KEY } = {},
): string {
  return block
    .replaceAll("https://<ref>.supabase.co", url)
    .replaceAll("<ref>", PROJECT_REF)
    .replaceAll("sb_secret_…", secretKey);
}
