/** Creates two agents with rows in every table of the stack, and prints their ids. */
import { createAgent } from "../../conformance/client.ts";
import { bringToLife } from "./cast.ts";

const [agent, builder] = [await createAgent("Erasable.agent"), await createAgent("builder")];
await bringToLife(agent, builder);
console.log(JSON.stringify([agent.id, builder.id]));
