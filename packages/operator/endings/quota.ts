import { UsageError } from "../../command/usage_error.ts";

const UNITS = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** The bytes of `--quota`: `5G`, `500M`, `1000`; null for `none`. Throws UsageError. */
export function quotaOf(text: string): number | null {
  if (text === "none") return null;
  const [, number, unit] = /^(\d{1,12})([KMGT]?)$/.exec(text) ?? [];
  const bytes = Number(number) * UNITS[(unit ?? "") as keyof typeof UNITS];
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(
    "--quota takes a number of bytes, such as 500M or 5G; 0 for any number; or none.",
  );
}
