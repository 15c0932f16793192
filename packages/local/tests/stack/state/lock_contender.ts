/**
 * A process that tries to lock the state directory of its first argument. It prints `ready`, waits
 * for `go`, tries, prints the outcome, and keeps the lock until it is killed.
 */
import { lockState } from "../../../state/state_lock.ts";

console.log("ready");
await Deno.stdin.read(new Uint8Array(2));
try {
  await lockState(Deno.args[0]!);
  console.log("locked");
} catch (cause) {
  console.log((cause as Error).message);
}
// Wait until the parent kills this process, or ends itself.
await Deno.stdin.readable.pipeTo(new WritableStream());
