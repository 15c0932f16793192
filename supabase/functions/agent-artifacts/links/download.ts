import type { Link } from "../../_shared/operations/link.ts";
import type { Platform } from "../../_shared/operations/operation.ts";
import { sha256Hex } from "../../_shared/secrets.ts";
import { createDownloads, GRANT_TOKEN_ERRORS } from "../download.ts";
import { grantToken } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** /fetch for a person: the browser downloads the file. */
export function createLink(platform: Platform<ArtifactsSettings>): Link {
  const { redeem } = createDownloads(platform);
  return {
    summary:
      "Follow a link: redirects to the download of the file that the grant token gives access to.",
    description:
      "If the grant has `max_downloads`, every redirect counts. HEAD answers as GET would, but " +
      "without `location`, and does not count. Errors are HTML pages if the request prefers " +
      "`text/html` to JSON.",
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
