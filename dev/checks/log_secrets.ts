import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The forms of all secrets that this project makes. */
const SECRET_FORMS: Readonly<Record<string, RegExp>> = {
  "an agent key": /\bak_[0-9a-f]{64}\b/,
  "a grant token": /\bg_[A-Za-z0-9_-]{43}\b/,
  "a secret key": /\bsb_secret_[A-Za-z0-9_-]{16,}/,
  "a JWT, such as a signed URL has":
    /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{20,}/,
  "20 bytes in base64, such as a relay's credential":
    /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{26}[AEIMQUYcgkosw048]=(?![A-Za-z0-9+/=])/,
  "32 bytes in base64, such as a PSK":
    /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=(?![A-Za-z0-9+/=])/,
};

/**
 * One sentence for each log file in `directory` and each form of secret in it. Does not repeat the
 * secret itself.
 */
export async function findSecretsInLogs(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of await readdir(directory)) {
    const lines = (await readFile(join(directory, file), "utf8")).split("\n");
    for (const [what, form] of Object.entries(SECRET_FORMS)) {
      const count = lines.filter((line) => form.test(line)).length;
      if (count > 0) found.push(`${file} holds ${what} in ${count} line(s).`);
    }
  }
  return found;
}
