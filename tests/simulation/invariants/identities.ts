import type { Credential } from "../known/identities.ts";
import type { Known } from "../known/known.ts";
import type { Invariant } from "../registry.ts";

/** Asks for nothing but the token, whoever sends it. */
const WITHOUT_KEY = "/agent-artifacts/fetch";
const ENROLLING = "/agent-artifacts/enroll";

/** What the first use of a key ends: earlier generations of the same agent of its enrolment. */
function endedBy(credential: Credential, { identities }: Known): Credential[] {
  const { enrolment, generation, name } = credential;
  if (enrolment === null) return [];
  return identities.of(name).filter((other) =>
    other.enrolment === enrolment && other.generation < generation
  );
}

export const IDENTITIES: readonly Invariant[] = [
  {
    name: "no key is accepted after its end was answered",
    hear(entry, known) {
      const credential = known.askedBy.get(entry) as Credential | undefined;
      if (entry.status !== 200 || credential?.id === undefined) return null;
      if (entry.operation === WITHOUT_KEY) return null;
      if (credential.ended !== undefined && credential.ended < entry.start) {
        return `${credential.id} of ${credential.name} was accepted after its end`;
      }
      if (credential.accepted === undefined) {
        credential.accepted = entry.end;
        for (const older of endedBy(credential, known)) older.ended ??= entry.end;
      }
      return null;
    },
  },
  {
    name: "an enrolment for one use gives one key that is accepted",
    look: (_world, { identities }) =>
      identities.enrolments.filter(({ isForOneUse }) => isForOneUse).flatMap((enrolment) => {
        const accepted = identities.credentials
          .filter((one) => one.enrolment === enrolment && one.accepted !== undefined);
        return accepted.length > 1 ? [`${accepted.length} keys of ${enrolment.name}`] : [];
      }),
  },
  {
    name: "who was removed or erased does not enrol again",
    hear({ operation, status, start, answer }, { identities }) {
      if (operation !== ENROLLING || status !== 200) return null;
      const agentId = String(answer!["agent_id"]);
      const out = identities.out.get(agentId);
      return out !== undefined && out < start ? `${agentId} has come back` : null;
    },
  },
  {
    name: "nobody enrols after the enrolment's revocation was answered",
    hear({ operation, status, start, agent }, { identities }) {
      if (operation !== ENROLLING || status !== 200) return null;
      const enrolment = identities.enrolments.find(({ name }) => name === agent);
      return enrolment?.ended !== undefined && enrolment.ended < start
        ? `somebody enrolled with ${agent}`
        : null;
    },
  },
  {
    name: "a revoked enrolment's links open nothing",
    hear({ operation, status, start, request }, { grants }) {
      if (operation !== "/agent-artifacts/fetch" || status !== 200) return null;
      const grant = grants.find(({ token }) => token === request["grant_token"]);
      return grant?.undone !== undefined && grant.undone < start ? `${grant.name} opens` : null;
    },
  },
  {
    name: "who has a name sees nothing of its former holder",
    hear(entry, known) {
      const holder = known.askedBy.get(entry) as Credential | undefined;
      // An enrolment for one agent takes its files over: that is what it is for.
      if (holder?.enrolment?.agentId !== null || entry.status !== 200) return null;
      const seen = (entry.answer!["artifacts"] ?? []) as { artifact_id: string }[];
      if (entry.operation !== "/agent-artifacts/list") return null;
      const former = seen.map((one) => known.artifacts.find(({ id }) => id === one.artifact_id))
        .find((one) => one !== undefined && !isOf(one.owner, holder.enrolment));
      return former === undefined ? null : `${holder.name} sees ${former.name}`;
    },
  },
  {
    name: "moves saw nothing that must not be",
    look: (_world, { identities }) => identities.faults,
  },
  {
    name: "a key is live only by a way to which its agent's name belongs",
    sql: `select k.agent_id || ' has a key by ' || coalesce(k.enrolment_id, 'operator') as broken
      from agents.keys k left join agents.names n on n.agent_id = k.agent_id
      where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
        and coalesce(k.enrolment_id, 'operator') = any (n.ways) is not true`,
  },
  {
    name: "a removed agent has no key, peer, upload or grant of its own",
    sql: `select r.agent_id || ' was removed and has ' || left_over.what as broken
      from agents.removed_agents r
      cross join lateral (
        select 'a key' as what from agents.keys k
        where k.agent_id = r.agent_id and k.revoked_at is null
        union all select 'a peer' from mesh.peers p where p.agent_id = r.agent_id
        union all select 'an upload' from artifacts.artifacts a
        where a.agent_id = r.agent_id and a.state = 'pending' and a.ended_at is null
        union all select 'a grant' from artifacts.grants g
        where g.from_agent = r.agent_id and g.live_until > clock_timestamp()
      ) left_over
      -- Agent keys that the operator makes afterwards work. Clocks jump, so ask transactions.
      where not exists (
        select from agents.keys k where k.agent_id = r.agent_id and age(k.xmin) < age(r.xmin)
      )`,
  },
];

function isOf(owner: object, enrolment: Credential["enrolment"]): boolean {
  return "enrolment" in owner && owner.enrolment === enrolment;
}
