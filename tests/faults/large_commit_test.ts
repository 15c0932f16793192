import assert from "node:assert/strict";
import { type Agent, type Answer, assertError, SUPABASE_URL } from "../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  download,
  listed,
  open,
  register,
  type Registered,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "../database/connection.ts";
import { type OwnFunction, startOwnFunction } from "../own_function/own_function.ts";
import { gate, startProxy } from "../own_function/proxy.ts";

const BYTES_PER_CALL = 100_000;
const FIVE_CALLS = { ARTIFACTS_COMMIT_BYTES_PER_CALL: String(BYTES_PER_CALL) };

/** Five calls' worth, of which no two are alike. */
const CONTENT = Array.from(
  { length: 5 * BYTES_PER_CALL / 10 },
  (_, index) => String(index).padStart(10),
).join("");

interface Verifying extends Artifact {
  readonly verified_bytes: number;
}

async function uploaded(planner: Agent, content = CONTENT): Promise<Registered> {
  const registered = await register(planner, { content });
  assert.equal(await upload(registered.upload_url, content), 200);
  return registered;
}

function commitOnce(
  own: OwnFunction,
  { planner, registered, digest = sha256(CONTENT) }: {
    planner: Agent;
    registered: Registered;
    digest?: string;
  },
): Promise<Answer<Verifying>> {
  const body = { artifact_id: registered.artifact_id, sha256: digest };
  return own.post<Verifying>("/commit", { as: planner, body });
}

artifactTest(
  "an object above the bytes of one call → 202 with verified_bytes until all are verified, then 200",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: FIVE_CALLS,
    });
    const registered = await uploaded(planner);
    proxy.passed.length = 0;
    for (const call of [1, 2, 3, 4]) {
      const { status, headers, body } = await commitOnce(own, { planner, registered });
      assert.equal(status, 202);
      assert.ok(Number(headers.get("retry-after")) >= 0);
      assert.equal(headers.get("x-request-id")?.length, 36);
      const { upload_url: _url, upload_expires_at: _expiry, ...pending } = registered;
      assert.deepEqual(body, {
        ...pending,
        state: "verifying",
        verified_bytes: call * BYTES_PER_CALL,
      });
      assert.deepEqual(await listed(planner), []);
    }
    const done = await commitOnce(own, { planner, registered });
    assert.equal(done.status, 200);
    assert.equal(done.body.state, "committed");
    assert.equal(await download((await open(planner, registered)).body.url), CONTENT);
    const moves = proxy.passed.filter(({ path }) => path.endsWith("/object/move"));
    assert.equal(moves.length, 1, "a sealed object is not moved again");
  },
);

artifactTest(
  "a wrong digest of such an object → 422 after its last call; the URL takes the right bytes",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const registered = await uploaded(planner);
    let answer = await commitOnce(own, { planner, registered, digest: sha256("other") });
    while (answer.status === 202) {
      answer = await commitOnce(own, { planner, registered, digest: sha256("other") });
    }
    assert.deepEqual(assertError(answer, 422, "checksum_mismatch"), {
      expected: sha256("other"),
      actual: sha256(CONTENT),
    });
    assertError(await commitOnce(own, { planner, registered }), 409, "upload_missing");
    assert.equal(await upload(registered.upload_url, CONTENT), 200);
  },
);

artifactTest(
  "kill -9 while a later part is read → another worker goes on from the last saved state",
  async ({ planner }) => {
    const registered = await uploaded(planner);
    const reading = gate();
    {
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({
        supabaseUrl: proxy.url,
        environment: FIVE_CALLS,
      });
      for (const _ of [1, 2]) {
        assert.equal((await commitOnce(own, { planner, registered })).status, 202);
      }
      proxy.intercept(({ path }) =>
        path.includes("/object/authenticated/")
          ? reading.wait().then(() => new Response(null, { status: 503 }))
          : undefined
      );
      const lost = commitOnce(own, { planner, registered }).catch(() => null);
      await reading.arrived;
      await own.process.kill();
      assert.equal(await lost, null);
      reading.open();
    }
    await withStackDatabase((sql) =>
      sql`update artifacts.verifications set lease_expires_at = now()
        where artifact_id = ${registered.artifact_id}`
    );
    await using another = await startOwnFunction({ environment: FIVE_CALLS });
    const next = await commitOnce(another, { planner, registered });
    assert.equal(next.body.verified_bytes, 3 * BYTES_PER_CALL, "two parts were not read again");
    assert.equal((await commitOnce(another, { planner, registered })).status, 202);
    assert.equal((await commitOnce(another, { planner, registered })).status, 200);
  },
);

artifactTest(
  "another upload in between → it is verified from its beginning; the state of the first certifies nothing",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const registered = await uploaded(planner);
    for (const _ of [1, 2, 3]) {
      assert.equal((await commitOnce(own, { planner, registered })).status, 202);
    }

    // The same size, and the end that is still to be read is the same; only what was verified already differs.
    const forged = "x".repeat(BYTES_PER_CALL) + CONTENT.slice(BYTES_PER_CALL);
    assert.equal(await upload(registered.upload_url, forged), 200);
    let answer = await commitOnce(own, { planner, registered });
    assert.equal(answer.body.verified_bytes, BYTES_PER_CALL, "from the beginning");
    while (answer.status === 202) answer = await commitOnce(own, { planner, registered });
    assert.deepEqual(assertError(answer, 422, "checksum_mismatch"), {
      expected: sha256(CONTENT),
      actual: sha256(forged),
    });
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "a saved state whose object was replaced behind the service's back is not used",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const registered = await uploaded(planner);
    for (const _ of [1, 2]) {
      assert.equal(
        (await commitOnce(own, { planner, registered })).status,
        202,
      );
    }
    await withStackDatabase((sql) =>
      sql`update artifacts.verifications set object_version = 'another'
        where artifact_id = ${registered.artifact_id}`
    );
    const next = await commitOnce(own, { planner, registered });
    assert.equal(next.body.verified_bytes, BYTES_PER_CALL);
  },
);

artifactTest(
  "an hour between two calls → the verification goes on where it stopped",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const registered = await uploaded(planner);
    assert.equal((await commitOnce(own, { planner, registered })).status, 202);
    await withStackDatabase((sql) =>
      sql`with resumed as (
          update artifacts.verifications set progress_at = progress_at - interval '1 hour'
          where artifact_id = ${registered.artifact_id}
        )
        update artifacts.artifacts set created_at = created_at - interval '1 hour'
        where artifact_id = ${registered.artifact_id}`
    );
    assert.equal(
      (await commitOnce(own, { planner, registered })).body.verified_bytes,
      2 * BYTES_PER_CALL,
    );
  },
);
