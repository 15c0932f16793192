// Renamed: the formatter would reflow templates tagged `html`, but their lines matter here.
import { html as escaped, raw } from "hono/html";
import type { LinkedFile } from "../../_shared/operations/link.ts";
import { publicOrigin } from "../../_shared/request/reading/public_origin.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";
import { visible } from "../../_shared/operations/mcp/escapes.ts";
import { STYLE, STYLE_POLICY } from "./style.ts";

/** A page with the file's name, size and sender, and a button that downloads it. */
export async function filePage(
  file: LinkedFile,
  request: Request,
  settings: PlatformSettings,
): Promise<Response> {
  const name = shownName(file);
  const page =
    await escaped`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${name}</title><style>${
      raw(STYLE)
    }</style>
<main>
<h1><bdi>${name}</bdi></h1>

<p>${sizeInWords(file.size)}, from <bdi>${file.from_agent}</bdi>.

<form method="post"><button>Download</button></form>

<p>This link works until <time datetime="${file.expires_at}">${
      instantInWords(file.expires_at)
    }</time>${downloadsInWords(file)}.
</main>
`;
  return new Response(String(page), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      // Browsers also apply `form-action` to the redirect that follows the form.
      "content-security-policy": `${STYLE_POLICY}; form-action 'self' ${
        publicOrigin(request, settings)
      }`,
      "x-content-type-options": "nosniff",
      vary: "accept",
    },
  });
}

/** The file's name and size as text, for a preview. */
export function fileText(file: LinkedFile): Response {
  return new Response(`${shownName(file)}, ${sizeInWords(file.size)}\n`, {
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  });
}

/** The name of the downloaded file. Characters that could hide what it is are escaped. */
function shownName({ key }: LinkedFile): string {
  return visible(key.slice(key.lastIndexOf("/") + 1));
}

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

function sizeInWords(bytes: number): string {
  const power = bytes === 0 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat("en", {
    style: "unit",
    unit: UNITS[power]!,
    unitDisplay: power === 0 ? "long" : "short",
    maximumSignificantDigits: 3,
  }).format(bytes / 1000 ** power);
}

function instantInWords(instant: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "UTC",
  });
  return `${format.format(new Date(instant))} UTC`;
}

function downloadsInWords({ downloads_left: left }: LinkedFile): string {
  if (left === null) return "";
  return left === 1 ? ", for one more download" : `, for ${left} more downloads`;
}
