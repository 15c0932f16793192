import { CommandError } from "../../command/command_error.ts";
import { plain } from "../../command/terminal/output.ts";
import type { Positionals } from "../../command/command.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import { type MeshPair, whyNot } from "./mesh_pair.ts";
import { readRelayIsSet } from "../reads/relay.ts";
import { readMeshParameters } from "../reads/settings.ts";

const PAIR: Positionals = {
  usage: "FROM TO PORT[/tcp|/udp]",
  least: 3,
  most: 3,
  wrong: "Name the agent that connects, the one it should reach, and a port: alpha beta 8080.",
};

export const meshWhy: Operation = defineOperation({
  summary: "Say why one agent does not reach a port of another. Exits with 1 if it finds a cause.",
  example: "agentops mesh why planner builder 8080",
  positionals: PAIR,
  options: {},
  async run({ positionals }, output) {
    const [from = "", to = "", target = ""] = positionals;
    const [, digits, proto = "tcp"] = /^([0-9]{1,5})(?:\/(tcp|udp))?$/.exec(target) ?? [];
    const port = Number(digits);
    if (!(port >= 1 && port <= 65_535)) throw new CommandError(PAIR.wrong);
    if (from === to) throw new CommandError("An agent reaches itself without the mesh.");
    await assertAgentIsNamed(from, to);
    const pair = await callAsOperator("read_mesh_pair", {
      from_agent: from,
      to_agent: to,
      port,
      proto,
      ...await readMeshParameters(),
    }) as MeshPair;
    const question = { from, to, target: `${port}/${proto}` };
    const answer = whyNot(question, pair, await readRelayIsSet());
    await output.value(
      { ...answer, ...pair },
      ({ sentence, next }) => `${plain(sentence)}\n${plain(next)}`,
    );
    return answer.cause === "nothing" || answer.cause === "unknown" ? 0 : 1;
  },
});
