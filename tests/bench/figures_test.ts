import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { WAITS } from "./parts/waiting.ts";
import { Figures } from "./report/figures.ts";
import { goalsOf, type Measurements } from "./report/goals.ts";

const RUN = {
  commit: "abc1234",
  machine: "2 cores",
  load: { before: 0.1 },
  small: "small",
  large: "large",
};

Deno.test("Figures of a run that is cut off → the file has the run and each figure until then, a line each", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const figures = await Figures.open(directory, RUN);
    const lines = async () =>
      (await readFile(figures.file, "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.ok(figures.file.startsWith(join(directory, "bench-")), figures.file);
    assert.deepEqual(await lines(), [{ run: RUN }]);
    figures.save("throughput", { operation: "/list", clients: 1 });
    assert.deepEqual(await lines(), [
      { run: RUN },
      { part: "throughput", operation: "/list", clients: 1 },
    ]);
    figures.save("bytes", { mebibytes: 50 });
    assert.deepEqual((await lines()).at(-1), { part: "bytes", mebibytes: 50 });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("Figures of two runs → two files", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const [one, other] = [await Figures.open(directory, RUN), await Figures.open(directory, RUN)];
    assert.notEqual(one.file, other.file);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

const MEASURED: Omit<Measurements, "waiting"> = {
  throughput: [],
  growth: [{ operation: "/sweep", small: 1, large: 1, ratio: 1, repeated: 0 }],
  maps: { netmap: 1, firstConfiguration: 1, configuration: 1 },
  bytes: {
    mebibytes: 1,
    commit: 1,
    commitCpu: 1,
    download: 1,
    sha256sum: 1,
    ofDownload: 1,
    smallCommitOfOpen: 1,
  },
  standing: { none: 1, most: 1, ratio: 1 },
  tasks: { done: 1, none: 1, many: 1, ratio: 1 },
};

Deno.test("the table of goals → a row for each wait: met with 1,500 ms, and falls short with more", () => {
  for (const late of WAITS) {
    const waiting = WAITS.map((what) => ({
      what,
      told: 1,
      p50: 1,
      p99: what === late ? 1_501 : 1_500,
    }));
    const rows = goalsOf({ ...MEASURED, waiting }).filter(({ what }) => what.startsWith("told "));
    assert.deepEqual(
      rows.map(({ what, goal, met }) => [what, goal, met]),
      WAITS.map((what) => [`told p99: ${what}`, "≤ 1500 ms", what !== late]),
    );
  }
  assert.equal(WAITS.length, 3);
});
