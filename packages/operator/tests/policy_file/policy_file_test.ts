import assert from "node:assert/strict";
import { parsePolicy } from "../../policy/policy_file.ts";
import { agentsInTests, runTests } from "../../policy/policy_tests.ts";

const RULE = `{ "from": "tag:a", "to": "b", "ports": [1], "proto": "tcp" }`;

Deno.test("parsePolicy() of JSON with comments → rules with lists, ports in order, the source as written", () => {
  const source = `// who may reach whom
{
  "rules": [
    { "from": ["tag:a", "agent-1"], "to": "tag:b", "ports": ["8000-8002", 443, 8001], "proto": "udp" }, /* last */
  ],
}
`;
  assert.deepEqual(parsePolicy(source, "policy.jsonc"), {
    source,
    rules: [{
      from: ["tag:a", "agent-1"],
      to: ["tag:b"],
      ports: [443, 8000, 8001, 8002],
      proto: "udp",
    }],
    tests: [],
  });
});

const WRONG: readonly [string, string, RegExp][] = [
  ["an empty file", "", /^f:1:1: Not JSON/],
  ["a file that ends early", `{ "rules": [`, /^f:1:13: Not JSON: CloseBracketExpected/],
  ["no rules", "{}", /^f:1:1: rules: /],
  ["an unknown field", `{ "rules": [], "test": [] }`, /^f:1:16: Unrecognized key: "test"$/],
  [
    "an unknown field of a rule",
    `{ "rules": [\n  { "from": "a", "to": "b", "ports": [1], "proto": "tcp", "port": 2 }] }`,
    /^f:2:59: rules\.0: Unrecognized key: "port"$/,
  ],
  [
    "the same field twice",
    `{ "rules": [${RULE}],\n "rules": [] }`,
    /^f:2:2: The field rules stands here twice\.$/,
  ],
  [
    "a misspelled tag",
    `{ "rules": [${RULE.replace("tag:a", "tag:A")}] }`,
    /^f:1:15: rules\.0\.from: Must be a tag/,
  ],
  ["everybody", `{ "rules": [${RULE.replace("tag:a", "*")}] }`, /rules\.0\.from: Must be a tag/],
  ["nobody", `{ "rules": [${RULE.replace(`"tag:a"`, "[]")}] }`, /rules\.0\.from: Too small/],
  ["no port", `{ "rules": [${RULE.replace("[1]", "[]")}] }`, /rules\.0\.ports: /],
  ["port 0", `{ "rules": [${RULE.replace("[1]", "[0]")}] }`, /rules\.0\.ports\.0: Must be a port/],
  [
    "port 65536",
    `{ "rules": [${RULE.replace("[1]", "[65536]")}] }`,
    /rules\.0\.ports\.0: Must be a port/,
  ],
  [
    "half a port",
    `{ "rules": [${RULE.replace("[1]", "[1.5]")}] }`,
    /rules\.0\.ports\.0: Must be a port/,
  ],
  [
    "a range backwards",
    `{ "rules": [${RULE.replace("[1]", `["9-8"]`)}] }`,
    /rules\.0\.ports\.0: Must be a port/,
  ],
  [
    "a long range",
    `{ "rules": [${RULE.replace("[1]", `["1-65"]`)}] }`,
    /rules\.0\.ports\.0: Must be a port/,
  ],
  [
    "many ports",
    `{ "rules": [${RULE.replace("[1]", `["1-64", 65]`)}] }`,
    /rules\.0\.ports: Must be at most 64/,
  ],
  [
    "another protocol",
    `{ "rules": [${RULE.replace("tcp", "icmp")}] }`,
    /rules\.0\.proto: Must be tcp or udp/,
  ],
  [
    "a test of an agent with itself",
    `{ "rules": [], "tests": [{ "from": "a", "to": "a", "port": 1, "proto": "tcp", "expect": "deny" }] }`,
    /tests\.0\.to: Must be another agent/,
  ],
];

for (const [what, source, message] of WRONG) {
  Deno.test(`parsePolicy() of ${what} → the place, and what is wrong`, () => {
    assert.throws(() => parsePolicy(source, "f"), { name: "CommandError", message });
  });
}

Deno.test("runTests() → by name, protocol and port; an agent by its tags too, a tag by itself alone", () => {
  const policy = parsePolicy(
    JSON.stringify({
      rules: [
        { from: "tag:a", to: "tag:b", ports: [443], proto: "tcp" },
        { from: "agent-1", to: "tag:b", ports: [22], proto: "tcp" },
      ],
      tests: [
        { from: "tag:a", to: "tag:b", port: 443, proto: "tcp", expect: "accept" },
        { from: "tag:b", to: "tag:a", port: 443, proto: "tcp", expect: "deny" },
        { from: "tag:a", to: "tag:b", port: 443, proto: "udp", expect: "deny" },
        { from: "tag:a", to: "tag:b", port: 444, proto: "tcp", expect: "deny" },
        { from: "agent-1", to: "agent-2", port: 443, proto: "tcp", expect: "accept" },
        { from: "agent-1", to: "agent-2", port: 22, proto: "tcp", expect: "accept" },
        { from: "agent-2", to: "agent-1", port: 22, proto: "tcp", expect: "deny" },
        { from: "constructor", to: "agent-2", port: 443, proto: "tcp", expect: "deny" },
        { from: "tag:a", to: "tag:b", port: 22, proto: "tcp", expect: "accept" },
      ],
    }),
    "f",
  );
  assert.deepEqual(agentsInTests(policy), ["agent-1", "agent-2", "constructor"]);
  const tags = { "agent-1": ["tag:a"], "agent-2": ["tag:b"] };
  assert.deepEqual(
    runTests(policy, tags).map(({ passed }) => passed),
    [true, true, true, true, true, true, true, true, false],
  );
});
