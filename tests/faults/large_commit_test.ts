import assert from "node:assert/strict";
import { artifactTest, listed } from "../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import {
  BYTES_PER_CALL,
  commitBy,
  endLease,
  FIVE_CALLS,
  LARGE_DIGEST,
  uploadLarge,
} from "../own_function/commits/commits.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { failing, gate, startProxy, swallowing } from "../own_function/proxy.ts";

artifactTest(
  "kill -9 while the third part is read → another worker's /commit goes on with the third part",
  async ({ planner }) => {
    const artifact = await uploadLarge(planner);
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    const reading = gate();
    {
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url, environment: FIVE_CALLS });
      for (const _ of [1, 2]) assert.equal((await commitBy(own, request)).status, 202);
      proxy.intercept(swallowing("/object/authenticated/", reading));
      const lost = commitBy(own, request).catch(() => "connection lost");
      await reading.arrived;
      await own.process.kill();
      assert.equal(await lost, "connection lost");
      reading.open();
    }
    assert.deepEqual(await listed(planner), []);
    await endLease(artifact);
    await using another = await startOwnFunction({ environment: FIVE_CALLS });
    const next = await commitBy(another, request);
    assert.equal(next.body.verified_bytes, 3 * BYTES_PER_CALL, "two parts are not read again");
    assert.equal((await commitBy(another, request)).status, 202);
    assert.equal((await commitBy(another, request)).status, 200);
  },
);

artifactTest(
  "/commit of a large file while Storage does not tell what it is → 503; repeated → every call is 202, at last 200",
  async ({ planner }) => {
    const artifact = await uploadLarge(planner);
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    await using proxy = startProxy(SUPABASE_URL, failing("/object/info/"));
    await using own = await startOwnFunction({ supabaseUrl: proxy.url, environment: FIVE_CALLS });
    assertError(await commitBy(own, request), 503, "upstream_unavailable");
    assert.deepEqual(await listed(planner), []);
    proxy.letPass();
    for (const _ of [1, 2, 3, 4]) assert.equal((await commitBy(own, request)).status, 202);
    assert.equal((await commitBy(own, request)).status, 200);
  },
);
