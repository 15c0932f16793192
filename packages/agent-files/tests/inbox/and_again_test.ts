import assert from "node:assert/strict";
import { andAgain } from "../../follow/and_again.ts";

/** A source whose items the test releases one at a time. */
class Coming {
  readonly #waiting: ((result: IteratorResult<string, void>) => void)[] = [];
  isReturned = false;

  readonly items = {
    next: () => new Promise((resolve) => this.#waiting.push(resolve)),
    return: () => {
      this.isReturned = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  } as unknown as AsyncGenerator<string, void, undefined>;

  let(value: string): void {
    this.#waiting.shift()!({ done: false, value });
  }

  end(): void {
    this.#waiting.shift()!({ done: true, value: undefined });
  }
}

Deno.test("andAgain() while nothing fails → what comes, to its end", async () => {
  const coming = new Coming();
  const all = andAgain(coming.items, new Set<string>(), { seconds: 0 });
  for (const item of ["one", "two"]) {
    const next = all.next();
    coming.let(item);
    assert.deepEqual(await next, { done: false, value: item });
  }
  const last = all.next();
  coming.end();
  assert.equal((await last).done, true);
});

Deno.test("andAgain() with one that failed, while nothing comes → that one again, as often as it fails; then what comes", async () => {
  const coming = new Coming();
  const again = new Set<string>();
  const all = andAgain(coming.items, again, { seconds: 0.001 });
  const first = all.next();
  coming.let("fails");
  for (let failures = 0; failures < 3; failures++) {
    assert.equal((failures === 0 ? await first : await all.next()).value, "fails");
    assert.equal(again.size, 0);
    again.add("fails");
  }
  again.clear();
  const next = all.next();
  coming.let("newer");
  assert.deepEqual(await next, { done: false, value: "newer" });
  await all.return();
  assert.equal(coming.isReturned, true);
});

Deno.test("andAgain() with one that failed, before it is due → what comes first", async () => {
  const coming = new Coming();
  const again = new Set<string>();
  const all = andAgain(coming.items, again, { seconds: 3600 });
  for (const item of ["fails", "newer", "newest"]) {
    const next = all.next();
    coming.let(item);
    assert.equal((await next).value, item);
    again.add("fails");
  }
  const last = all.next();
  coming.end();
  assert.equal((await last).done, true);
});

Deno.test("andAgain() whose source fails → its error, after what failed before was yielded again", async () => {
  const again = new Set(["fails"]);
  const coming = { next: () => Promise.reject(new Error("gone")) };
  const all = andAgain(coming as unknown as AsyncGenerator<string>, again, { seconds: 0 });
  assert.equal((await all.next()).value, "fails");
  await assert.rejects(all.next(), /gone/);
});
