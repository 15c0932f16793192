/** A person who uses only the keyboard. */
import assert from "node:assert/strict";
import type { Page } from "./chromium.ts";

/** More presses than any page needs. */
const MOST_TABS = 600;

/** The focused element: its name, its link, its field, and whether its focus is visible. */
interface Focused {
  readonly name: string;
  readonly href: string;
  readonly field: string;
  readonly isVisible: boolean;
}

function readFocused(page: Page): Promise<Focused> {
  return page.evaluate(`(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const { width, height } = element.getBoundingClientRect();
    return {
      name: (element.ariaLabel ?? element.innerText ?? "").replaceAll(/\\s+/g, " ").trim(),
      href: element.getAttribute("href") ?? "",
      field: element.getAttribute("name") ?? "",
      isVisible: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 && width > 1 && height > 1,
    };
  })()`);
}

/** Presses Tab until the wanted element has the focus. Every element must show its focus. */
async function tabTo(page: Page, what: string, isWanted: (focused: Focused) => boolean) {
  const passed: string[] = [];
  for (let presses = 0; presses < MOST_TABS; presses++) {
    await page.keyboard.press("Tab");
    const focused = await readFocused(page);
    if (isWanted(focused)) {
      assert.equal(focused.isVisible, true, `${what} does not show that it has the focus`);
      return;
    }
    passed.push(focused.name || focused.field);
  }
  assert.fail(`Tab does not come to ${what}, but to ${Array.from(new Set(passed)).join("; ")}`);
}

/** Follows the first link whose text, hidden parts included, contains all `words`. */
export async function followLink(page: Page, ...words: string[]): Promise<void> {
  await tabTo(
    page,
    `the link ${words}`,
    ({ name, href }) => href !== "" && words.every((word) => name.includes(word)),
  );
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

/** Types into a field; `"ArrowDown"` chooses the next option of a list. */
export async function typeInto(page: Page, field: string, text: string): Promise<void> {
  await tabTo(page, `the field ${field}`, (focused) => focused.field === field);
  if (text === "ArrowDown") return await page.keyboard.press(text);
  // Tab selects the field's text, so that typing replaces it.
  await page.keyboard.type(text);
}

/** Presses a button whose label begins with `label`, and waits for the page that it leads to. */
export async function pressButton(page: Page, label: string): Promise<void> {
  await tabTo(
    page,
    `the button ${label}`,
    ({ name, href }) => href === "" && name.startsWith(label),
  );
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}
