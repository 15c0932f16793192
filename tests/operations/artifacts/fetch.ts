import { grantTokenOf, LIMITED, liveGrantIdOf, sha256 } from "../../bench/fill/cast.ts";
import { grant, publish } from "../../conformance/artifacts.ts";
import { call } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { arrangeOneDownload, castOfTwo } from "./arrangements.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: "has its credential in the body",
  valid: ({ reader, token }) => [
    { as: reader, body: { grant_token: token } },
  ],
  tool: { effect: "adds" },
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const { token } = await grant(owner, await publish(owner), { to: reader });
        return { request: { as: "nobody", body: { grant_token: token } } };
      },
    },
    {
      situation: "of a grant for one download",
      settled: // If the answer was lost, the download has still been counted.
        ["200", "410 grant_used_up"],
      async arrange() {
        const { token, holds } = await arrangeOneDownload();
        return { request: { as: "nobody", body: { grant_token: token } }, holds };
      },
    },
  ],
  plans: [
    call("redeem_grant_token", {
      caller: { kind: "grant_token", request_id: "plans" },
      token_hash: sha256(grantTokenOf(7)),
      window_seconds: 60,
    }),
    call("redeem_grant_token", {
      caller: { kind: "grant_token", request_id: "plans" },
      token_hash: sha256(grantTokenOf(LIMITED)),
      window_seconds: 60,
    }, { circumstances: "of a grant with a limit" }),
    call("return_download", { grant_id: liveGrantIdOf(LIMITED) }),
  ],
  lockWaits: [],
};
