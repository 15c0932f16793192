/**
 * A process that wants the state directory of its first argument. It prints `ready`, tries when it
 * is told `go`, prints what came of it, and holds what it got until it is killed.
 */
import { lockState } from "../../../local/state/state_lock.ts";

console.log("ready");
await Deno.stdin.read(new Uint8Array(2));
try {
  await lockState(Deno.args[0]!);
  console.log("locked");
} catch (cause) {
  console.log((cause as Error).message);
}
// Until the parent ends it, or ends itself.
await Deno.stdin.readable.pipeTo(new WritableStream());
