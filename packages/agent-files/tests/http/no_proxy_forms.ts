/** What NO_PROXY may contain. Every client must decide like curl, which a test asks. */
export interface Form {
  readonly noProxy: string;
  readonly url: string;
  readonly isDirect: boolean;
  /** curl does not know the form. Then only the clients are compared. */
  readonly isUnknownToCurl?: true;
}

const direct = (noProxy: string, url: string): Form => ({ noProxy, url, isDirect: true });
const proxied = (noProxy: string, url: string): Form => ({ noProxy, url, isDirect: false });
const unknownToCurl = (form: Form): Form => ({ ...form, isUnknownToCurl: true });

export const FORMS: readonly Form[] = [
  proxied("", "http://files.example/"),
  direct("*", "http://files.example/"),
  unknownToCurl(direct("other.example,*", "http://files.example/")),

  direct("files.example", "http://files.example/"),
  direct("FILES.example", "http://Files.Example/"),
  direct("files.example.", "http://files.example/"),
  direct("files.example", "http://files.example./"),
  direct("example.com", "http://ref.example.com/"),
  direct("example.com", "http://a.ref.example.com:8080/"),
  direct("example.com", "https://ref.example.com/"),
  direct(".example.com", "http://ref.example.com/"),
  direct(".example.com", "http://example.com/"),
  unknownToCurl(direct("*.example.com", "http://ref.example.com/")),
  direct("localhost", "http://localhost:54321/"),
  direct("localhost", "http://a.localhost:54321/"),
  direct(".localhost", "http://localhost:54321/"),
  proxied("127.0.0.1", "http://localhost:54321/"),
  proxied("les.example", "http://files.example/"),
  proxied("files.example", "http://example/"),
  proxied("files.example.com", "http://files.example/"),
  proxied(".", "http://files.example/"),
  proxied("127.0.0.0/8", "http://files.example/"),

  direct("other.example, files.example", "http://files.example/"),
  direct("other.example files.example", "http://files.example/"),
  direct(" ,other.example ,, files.example,", "http://files.example/"),
  proxied("other.example, another.example", "http://files.example/"),

  direct("127.0.0.1", "http://127.0.0.1:54321/"),
  direct("127.0.0.1", "http://127.1:54321/"),
  direct("127.0.0.0/8", "http://127.0.0.1/"),
  direct("10.0.0.0/8,192.168.0.0/16", "https://192.168.7.9/"),
  direct("10.1.2.3/32", "http://10.1.2.3/"),
  direct("10.1.2.4/31", "http://10.1.2.5/"),
  unknownToCurl(direct("0.0.0.0/0", "http://10.1.2.3/")),
  proxied("10.1.2.4/31", "http://10.1.2.6/"),
  proxied("10.0.0.0/8", "http://11.0.0.1/"),
  proxied("127.0.0.0/33", "http://127.0.0.1/"),
  proxied("0.0.1", "http://127.0.0.1/"),
  proxied(".0.0.1", "http://127.0.0.1/"),

  direct("::1", "http://[::1]:54321/"),
  // curl 7.88 compares IPv6 addresses as text.
  unknownToCurl(direct("0:0:0:0:0:0:0:1", "http://[::1]:54321/")),
  unknownToCurl(direct("fd00::/8", "https://[fd12:3456::1]/")),
  unknownToCurl(direct("2001:db8::/33", "http://[2001:db8:7fff::1]/")),
  proxied("2001:db8::/33", "http://[2001:db8:8000::1]/"),
  proxied("::1", "http://[::2]/"),
  proxied("fd00::/8", "http://10.1.2.3/"),
  unknownToCurl(direct("[::1]", "http://[::1]:54321/")),
  unknownToCurl(direct("[::1]:54321", "http://[::1]:54321/")),
  unknownToCurl(proxied("[::1]:54322", "http://[::1]:54321/")),

  unknownToCurl(direct("files.example:443", "https://files.example/")),
  unknownToCurl(direct("files.example:80", "http://files.example/")),
  unknownToCurl(direct("files.example:8443", "https://my.files.example:8443/")),
  proxied("files.example:443", "http://files.example/"),
  proxied("files.example:8443", "https://files.example/"),
];
