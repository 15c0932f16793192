import assert from "node:assert/strict";
import { registeredKeys } from "../../../packages/agent-files/tests/cast.ts";
import { python, twoAgents } from "./run.ts";

Deno.test("Python: put() to a name that cannot be one, of a text that may be a path, of nothing → refused, and nothing is registered", async () => {
  const answer = await python(
    `
calls = []
planner._connection.call = lambda path, *args, **options: calls.append(path)
said = []
for options in [{"to": ["bad agent!"]}, {"to": [builder_id, ""]}, {"to": "builder"}]:
    try:
        planner.put("plan", b"1", **options)
    except AgentError as error:
        said.append([error.code, str(error), [issue["path"] for issue in error.details["issues"]]])
for args, options in [(["text"], {}), ([], {}), ([b"1"], {"path": "x"})]:
    try:
        planner.put("plan", *args, **options)
    except TypeError as error:
        said.append(str(error))
print(json.dumps({"said": said, "calls": calls}))
`,
    await twoAgents(),
  );
  const rule = "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit.";
  assert.deepEqual(answer, {
    said: [
      ["invalid_request", `to.0: ${rule}`, ["to.0"]],
      ["invalid_request", `to.1: ${rule}`, ["to.1"]],
      ["invalid_request", "to: Must be a list of agents.", ["to"]],
      "A str may be a path or a text: write path=… or text=….",
      "Give either `source`, `path` or `text`.",
      "Give either `source`, `path` or `text`.",
    ],
    calls: [],
  });
});

Deno.test("Python: put() and put_folder() with a bad agent in the last place or a bad key → refused before the folder is read, and nothing is registered", async () => {
  const agents = await twoAgents();
  const answer = await python(
    `
said = []
for key, to in [("plan", [builder_id, "bad agent!"]), ("", []), ("é" * 513, []), ("../plan", []),
                ("a/", []), ("a\\nb", []), ("a\\\\b", []), ("\\ud800", [])]:
    for act in [lambda: planner.put(key, b"1", to=to),
                lambda: planner.put_folder(key, "nothing", to=to)]:
        try:
            act()
        except AgentError as error:
            said.append([error.code, str(error)])
print(json.dumps(said))
`,
    agents,
  );
  const rules = [
    "to.1: Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit.",
    "key: Must have 1 to 1024 bytes, and has 0.",
    "key: Must have 1 to 1024 bytes, and has 1026.",
    "key: Must not begin or end with /, nor have an empty, . or .. segment.",
    "key: Must not begin or end with /, nor have an empty, . or .. segment.",
    ...Array(3).fill("key: Must not contain control characters, backslashes or lone surrogates."),
  ];
  assert.deepEqual(answer, [
    ...rules.flatMap((rule) => Array(2).fill(["invalid_request", rule])),
  ]);
  assert.deepEqual(await registeredKeys(agents[0]), []);
});

Deno.test("Python: a function for the key → asked once, again after a 401, and its failures are key_unavailable", async () => {
  const answer = await python(
    `
agent_id, key = os.environ["PLANNER"].split()
asked = []
def rotating():
    asked.append(len(asked))
    return "ak_wrong" if len(asked) == 2 else key
files = AgentFiles(os.environ["URL"], rotating, agent_id=agent_id)
before = len(asked)
files.put("plan", b"1")
once = len(asked)
# What a key that has ended looks like.
files._connection.credential._headers = {"authorization": "Bearer ak_ended"}
refused = refusal(lambda: list(files.list()))
files._connection.credential._headers = {"authorization": "Bearer ak_ended"}
keys = [artifact["key"] for artifact in files.list()]
def failing():
    raise OSError("no key here")
failed = [refusal(AgentFiles(os.environ["URL"], function, agent_id="a").whoami)
          for function in [failing, lambda: "", lambda: "a b"]]
print(json.dumps({"before": before, "once": once, "refused": refused, "keys": keys,
                  "asked": len(asked), "failed": failed}))
`,
    await twoAgents(),
  );
  assert.deepEqual(answer, {
    before: 0,
    once: 1,
    refused: ["unauthenticated", 401, false, true],
    keys: ["plan"],
    asked: 3,
    failed: Array(3).fill(["key_unavailable", 0, false, false]),
  });
});
