import assert from "node:assert/strict";
import type { Peer } from "../../../agent-files/contract/types.ts";
import { Registrar } from "../../mesh/service/registrar.ts";
import type { Registration } from "../../mesh/service/registration.ts";

/** A registrar whose requests the test answers. */
function registering() {
  const requests: { endpoints: readonly string[]; answer: PromiseWithResolvers<Peer> }[] = [];
  let endpoints: readonly string[] = ["192.0.2.1:1"];
  const registration = {
    register(endpoints: readonly string[]) {
      const answer = Promise.withResolvers<Peer>();
      requests.push({ endpoints, answer });
      return answer.promise;
    },
  } as unknown as Registration;
  const registrar = new Registrar(registration, {
    endpoints: () => endpoints,
    onRegistered: () => {},
    signal: new AbortController().signal,
  });
  return {
    registrar,
    moveTo: (...others: string[]) => endpoints = others,
    sent: () => requests.map(({ endpoints }) => endpoints.join()),
    /** Answers the pending request, and lets the next one begin. */
    async answer(error?: Error) {
      await turn();
      const { answer } = requests.at(-1)!;
      if (error === undefined) answer.resolve({} as Peer);
      else answer.reject(error);
      await turn();
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

Deno.test("endpoints that could not be registered → again, until they are; then not any more", async () => {
  const { registrar, moveTo, sent, answer } = registering();
  registrar.registerMissed();
  assert.deepEqual(sent(), []);
  const first = registrar.register();
  await answer();
  await first;
  moveTo("192.0.2.2:2");
  for (let failures = 0; failures < 2; failures++) {
    registrar.registerMissed();
    registrar.registerMissed();
    await answer(new Error("The service is away."));
  }
  registrar.registerMissed();
  await answer();
  registrar.registerMissed();
  assert.deepEqual(sent(), ["192.0.2.1:1", "192.0.2.2:2", "192.0.2.2:2", "192.0.2.2:2"]);
});

Deno.test("endpoints that change while they are registered → the newest after that", async () => {
  const { registrar, moveTo, sent, answer } = registering();
  const first = registrar.register();
  await answer();
  await first;
  moveTo("192.0.2.2:2");
  registrar.registerMissed();
  await turn();
  moveTo("192.0.2.3:3");
  registrar.registerMissed();
  await answer();
  await answer();
  assert.deepEqual(sent(), ["192.0.2.1:1", "192.0.2.2:2", "192.0.2.3:3"]);
});

Deno.test("a service that was restored → told once more what it was told", async () => {
  const { registrar, sent, answer } = registering();
  const first = registrar.register();
  await answer();
  await first;
  const again = registrar.startOver();
  await answer();
  await again;
  assert.deepEqual(sent(), ["192.0.2.1:1", "192.0.2.1:1"]);
});
