import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { sha256Hex } from "../../_shared/secrets.ts";
import { access, type GivenAccess, signAccess } from "../access.ts";
import { grantToken } from "../fields.ts";
import { createObjectStore } from "../object_store.ts";

export function createOperation({ callDatabase, settings }: Platform): Operation {
  const store = createObjectStore(settings);
  return defineOperation({
    summary: "Exchange a grant token for a short-lived download URL.",
    // The token is the credential; every other one is ignored.
    access: "anyone",
    request: z.object({ grant_token: grantToken }),
    response: access,
    errors: ["grant_not_found", "grant_expired", "grant_revoked", "artifact_expired"],
    async handle({ input, caller, request }) {
      const given = await callDatabase<GivenAccess>("redeem_grant_token", {
        caller,
        token_hash: sha256Hex(input.grant_token),
        window_seconds: settings.artifactsFetchUrlSeconds,
      });
      return await signAccess(given, { store, request, settings });
    },
  });
}
