/** `agentfiles inbox --follow` while its agent keys end, one after the other. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { endMadeEnrolments, newName, put } from "../../conformance/enrolment/enrolments.ts";
import { agentFiles } from "../../../packages/agent-files/tests/cast.ts";
import type { Desk } from "../../../packages/cli/tests/desk.ts";
import { expireKeys, generationOf } from "../../../packages/cli/tests/enrolment/cast.ts";
import {
  login,
  makeDue,
  newDesk,
  STRANGER,
  whoami,
} from "../../../packages/cli/tests/enrolment/logins.ts";

Deno.test.afterEach(endMadeEnrolments);

function follow(desk: Desk) {
  const follower = new Deno.Command(Deno.execPath(), {
    ...desk.command(["inbox", "--follow", "--json"], STRANGER),
    stdout: "piped",
  }).spawn();
  const lines = follower.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  return {
    /** The key of the next file in the follower's output. */
    async next(): Promise<string> {
      while (!unread.includes("\n")) {
        const { value, done } = await lines.read();
        if (done) throw new Error("the follower has ended");
        unread += value;
      }
      const [line, ...more] = unread.split("\n");
      unread = more.join("\n");
      return JSON.parse(line!).key;
    },
    async [Symbol.asyncDispose]() {
      follower.kill("SIGTERM");
      await lines.cancel();
      await follower.status;
    },
  };
}

Deno.test("inbox --follow while its key ends, or another command of the machine renews it, four times → it goes on by the next key, and tells of each file once", async () => {
  await using desk = await newDesk();
  const { enrolment_key } = await put({ uses_left: null, session_seconds: 60 });
  await writeFile(desk.path("enrolment.key"), enrolment_key);
  const name = newName("vm");
  const options = ["--enrolment-key-file", "enrolment.key", "--agent", name];
  const { code, errors } = await login(desk, options);
  assert.equal(code, 0, errors);

  const planner = await agentFiles("planner");
  const shared: string[] = [];
  const share = async (key: string) => {
    const { artifact_id } = await planner.files.put(key, key);
    await planner.files.share(artifact_id, name);
    shared.push(key);
  };
  await share("before it follows");
  await using follower = follow(desk);
  const told = [await follower.next()];
  for (let lifetime = 1; lifetime <= 4; lifetime++) {
    await share(`${lifetime}: while it waits`);
    told.push(await follower.next());
    if (lifetime % 2 === 1) await expireKeys(name);
    else {
      await makeDue(desk);
      assert.equal(await whoami(desk), name);
    }
    await share(`${lifetime}: after its key`);
    await share(`${lifetime}: right behind`);
    told.push(await follower.next(), await follower.next());
    assert.equal(await generationOf(name), lifetime + 1);
  }
  assert.deepEqual(told.toSorted(), shared.toSorted());
  // The follower reports nothing twice: its next line is about the next file.
  await share("the last");
  assert.equal(await follower.next(), "the last");
  assert.equal(await whoami(desk), name);
});
