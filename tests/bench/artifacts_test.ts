import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import {
  artifactTest,
  commit,
  download,
  type ListPage,
  open,
  publish,
  registerAndUpload,
  sha256,
} from "../conformance/artifacts.ts";
import { median, milliseconds } from "./timing.ts";

const ROUNDS = 7;
const CONTENT = "0123456789abcdef".repeat(2 * 1024 * 1024);

artifactTest(
  "/commit of 32 MiB → less than 15 times as long as a download of the same bytes",
  async ({ planner }) => {
    const commits: number[] = [];
    const downloads: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const registered = await registerAndUpload(planner, { key: "k", content: CONTENT });
      const digest = sha256(CONTENT);
      commits.push(
        await milliseconds(async () => {
          assert.equal((await commit(planner, registered, digest)).status, 200);
        }),
      );
      const { url } = (await open(planner, registered)).body;
      downloads.push(await milliseconds(() => download(url)));
    }
    const ratio = median(commits) / median(downloads);
    console.log(
      `/commit of 32 MiB: ${median(commits).toFixed(0)} ms, its download ` +
        `${median(downloads).toFixed(0)} ms; ratio ${ratio.toFixed(1)}`,
    );
    assert.ok(ratio < 15, `ratio ${ratio}`);
  },
);

artifactTest(
  "/list of the last of ten pages → less than 3 times as long as the first",
  async ({ planner }) => {
    for (let index = 0; index < 100; index++) {
      await publish(planner, { key: `k/${index}`, content: "" });
    }
    const list = (fields: object) =>
      succeed<ListPage>("/agent-artifacts/list", {
        as: planner,
        body: { agent_id: planner.id, limit: 10, ...fields },
      });
    let cursor = (await list({})).next_cursor;
    for (let page = 2; page < 10; page++) cursor = (await list({ cursor })).next_cursor;
    const first: number[] = [];
    const last: number[] = [];
    for (let round = 0; round < 4 * ROUNDS; round++) {
      first.push(await milliseconds(() => list({})));
      last.push(await milliseconds(() => list({ cursor })));
    }
    const ratio = median(last) / median(first);
    console.log(`/list, last page against first: ratio ${ratio.toFixed(2)}`);
    assert.ok(ratio < 3, `ratio ${ratio}`);
  },
);
