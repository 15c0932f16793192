import assert from "node:assert/strict";
import { SUPABASE_URL } from "../conformance/client.ts";
import {
  artifactTest,
  type Download,
  type Grant,
  type InboxPage,
  publish,
  registerAndUpload,
  secondsFromNow,
} from "../conformance/artifacts.ts";
import { commitBy } from "./commits/commits.ts";
import { startOwnFunction } from "./own_function.ts";
import { gate, type Passing, startProxy } from "./proxy.ts";

const SIGN_UPLOAD = "sign upload";
const SIGN_DOWNLOAD = "sign download";

/** The purpose of a request to the stack: the SQL function's name, or the kind of Storage call. */
function purpose({ method, path }: Passing): string {
  if (path.startsWith("/rest/v1/rpc/agent_api_")) {
    return path.slice("/rest/v1/rpc/agent_api_".length);
  }
  if (path.startsWith("/storage/v1/object/upload/sign/")) return SIGN_UPLOAD;
  if (path.startsWith("/storage/v1/object/sign/")) return SIGN_DOWNLOAD;
  return `${method} ${path}`;
}

artifactTest(
  "each operation of the artifact group → the calls that it needs, and no other",
  async ({ planner, builder }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await publish(planner);
    const { artifact_id } = artifact;

    async function callsOf<AnswerBody>(
      path: string,
      body: object,
    ): Promise<[string[], AnswerBody]> {
      proxy.passed.length = 0;
      const answer = await own.post<AnswerBody>(path, { as: planner, body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return [proxy.passed.map(purpose).sort(), answer.body];
    }

    const registration = {
      agent_id: planner.id,
      key: "k",
      mime: "text/plain",
      size: 1,
      ttl_days: 1,
    };
    assert.deepEqual((await callsOf("/register", registration))[0], [
      "register_artifact",
      SIGN_UPLOAD,
    ]);

    const grantRequest = { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(60) };
    const [granting, grant] = await callsOf<Grant>("/grant", grantRequest);
    assert.deepEqual(granting, ["grant_artifact"]);

    const [fetching] = await callsOf<Download>("/fetch", { grant_token: grant.token });
    assert.deepEqual(fetching, ["redeem_grant_token", SIGN_DOWNLOAD]);
    assert.deepEqual((await callsOf("/open", { artifact_id }))[0], [
      "open_artifact",
      SIGN_DOWNLOAD,
    ]);
    assert.deepEqual((await callsOf("/inbox", { agent_id: planner.id }))[0], ["list_inbox"]);
    const unhurried = { after: (await callsOf<InboxPage>("/inbox", {}))[1].latest };
    assert.deepEqual((await callsOf("/inbox", unhurried))[0], ["list_inbox"]);
    assert.deepEqual((await callsOf("/inbox/block", { from_agent: builder.id }))[0], [
      "block_sender",
    ]);
    assert.deepEqual((await callsOf("/inbox/unblock", { from_agent: builder.id }))[0], [
      "unblock_sender",
    ]);
    assert.deepEqual((await callsOf("/grants", {}))[0], ["list_grants"]);
    assert.deepEqual((await callsOf("/events", {}))[0], ["list_events"]);
    assert.deepEqual((await callsOf("/list", { agent_id: planner.id }))[0], ["list_artifacts"]);
    assert.deepEqual((await callsOf("/revoke", { grant_id: grant.grant_id }))[0], [
      "revoke_grants",
    ]);
    const again = { artifact_id, sha256: artifact.sha256 };
    assert.deepEqual((await callsOf("/commit", again))[0], ["begin_commit"]);
    assert.deepEqual((await callsOf("/delete", { artifact_id }))[0], ["delete_artifact"]);
  },
);

artifactTest(
  "/register → the call to the database and the signing run side by side",
  async ({ planner }) => {
    const [database, storage] = [gate(), gate()];
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    proxy.intercept((passing) => (purpose(passing) === SIGN_UPLOAD ? storage : database).wait());
    const body = { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    const answer = own.post("/register", { as: planner, body });
    // Neither call is answered before both have arrived. Sequential calls would wait here forever.
    await Promise.all([database.arrived, storage.arrived]);
    database.open();
    storage.open();
    assert.equal((await answer).status, 200);
  },
);

artifactTest(
  "16 identical /commit at once → one verification: one move, one reading",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await registerAndUpload(planner);
    proxy.passed.length = 0;
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => commitBy(own, { owner: planner, artifact })),
    );
    const done = answers.filter((answer) => answer.status === 200);
    for (const answer of done) assert.deepEqual(answer.body, done[0]!.body);
    assert.equal(answers.every((answer) => [200, 409].includes(answer.status)), true);
    const counted = (part: string) => proxy.passed.filter(({ path }) => path.includes(part)).length;
    assert.equal(counted("/object/move"), 1);
    assert.equal(counted("/object/authenticated/"), 1);
    assert.equal(counted("/object/info/"), 0, "the database knows the size");
    const reading = proxy.passed.find(({ path }) => path.includes("/object/authenticated/"));
    assert.equal(
      reading?.headers.get("accept-encoding"),
      "identity",
      "the stored bytes, uncompressed",
    );
    assert.equal(counted("/rpc/agent_api_finish_commit"), 1);
    assert.equal(counted("/rpc/agent_api_begin_commit"), 16);
  },
);
