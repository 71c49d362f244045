import { NotFoundError, type Offshoot } from '@offshoot/sdk'
import { EXIT, Failure, UsageError } from './failure.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** What may begin a UUID. */
const PREFIX = /^[0-9a-f][0-9a-f-]{0,35}$/i

/** How to find the objects of one kind. */
interface Kind {
  readonly noun: string
  /** All objects of this kind. */
  readonly list: (api: Offshoot) => Promise<readonly Entry[]>
  /** The command that lists them. */
  readonly ls: string
}

interface Entry {
  readonly id: string
  readonly name?: string | null
  readonly label?: string | null
  readonly metadata?: Readonly<Record<string, string>>
}

/** Entries of one page. */
const PAGE = { query: { limit: 1000 } }

const KINDS = {
  sandbox: {
    noun: 'sandbox',
    list: async (api) => api.list('GET /v1/sandboxes', PAGE).all(),
    ls: 'offshoot sandbox ls',
  },
  database: { noun: 'database', list: async (api) => api.list('GET /v1/databases', PAGE).all(), ls: 'offshoot db ls' },
  app: { noun: 'app', list: async (api) => api.list('GET /v1/apps', PAGE).all(), ls: 'offshoot app ls' },
  snapshot: {
    noun: 'snapshot',
    list: async (api) => api.list('GET /v1/snapshots', PAGE).all(),
    ls: 'offshoot snapshot ls',
  },
} as const satisfies Record<string, Kind>

/**
 * The id of the object that `text` names: its id, its name (the label of a database, the tag `name` of a sandbox), or
 * the beginning of its id that no other has. Throws a `Failure` if there is none, or several.
 */
export async function resolve(api: Offshoot, kind: keyof typeof KINDS, text: string): Promise<string> {
  // A complete id needs no request: the next one says if there is no such object.
  if (UUID.test(text)) return text.toLowerCase()
  return (await find(api, KINDS[kind], text)).id
}

async function find(api: Offshoot, kind: Kind, text: string): Promise<Entry> {
  if (text === '') throw new UsageError(`the ${kind.noun} must not be empty`)
  if (kind.noun === 'sandbox') {
    const named = await api.request('GET /v1/sandboxes', { query: { 'metadata.name': text, limit: 10 } })
    if (named.length > 0) return only(kind, text, named)
    if (!PREFIX.test(text)) throw none(kind, text)
  }
  return pick(kind.noun, kind.ls, text, await kind.list(api))
}

/** Answers about an object whose name is its id. @throws Failure that says which object there is none of */
export async function named<T>(noun: 'template' | 'volume', name: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof NotFoundError ? none({ noun, ls: `offshoot ${noun} ls` }, name) : error
  }
}

/** The name of such an object. It becomes a segment of the path of requests. */
export function nameFor(noun: 'template' | 'volume', text: string): string {
  if (text === '' || text === '.' || text === '..') throw new UsageError(`the ${noun} must not be "${text}"`)
  return text
}

/** The same for objects that were listed already, such as the deployments of an app. */
export function pick<T extends Entry>(noun: string, ls: string, text: string, all: readonly T[]): T {
  const named = all.filter(({ name, label }) => name === text || label === text)
  if (named.length > 0) return only({ noun, ls }, text, named)
  return only({ noun, ls }, text, PREFIX.test(text) ? all.filter(({ id }) => id.startsWith(text.toLowerCase())) : [])
}

function only<T extends Entry>(kind: Pick<Kind, 'noun' | 'ls'>, text: string, found: readonly T[]): T {
  const [first, second] = found
  if (first === undefined) throw none(kind, text)
  if (second !== undefined) {
    const shown = found.slice(0, 3).map(({ id }) => id)
    const others = found.length > shown.length ? ', …' : ''
    throw new UsageError(
      `several ${pluralOf(kind.noun)} match "${text}" (${shown.join(', ')}${others}): give more of the id`,
    )
  }
  return first
}

function none({ noun, ls }: Pick<Kind, 'noun' | 'ls'>, text: string): Failure {
  return new Failure(`there is no ${noun} "${text}"`, { exitCode: EXIT.notFound, next: `list them with ${ls}` })
}

function pluralOf(noun: string): string {
  return noun.endsWith('x') ? `${noun}es` : `${noun}s`
}
