import { agentCreate } from "../../agent_create.ts";
import { agentTag } from "../../agent_tag.ts";
import { agentList } from "../../reports/agent_list.ts";
import { agentShow } from "../../reports/agent_show.ts";
import { agentErase } from "../../endings/agent_erase.ts";
import { agentLimit } from "../../endings/agent_limit.ts";
import { agentRemove } from "../../endings/agent_remove.ts";
import { agentRevoke } from "../../endings/agent_revoke.ts";
import { agentShare } from "../../names/agent_share.ts";
import { agentWho } from "../../names/agent_who.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const agent: Operation = defineOperations({
  summary: "Make, show, change and end agents and their agent keys.",
  example: "agentops agent create planner",
  parts: {
    create: agentCreate,
    list: agentList,
    show: agentShow,
    who: agentWho,
    share: agentShare,
    tag: agentTag,
    limit: agentLimit,
    revoke: agentRevoke,
    remove: agentRemove,
    erase: agentErase,
  },
});
