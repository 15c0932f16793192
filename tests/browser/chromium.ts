/**
 * Debian's Chromium that has no windows, for tests of what a person sees and what a page may do. It
 * starts in half the time of the whole browser.
 */
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export type { Page };

/** Runs `test` with an empty page of a browser of its own, and ends the browser. */
export async function withPage<Result>(
  test: (page: Page) => Promise<Result>,
  options: BrowserContextOptions = {},
): Promise<Result> {
  const browser = await launch();
  try {
    return await test(await browser.newPage(options));
  } finally {
    await browser.close();
  }
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: "/usr/bin/chromium-headless-shell",
    // Chromium's own sandbox refuses to run as root, as in CI. Pages here come from these tests.
    args: ["--no-sandbox"],
  });
}
