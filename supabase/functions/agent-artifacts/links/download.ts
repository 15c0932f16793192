import type { Link } from "../../_shared/links/link.ts";
import type { Platform } from "../../_shared/operations/operation.ts";
import { sha256Hex } from "../../_shared/secrets.ts";
import { createDownloads, GRANT_TOKEN_ERRORS } from "../download.ts";
import { grantToken } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** /fetch for a person: the browser downloads the file. */
export function createLink(platform: Platform<ArtifactsSettings>): Link {
  const { redeem } = createDownloads(platform);
  return {
    summary: "Open a link: redirects to the download of what a grant token gives.",
    description:
      "Of a grant with `max_downloads` every redirect counts. HEAD tells whether there " +
      "would be one: it has no `location`, and does not count. An error is a page where the " +
      "request prefers `text/html` to JSON.",
    tag: "Artifacts",
    callers: "whoever has the link",
    token: grantToken,
    limitedBy: sha256Hex,
    errors: GRANT_TOKEN_ERRORS,
    async follow({ token, ...asking }) {
      return (await redeem(token, asking)).url;
    },
    async check(token) {
      await platform.callDatabase("check_grant_token", { token_hash: sha256Hex(token) });
    },
  };
}
