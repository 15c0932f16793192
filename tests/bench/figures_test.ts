import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Figures } from "./report/figures.ts";

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
