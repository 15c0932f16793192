import type { Move } from "../registry.ts";

export const VERSION_MOVES: readonly Move[] = [
  {
    name: "somebody lists versions",
    weight: 2,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      const agent = turn.pick(turn.known.agents, "reader");
      if (artifact === null || agent === null) return;
      const { name, key } = { name: artifact.owner.name, key: artifact.key };
      turn.say(`${agent.name} lists the versions of ${key} of ${name}`);
      await turn.ask("/agent-artifacts/versions", agent, { agent_id: name, key });
    },
  },
  {
    name: "owner opens a version",
    weight: 2,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      if (artifact?.version === undefined) return;
      const { owner, key, version } = artifact;
      turn.say(`${owner.name} opens version ${version} of ${key}`);
      const opened = await turn.ask("/agent-artifacts/open", owner, { key, version });
      if (opened.status === 200) await turn.download(owner.name, opened);
    },
  },
];
