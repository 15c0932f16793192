import { enrolmentCreate } from "../../enrolment/enrolment_create.ts";
import { enrolmentKeys } from "../../enrolment/enrolment_keys.ts";
import { enrolmentLimit } from "../../enrolment/enrolment_limit.ts";
import { enrolmentList } from "../../enrolment/enrolment_list.ts";
import { enrolmentRevoke } from "../../enrolment/enrolment_revoke.ts";
import { enrolmentTry } from "../../enrolment/enrolment_try.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const enrolment: Operation = defineOperations({
  summary: "Make, try, list and end enrolments: which proofs give agent keys.",
  example: "agentops enrolment create --label 'builders in eu' --prefix builder-",
  parts: {
    create: enrolmentCreate,
    list: enrolmentList,
    test: enrolmentTry,
    limit: enrolmentLimit,
    keys: enrolmentKeys,
    revoke: enrolmentRevoke,
  },
});
