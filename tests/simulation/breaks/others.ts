import type { NamedTest } from "../../promises/kept_promise.ts";

/** A fault that was mended once and that no history finds: why, and the tests that find it. */
export interface OtherBreak {
  /** Of the list of all breaks. */
  readonly number: number;
  readonly words: string;
  readonly why: string;
  readonly tests: readonly NamedTest[];
}

/** Faults of packets are found by the sandbox peer's own simulation, by the words of its table. */
export const OF_PACKETS: Readonly<Record<number, readonly string[]>> = {
  30: ["a sender's reset is a clean end", "a revoked rule leaves its open connections alone"],
  31: [
    "4,096 idle connections of one neighbour take every place",
    "290 MiB out of order of one neighbour take all memory",
    "60 SYNs a second of one neighbour take every half-open place of a port",
  ],
  32: ["a public host starts again, and its idle neighbour behind a router does not notice"],
  33: ["the relayed address outlives the credentials of its relay"],
  34: ["an endpoint inside the mesh, or a name that resolves there: a loop of its own ciphertext"],
  35: ["two meshes of one network on a host: the other mesh's peer answers"],
};

const ENROLMENT = "tests/database/enrolment";

export const OTHERS: readonly OtherBreak[] = [
  {
    number: 2,
    words: "Five PUTs at once with a commit between them: other bytes than those verified.",
    why:
      "To read at the upload's path would be another protocol, which no small patch brings back.",
    tests: [{
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "a PUT begun before the commit and finished after it",
    }],
  },
  {
    number: 7,
    words: "Idle sweeps, then a part of the rows is restored: live objects are removed as orphans.",
    why: "The guard acts from twenty objects on. Histories have fewer.",
    tests: [{
      file: "tests/database/sweep/guard_test.ts",
      name: "few orphans that a round has counted, then a restore that loses many more rows",
    }],
  },
  {
    number: 10,
    words:
      "The record of ended agents is swept, then their enrolment is revoked: its links live on.",
    why: "The record must be swept between two steps of one enrolment: too seldom.",
    tests: [{
      file: `${ENROLMENT}/later_cuts_test.ts`,
      name: "after ${days} days and a whole sweep → every cut still cuts",
    }],
  },
  {
    number: 14,
    words: "64 takers of five uses, 32 replays of one token: one use too many.",
    why: "It needs two transactions at once. Here each is a whole step.",
    tests: [
      {
        file: "tests/database/downloads/race.ts",
        name: "${AT_ONCE} of /fetch, /open and /d at once, of a grant with max_downloads",
      },
      { file: `${ENROLMENT}/one_use_test.ts`, name: "a proof of one use, sent twice before" },
    ],
  },
  {
    number: 17,
    words: "Hosts apply an older configuration after a restore, and the sign of it is overwritten.",
    why: "The doctor reads the sign, and no history asks the doctor.",
    tests: [{
      file: "packages/operator/tests/doctor/restore_signs_test.ts",
      name: "doctor of a database that hosts and Storage are ahead of",
    }],
  },
  {
    number: 18,
    words:
      "A transaction stays open: the log hides what is later, or a reader misses what is late.",
    why: "No transaction stays open here. Each is a whole step.",
    tests: [
      {
        file: "tests/database/changes/feeds_test.ts",
        name: "events of transactions that commit in another order than they wrote",
      },
      {
        file: "tests/database/changes/feeds_test.ts",
        name: "the events of ${whose} while an older transaction is open",
      },
    ],
  },
  {
    number: 21,
    words: "A download is counted although its URL could not be made; racers get one too many.",
    why:
      "Whether a failed request was counted, its caller cannot know: giving back may fail, too, and the grant then gives one less. Racers need two transactions at once.",
    tests: [
      { file: "tests/database/downloads/counts_test.ts", name: "return_download → one" },
      {
        file: "tests/database/downloads/race.ts",
        name: "${AT_ONCE} of /fetch, /open and /d at once, of a grant with max_downloads",
      },
    ],
  },
  {
    number: 22,
    words: "An agent loses its tag between the list and the opening: still opened.",
    why: "It needs two transactions at once. Here each is a whole step.",
    tests: [{
      file: "tests/database/downloads/tag_races_test.ts",
      name: "/open that begins while ${name} takes the tag away",
    }],
  },
  {
    number: 23,
    words: "A policy is emptied, has unknown names, is applied twice at once: all open, or half.",
    why: "Histories find a policy that is emptied. Two at once need two transactions.",
    tests: [
      { file: "tests/database/policy/policy_test.ts", name: "an empty policy → ends the rules" },
      {
        file: "tests/database/policy/malformed_test.ts",
        name: "plan_policy and apply_policy of every malformed policy",
      },
      {
        file: "tests/database/policy/races_test.ts",
        name: "the same policy is applied by two at once, in steps",
      },
    ],
  },
  {
    number: 24,
    words: "The name of a file from a Mac and from a model: two files.",
    why: "The names of a history have one spelling.",
    tests: [{
      file: "tests/conformance/artifacts/spellings_test.ts",
      name: "/open of a name in another Unicode spelling",
    }],
  },
  {
    number: 8,
    words: "A backup is restored: versions repeat, positions are silent, keys and tokens live.",
    why:
      "Histories restore their backup, but seldom ask by a position of before that the log has passed.",
    tests: [{
      file: "tests/database/operator/after_restore_test.ts",
      name: "after_restore() → every config_version is beyond",
    }, {
      file: "tests/database/operator/after_restore_test.ts",
      name: "after_restore() → an event for the operator",
    }, {
      file: "tests/database/versions/numbers_test.ts",
      name: "after_restore() → versions above every one",
    }],
  },
  {
    number: 9,
    words:
      "A backup is restored, and the record is replayed: a removed agent, its link and rule live.",
    why: "Histories replay the record, but seldom use again what had ended after the backup.",
    tests: [{
      file: "tests/long/restore/endings_test.ts",
      name: "after-restore --record of everything that can end",
    }],
  },
  {
    number: 11,
    words:
      "The record is swept, and another trust makes the same name: it has the former holder's files.",
    why: "The record must be swept between two enrolments of one name: too seldom.",
    tests: [{
      file: "tests/database/enrolment/later_cuts_test.ts",
      name: "after ${days} days and a whole sweep → every cut still cuts",
    }, {
      file: "tests/database/enrolment/former_holders_test.ts",
      name: "three enrolments in turn for one agent",
    }],
  },
];
