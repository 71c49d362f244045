/**
 * Removes secrets and data of tenants from texts: first what we know to be secret, then what looks like it. It removes
 * too much rather than too little.
 */
export const REMOVED = '(removed)'

/** Fields whose values are secret, in configurations and in logs. */
const SECRET_FIELD = /secret|password|passphrase|key|token|sha256|credential|authorization|cookie|signature/i
/** Fields that say who somebody is. Their values are no secrets, and can be words that appear everywhere. */
const PERSONAL_FIELD = /^user$/
/** Fields of logs with content of tenants. */
const TENANT_FIELD =
  /^(env|envs|cmd|command|args|argv|stdin|stdout|stderr|body|headers|params|parameters|metadata|data|detail|where|query|email|name|label)$/
/** A shorter value would remove common words. */
const SECRET_MIN_CHARS = 6

const PATTERNS: readonly [RegExp, string][] = [
  [/-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g, REMOVED],
  [/\b(ofs|e2b|whsec|sk_live|sk_test|rk_live|rk_test|ghp|gho|ghs|ghu|github_pat)_[\w+/=.-]{8,}/g, `$1_${REMOVED}`],
  [/\beyJ[\w-]{6,}\.[\w-]+(\.[\w-]*)?/g, REMOVED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, `$1 ${REMOVED}`],
  [/(:\/\/)[^/\s@"']+@/g, `$1${REMOVED}@`],
  [/(\/sign-in#)[^\s"']+/g, `$1${REMOVED}`],
  [/([?&][\w.-]+=)[^&\s"'#]+/g, `$1${REMOVED}`],
  [/\b[\w.+-]+@[\w-]+(\.[\w-]+)+/g, REMOVED],
  [/\b[0-9a-f]{64,}\b/gi, REMOVED],
  // name=value and "name": "value"
  [
    /((?:secret|password|passphrase|token|api_?key|authorization|cookie)\w*["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;}&]+)/gi,
    `$1${REMOVED}`,
  ],
]

export class Redaction {
  readonly #known: RegExp | null

  /** @param secrets values that must not appear, in any of their usual encodings */
  constructor(secrets: Iterable<string>) {
    const forms = new Set([...secrets].flatMap(formsOf).filter(({ length }) => length >= SECRET_MIN_CHARS))
    // The longest first, so that a secret that begins another one leaves nothing of it.
    const longestFirst = [...forms].toSorted((a, b) => b.length - a.length)
    this.#known = forms.size === 0 ? null : new RegExp(longestFirst.map(escape).join('|'), 'gi')
  }

  text(text: string): string {
    const withoutKnown = this.#known === null ? text : text.replace(this.#known, REMOVED)
    return PATTERNS.reduce((left, [pattern, by]) => left.replace(pattern, by), withoutKnown)
  }

  /** A value of JSON. Numbers, booleans and the names of fields stay. */
  json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map((each) => this.json(each))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(
      Object.entries(value).map(([field, each]) => [
        field,
        isEmpty(each) || !(SECRET_FIELD.test(field) || PERSONAL_FIELD.test(field)) ? this.json(each) : REMOVED,
      ]),
    )
  }

  /** A line of a log: JSON, or any text. */
  logLine(line: string): string {
    const parsed = parseObject(line)
    return parsed === null ? this.text(line) : JSON.stringify(this.json(withoutTenantFields(parsed)))
  }
}

/** The values of secret fields in a configuration. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret ? [value] : []
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([field, each]) => secretsIn(each, isSecret || SECRET_FIELD.test(field)))
}

/** A secret of random bytes is written in several ways. */
function formsOf(value: string): string[] {
  const secret = value.trim()
  const bytes = Buffer.from(secret, 'base64')
  return [secret, ...encoded(Buffer.from(secret)), ...(bytes.length >= 16 ? encoded(bytes) : [])]
}

function encoded(bytes: Buffer): string[] {
  return [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
}

function withoutTenantFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTenantFields)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([field, each]) => [
      field,
      isEmpty(each) || !TENANT_FIELD.test(field) ? withoutTenantFields(each) : REMOVED,
    ]),
  )
}

function isEmpty(value: unknown): boolean {
  return value === null || typeof value === 'boolean' || typeof value === 'number'
}

function parseObject(line: string): object | null {
  if (!line.startsWith('{')) return null
  try {
    return JSON.parse(line) as object
  } catch {
    return null
  }
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}
