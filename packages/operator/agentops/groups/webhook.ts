import { defineOperations, type Operation } from "../../command.ts";
import { webhookCreate } from "../../webhooks/webhook_create.ts";
import { webhookDelete } from "../../webhooks/webhook_delete.ts";
import { webhookDeliveries } from "../../webhooks/webhook_deliveries.ts";
import { webhookList } from "../../webhooks/webhook_list.ts";
import { webhookRequeue } from "../../webhooks/webhook_requeue.ts";
import { webhookRotate } from "../../webhooks/webhook_rotate.ts";
import { webhookTry } from "../../webhooks/webhook_try.ts";

export const webhook: Operation = defineOperations({
  summary: "Send events to URLs: create, test, rotate and end webhooks, and see what arrives.",
  example: "agentops webhook create https://hooks.example.com/agents --type grant.created",
  parts: {
    create: webhookCreate,
    list: webhookList,
    test: webhookTry,
    deliveries: webhookDeliveries,
    requeue: webhookRequeue,
    rotate: webhookRotate,
    delete: webhookDelete,
  },
});
