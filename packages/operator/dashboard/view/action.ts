import { html } from "hono/html";
import type { Input, Offer, Plan, Target } from "../act/action.ts";
import type { Result } from "../act/results.ts";
import { agentPath, foreign, type Markup } from "./cells.ts";

/** What an action would do, and the form that does it. */
export function planPage(
  { action, target, home, token, plan, error = null, inputs = {} }: {
    readonly action: string;
    readonly target: Target;
    readonly home: string | null;
    readonly token: string;
    readonly plan: Plan;
    /** What was wrong with the form that was sent before. */
    readonly error?: string | null;
    /** What was filled in before. */
    readonly inputs?: Target;
  },
): Markup {
  return html`<section class="plan">
    <h1>${foreign(plan.title)}</h1>
    ${error === null ? "" : html`<p class="error" role="alert">${error} Nothing was changed.</p>`}
    <h2>What it does</h2>
    <ul id="effects">${plan.effects.map((effect) => html`<li>${foreign(effect)}</li>`)}</ul>
    <p id="undo">${plan.undo}</p>
    <form method="post" action="../act/${action}" autocomplete="off">
      ${hidden({ ...target, token })}
      ${(plan.inputs ?? []).map((input) => field(input, inputs[input.name] ?? ""))}
      <p class="line"><button class="${
    plan.isDangerous === true ? "danger" : "primary"
  }">${plan.verb}</button>
        <a href="${home === null ? "../agents/" : agentPath(home)}">Cancel</a></p>
    </form>
  </section>`;
}

function hidden(values: Target): Markup[] {
  return Object.entries(values).map(([name, value]) =>
    html`<input type="hidden" name="${name}" value="${value}">`
  );
}

function field({ name, label, hint, choices }: Input, value: string): Markup {
  const described = hint === undefined ? "" : html`aria-describedby="${name}-hint"`;
  return html`<p class="field"><label for="${name}">${label}</label>${
    choices === undefined
      ? html`<input id="${name}" name="${name}" value="${value}" ${described} spellcheck="false">`
      : html`<select id="${name}" name="${name}">${
        choices.map(([choice, text]) =>
          html`<option value="${choice}" ${choice === value ? html`selected` : ""}>${text}</option>`
        )
      }</select>`
  }${
    hint === undefined ? "" : html`<span class="hint" id="${name}-hint">${foreign(hint)}</span>`
  }</p>`;
}

/**
 * What an action did, and its secret if the result still has it. `undo`: the action that undoes it,
 * with a token for its form.
 */
export function resultPage(
  result: Result,
  undo: (Offer & { readonly token: string }) | null,
): Markup {
  const { home } = result;
  const back = home === null
    ? html`<p><a href="../agents/">All agents</a></p>`
    : html`<p><a href="${agentPath(home)}">Back to ${foreign(home)}</a></p>`;
  if ("failure" in result) {
    return html`<section class="plan"><h1>It failed</h1>
      <p class="error" role="alert">${foreign(result.failure)}</p>${back}</section>`;
  }
  const { done, secret } = result.outcome;
  return html`<section class="plan"><h1>Done</h1>
    <div role="status"><ul id="done">${
    done.map((sentence) => html`<li>${foreign(sentence)}</li>`)
  }</ul></div>
    ${
    secret === undefined ? "" : html`<p><label for="secret">${secret.label}</label>
      <input id="secret" data-secret readonly value="${secret.value}" autocomplete="off" spellcheck="false"></p>`
  }
    ${
    undo === null ? "" : html`<form method="post" action="../act/${undo.action}" autocomplete="off">
      ${hidden({ ...undo.target, token: undo.token })}
      <p><button>${undo.label}</button></p>
    </form>`
  }${back}</section>`;
}

/** Says why a form was refused or cannot be shown. */
export function refusalPage(
  { title, reason, resultId = null }: {
    readonly title: string;
    readonly reason: string;
    readonly resultId?: string | null;
  },
): Markup {
  return html`<section class="plan"><h1>${title}</h1>
    <p class="error" role="alert">${foreign(reason)}</p>
    ${
    resultId === null
      ? ""
      : html`<p><a href="../results/${resultId}">See what the form did when it was sent first</a></p>`
  }
    <p><a href="../agents/">All agents</a></p></section>`;
}
