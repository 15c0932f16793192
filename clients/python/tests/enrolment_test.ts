/** The Python client's option `enrol`. */
import assert from "node:assert/strict";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../tests/conformance/enrolment/enrolments.ts";
import { python, twoAgents } from "./run.ts";
import { generationOf, trust } from "../../../packages/cli/tests/enrolment/cast.ts";

Deno.test.afterEach(endMadeEnrolments);

/**
 * Python functions: a client with a proof, an ended key, and the result or error code of a call.
 */
const HELPERS = `
from concurrent.futures import ThreadPoolExecutor
def machine(**proof):
    return AgentFiles(os.environ["URL"], enrol=proof)
def end_key(files):
    files._connection.credential._headers = {"authorization": "Bearer ak_ended"}
def code_of(act):
    try:
        return act()["agent_id"]
    except AgentError as error:
        return error.code
`;

Deno.test("Python: enrol, from 16 threads and two objects at once → one enrolment; a refused key → the function for the proof is asked once more", async () => {
  const { token } = await trust();
  const sub = newName("run");
  const tokens = [await token({ sub }), await token({ sub })];
  const answer = await python(
    `${HELPERS}
tokens = json.loads(os.environ["TOKENS"])
asked = []
def token():
    asked.append(len(asked))
    return tokens[len(asked) - 1] + "\\n"
one, other = machine(token=token), machine(token=token)
with ThreadPoolExecutor(16) as pool:
    names = set(pool.map(lambda index: (one, other)[index % 2].whoami()["agent_id"], range(16)))
once = len(asked)
end_key(one)
with ThreadPoolExecutor(16) as pool:
    names |= set(pool.map(lambda _: other.whoami()["agent_id"], range(16)))
print(json.dumps({"names": sorted(names), "once": once, "asked": len(asked)}))
`,
    await twoAgents(),
    { TOKENS: JSON.stringify(tokens) },
  );
  assert.deepEqual(answer, { names: [sub], once: 1, asked: 2 });
  assert.equal(await generationOf(sub), 2);
});

Deno.test("Python: a second machine enrols as the same agent → superseded at each request of the first; leave() → the agent has ended", async () => {
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  const answer = await python(
    `${HELPERS}
first, second = [
    machine(
        enrolment_key=lambda: os.environ["PROOF"], agent_name=os.environ["NAME"], key_file=None)
    for _ in range(2)
]
codes = [code_of(files.whoami) for files in (first, second, first, first, second)]
left = second.leave()
print(json.dumps({"codes": codes, "left": left}))
`,
    await twoAgents(),
    { PROOF: enrolment_key, NAME: name },
  );
  assert.deepEqual(answer, {
    codes: [name, name, "superseded", "superseded", name],
    left: { agent_id: name, left: true },
  });
});

Deno.test("Python: 80 % of the key's life are over → another one; while none is given, the old one", async () => {
  const { enrolment_key } = await put();
  const name = newName("vm");
  const answer = await python(
    `${HELPERS}
files = machine(
    enrolment_key=os.environ["PROOF"], agent_name=os.environ["NAME"], key_file=None)
codes = [code_of(files.whoami)]
left = files._connection.credential._renew_at - time.monotonic()
files._connection.credential._renew_at = 0
codes += [code_of(files.whoami)]
pause = files._connection.credential._renew_at - time.monotonic()
print(json.dumps({"codes": codes, "left": round(left / 60), "pause": round(pause)}))
`,
    await twoAgents(),
    { PROOF: enrolment_key, NAME: name },
  );
  // A key lasts an hour, so renewal is due after 48 minutes. The single-use enrolment key cannot
  // enrol again, so the client keeps its key and pauses for 15 s.
  assert.deepEqual(answer, { codes: [name, name], left: 48, pause: 15 });
});

Deno.test("Python: neither key nor enrol, both, no proof, two proofs, an unknown field, a function that fails → an error, and nothing is sent", async () => {
  const answer = await python(
    `
said = []
def refused():
    raise OSError("no proof here")
for key, enrol in [(None, None), ("ak_1", {"token": "t"}), (None, {}), (None, {"agent_name": "a"}),
                   (None, {"token": "t", "enrolment_key": "e"}), (None, {"token": "t", "x": "y"})]:
    try:
        AgentFiles("http://127.0.0.1:1", key, enrol=enrol)
    except ValueError as error:
        said.append(str(error))
files = AgentFiles("http://127.0.0.1:1", enrol={"token": refused})
print(json.dumps({"said": said, "failed": refusal(files.whoami)}))
`,
    await twoAgents(),
  );
  const fields =
    "`enrol` has `enrolment_key` or `token`, and may have `agent_name`, `enrolment_id`, `instance` and `key_file`.";
  const either = "Give either `key` or `enrol`.";
  assert.deepEqual(answer, {
    said: [either, either, fields, fields, fields, fields],
    failed: ["key_unavailable", 0, false, false],
  });
});

Deno.test("Python: None for what `enrol` may leave out → left out; for the proof → ValueError; a proof that is no text → key_unavailable", async () => {
  const { enrolment_key } = await put({ agent_id: newName("vm") });
  const answer = await python(
    `${HELPERS}
nothing = {"agent_name": None, "enrolment_id": None, "instance": None, "key_file": None}
named = code_of(machine(enrolment_key=os.environ["PROOF"], **nothing).whoami)
try:
    refused = machine(enrolment_key=None)
except ValueError as error:
    refused = str(error)
wrong = [code_of(machine(enrolment_key=proof).whoami) for proof in [lambda: None, b"ek_1", 7]]
print(json.dumps([named.startswith("new-vm-"), refused, wrong]))
`,
    await twoAgents(),
    { PROOF: enrolment_key },
  );
  const none = Array(3).fill("key_unavailable");
  assert.deepEqual(answer, [true, "`enrolment_key` of `enrol` is None.", none]);
});
