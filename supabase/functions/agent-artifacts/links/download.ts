import type { Link, LinkedFile } from "../../_shared/operations/link.ts";
import type { Platform } from "../../_shared/operations/operation.ts";
import { sha256Hex } from "../../_shared/identity/secrets.ts";
import { createDownloads, GRANT_TOKEN_ERRORS } from "../download.ts";
import { grantToken } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

/** /fetch for a person: the browser downloads the file. */
export function createLink(platform: Platform<ArtifactsSettings>): Link {
  const { callDatabase } = platform;
  const { redeem } = createDownloads(platform);
  return {
    summary:
      "Follow a link: redirects to the download of the file that the grant token gives access to.",
    description:
      "If the grant has `max_downloads`, every redirect to the download counts, and nothing else. " +
      "If the project can serve HTML, which the platform's default domain cannot, a browser gets a " +
      "page with a button that sends the POST. The robots that chat programs send for a preview " +
      "get the file's name and size as text. HEAD answers as a program's GET would, without " +
      "`location`. Errors are HTML pages if the request prefers `text/html` to JSON.",
    tag: "Artifacts",
    callers: "anyone with the link",
    token: grantToken,
    limitedBy: sha256Hex,
    errors: GRANT_TOKEN_ERRORS,
    async follow({ token, ...asking }) {
      return (await redeem(token, asking)).url;
    },
    describe: (token) =>
      callDatabase<LinkedFile>("check_grant_token", { token_hash: sha256Hex(token) }),
  };
}
