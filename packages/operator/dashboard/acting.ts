import type { Context, Hono } from "hono";
import { CommandError, reasonOf } from "../../command/command_error.ts";
import { type Action, homeOf, InputError, type Target } from "./act/action.ts";
import { findAction, inputsOf, targetOf } from "./act/actions.ts";
import { Results } from "./act/results.ts";
import { ActionTokens } from "./act/tokens.ts";
import { type Show, valuesOf } from "./reading.ts";
import { planPage, refusalPage, resultPage } from "./view/action.ts";

/** Larger than any form of these pages. */
const LARGEST_FORM_BYTES = 16 * 1024;
const NO_ACTION = { title: "No such action", reason: "Nothing was changed." };

/**
 * Adds the pages that change something to `app`. `GET /act/ACTION` shows what the action would do,
 * and a form with a token. `POST` of that form runs the action and redirects to a page that shows
 * what the action did.
 */
export function addActingPages(app: Hono, show: Show): void {
  const tokens = new ActionTokens();
  const results = new Results();

  async function showPlan(
    context: Context,
    { name, action, target, error = null, inputs = {} }: {
      readonly name: string;
      readonly action: Action;
      readonly target: Target;
      readonly error?: string | null;
      readonly inputs?: Target;
    },
  ): Promise<Response> {
    const plan = await action.plan(target);
    const token = tokens.issue(name, target);
    return await show(context, {
      title: plan.title,
      here: "action",
      body: planPage({
        action: name,
        target,
        home: homeOf(target),
        token,
        plan,
        error,
        inputs,
      }),
    }, error === null ? 200 : 422);
  }

  function refuse(
    context: Context,
    refusal: Parameters<typeof refusalPage>[0],
    status: 403 | 404 | 409,
  ): Response | Promise<Response> {
    return show(
      context,
      { title: refusal.title, here: "action", body: refusalPage(refusal) },
      status,
    );
  }

  app.get("/act/:action", async (context) => {
    const name = context.req.param("action");
    const action = findAction(name);
    if (action === null) return await refuse(context, NO_ACTION, 404);
    try {
      const target = targetOf(action, valuesOf(context));
      return await showPlan(context, { name, action, target });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return await refuse(context, { title: "It cannot be done", reason: error.message }, 409);
    }
  });

  app.post("/act/:action", async (context) => {
    const name = context.req.param("action");
    const action = findAction(name);
    if (action === null) return await refuse(context, NO_ACTION, 404);
    // A browser always sends a form with a content-length.
    const length = Number(context.req.header("content-length") ?? Infinity);
    if (length > LARGEST_FORM_BYTES) return context.text("The form is too large.", 413);
    const values = new URLSearchParams(await context.req.text());
    const target = targetOf(action, values);
    const redemption = tokens.redeem(values.get("token") ?? "", name, target);
    if (!redemption.isValid) {
      const reason = redemption.resultId === null
        ? "The form is for another action, or is older than ten minutes. Nothing was changed: open the action again."
        : "The form was sent already. Nothing was changed by sending it again.";
      return await refuse(
        context,
        { title: "The form is not valid", reason, resultId: redemption.resultId },
        403,
      );
    }
    const { resultId } = redemption;
    const inputs = inputsOf(action, values);
    const doing = action.run(target, inputs);
    await results.keep(resultId, homeOf(target), doing);
    const error = await doing.then(() => null, (error: unknown) => error);
    if (error instanceof InputError) {
      return await showPlan(context, { name, action, target, error: reasonOf(error), inputs });
    }
    return context.redirect(`../results/${resultId}`, 303);
  });

  app.get("/results/:result", async (context) => {
    const result = await results.take(context.req.param("result"));
    if (result === null) {
      const gone = { title: "No such result", reason: "Only the newest 100 results are kept." };
      return await refuse(context, gone, 404);
    }
    const offer = "outcome" in result ? result.outcome.undo ?? null : null;
    const undo = offer === null
      ? null
      : { ...offer, token: tokens.issue(offer.action, offer.target) };
    return await show(context, {
      title: "failure" in result ? "It failed" : "Done",
      here: "action",
      body: resultPage(result, undo),
    });
  });
}
