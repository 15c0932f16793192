/** What a reader puts in place of the documentation's placeholders. */
import { SECRET_KEY, SUPABASE_URL } from "../../conformance/client.ts";

/** What `link` takes: 20 letters. */
export const PROJECT_REF = "abcdefghijklmnopqrst";

/** A block as a reader of this stack pastes it. */
export function filledIn(
  block: string,
  { url = SUPABASE_URL, secretKey = SECRET_KEY } = {},
): string {
  return block
    .replaceAll("https://<ref>.supabase.co", url)
    .replaceAll("<ref>", PROJECT_REF)
    .replaceAll("sb_secret_…", secretKey);
}
