/** When the bucket kept versions, in the order of all requests and answers of a history. */
interface Period {
  readonly from: number;
  /** Infinity: it still does. */
  until: number;
}

/** What a history knows of the bucket. */
export class Bucket {
  readonly periods: Period[] = [];

  get keepsVersions(): boolean {
    return this.periods.at(-1)?.until === Infinity;
  }

  /** Whether it kept versions during the whole of something. */
  keptDuring({ start, end }: { readonly start: number; readonly end: number }): boolean {
    return this.periods.some(({ from, until }) => from < start && end < until);
  }
}
