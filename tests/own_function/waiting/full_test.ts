import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../../conformance/client.ts";
import { startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";
import { pollPasses, waitInInbox } from "./waiters.ts";

artifactTest(
  "as many waits as the process holds → the next is refused at once with retry-after, asks nothing, and without wait_seconds is answered; those held are told; room again when one leaves",
  async ({ planner, builder, stranger }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { WAITS_AT_ONCE: "2" },
    });
    const full = pollPasses(proxy, (waits) => waits === 2);
    const [goes, stays] = [waitInInbox(own, stranger), waitInInbox(own, builder)];
    await full;
    const artifact = await publish(planner);
    const asksBefore =
      proxy.passed.filter(({ path }) => path.endsWith("/agent_api_list_inbox")).length;

    const refused = await waitInInbox(own, planner).answer;
    assert.deepEqual(assertError(refused, 503, "upstream_unavailable"), {
      limit: "waits_at_once",
      maximum: 2,
    });
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
    const asks = proxy.passed.filter(({ path }) => path.endsWith("/agent_api_list_inbox")).length;
    assert.equal(asks, asksBefore, "nothing was asked for it");
    assert.equal((await own.post("/inbox", { as: planner, body: {} })).status, 200);

    const { grant_id } = await grant(planner, artifact, { to: builder });
    assert.equal((await stays.answer).body.grants[0]?.grant_id, grant_id);
    const fullAgain = pollPasses(proxy, (waits) => waits === 2);
    const next = waitInInbox(own, planner);
    await fullAgain;
    goes.abort();
    next.abort();
  },
);
