/** docs/tasks.md, from the first block to the last, in one terminal. */
import assert from "node:assert/strict";
import { operatorRpc } from "../conformance/client.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

const CREW = ["anna", "ben"];

Deno.test("docs/tasks.md → two workers share three jobs, their giver has three answers; a task that fails for good begins again", async () => {
  await using terminal = await Terminal.open();
  try {
    await terminal.paste(await documentedBlock("docs/tasks.md, A pool of workers, 1"));
    const given = await terminal.paste(
      await documentedBlock("docs/tasks.md, A pool of workers, 2"),
    );
    const ids = given.match(/grant_[0-9a-f]{32}/g) ?? [];
    assert.equal(new Set(ids).size, 3, given);

    const worked = await terminal.paste(
      await documentedBlock("docs/tasks.md, A pool of workers, 3"),
    );
    assert.equal(worked.match(/^done$/gm)?.length, 3, worked);

    const told = await terminal.paste(await documentedBlock("docs/tasks.md, A pool of workers, 4"));
    for (const number of [1, 2, 3]) {
      assert.match(told, new RegExp(`^jobs/${number}\\.txt: done by (?:${CREW.join("|")})$`, "m"));
    }
    const answered = Array.from(
      told.matchAll(/^answers\/take_\w+\.txt answers (\S+)$/gm),
      ([, id]) => id!,
    );
    assert.deepEqual(answered.toSorted(), ids.toSorted());

    const failed = await terminal.paste(
      await documentedBlock("docs/tasks.md, What becomes of a task, 1"),
    );
    const lines = failed.trim().split("\n");
    assert.match(lines[0]!, /"state" ?: ?"parked"/);
    assert.equal(lines[1], "parked: That is no number.");
    assert.match(lines[2]!, /"state" ?: ?"waiting"/);
    assert.equal(lines[3], "1");
  } finally {
    for (const agent_id of CREW) await operatorRpc("remove_agent", { agent_id });
  }
});
