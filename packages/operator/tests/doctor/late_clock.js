/** Load this first: it sets the process's clock one hour back. */
const RealDate = Date;
const BEHIND_MILLISECONDS = 3_600_000;

globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RealDate.now() - BEHIND_MILLISECONDS] : given));
  }
  static now() {
    return RealDate.now() - BEHIND_MILLISECONDS;
  }
};
