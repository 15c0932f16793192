import * as z from "zod";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { sha256Hex } from "../../_shared/identity/secrets.ts";
import { createDownloads, download, GRANT_TOKEN_ERRORS } from "../download.ts";
import { grantToken } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

export function createOperation(platform: Platform<ArtifactsSettings>): Operation {
  const { redeem } = createDownloads(platform);
  return defineOperation({
    summary: "Exchange a grant token for a short-lived download URL.",
    description:
      "If the grant has `max_downloads`, every answer counts, no matter who sent the request.",
    operationId: "fetchGrant",
    tag: "Artifacts",
    callers: "anyone with the token",
    // It adds to the download count of a grant that has `max_downloads`.
    effect: "adds",
    identification: "none",
    limitedBy: ({ grant_token }) => sha256Hex(grant_token),
    request: z.strictObject({ grant_token: grantToken }),
    response: download,
    errors: GRANT_TOKEN_ERRORS,
    handle: ({ input, ...asking }) => redeem(input.grant_token, asking),
  });
}
