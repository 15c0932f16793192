import type { Described } from "./command.ts";
import { type About, optionsOf, optionWithValue, usageOf } from "./help.ts";

type Terms = readonly (readonly [term: string, meaning: string])[];

/** What a program's manual page has beside its help texts. */
export interface Manual {
  /** The package that the program belongs to, and its version. */
  readonly source: string;
  readonly environment: Terms;
  readonly files: Terms;
}

/** The manual page in the format of man(7), made from the help texts of all verbs. */
export function manPage(
  about: About,
  verbs: Readonly<Record<string, Described>>,
  { source, environment, files }: Manual,
): string {
  const { name, summary, notes, exitCodes } = about;
  return [
    `.TH ${name.toUpperCase()} 1 "" "${source}" "User Commands"`,
    ".SH NAME",
    `${name} \\- ${text(summary.slice(name.length + 1).replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    `.B ${name}`,
    ".I verb",
    "\\&...",
    ".SH DESCRIPTION",
    notes.map(text).join("\n.PP\n"),
    ".SH VERBS",
    ...Object.entries(verbs).flatMap(([verb, command]) => sectionOf(`${name} ${verb}`, command)),
    ".SH ENVIRONMENT",
    ...termsOf(environment),
    ".SH FILES",
    ...termsOf(files),
    ".SH EXIT STATUS",
    ...termsOf(exitCodes),
    "",
  ].join("\n");
}

function sectionOf(name: string, command: Described): string[] {
  return [
    `.SS ${text(usageOf(name, command))}`,
    text(command.summary),
    ...(command.parts === undefined
      ? termsOf(
        optionsOf(command).filter(([option]) => !["json", "help"].includes(option))
          .map((
            [option, declared],
          ) => [optionWithValue(option, declared), declared.help]),
      )
      : []),
    ".PP",
    command.example.includes("\n") ? "Examples:" : "Example:",
    ".PP",
    ".nf",
    ".RS 4",
    ...command.example.split("\n").map(text),
    ".RE",
    ".fi",
    ...Object.entries(command.parts ?? {})
      .flatMap(([part, described]) => sectionOf(`${name} ${part}`, described)),
  ];
}

function termsOf(terms: Terms): string[] {
  return terms.flatMap(([term, meaning]) => [".TP", `.B ${text(term)}`, text(meaning)]);
}

/** Escapes text for roff. A dash becomes `\-`, so that a command copied from the page works. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-")
    .replaceAll("…", "...");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
