import { useCallback, useState } from 'react'

/** The terminals that a browser shows of one sandbox. */
export interface OpenSessions {
  /** Names of sessions, in the order of their tabs. */
  readonly names: readonly string[]
  readonly active: string
}

/** The session that every browser opens first, so that it comes back everywhere. */
const FIRST = 'console-1'
const NAME = /^console-([1-9]\d{0,3})$/
export const MAX_SESSIONS = 12

const INITIAL: OpenSessions = { names: [FIRST], active: FIRST }

/** E.g. `Terminal 2`. */
export function titleOf(name: string): string {
  return `Terminal ${NAME.exec(name)?.[1] ?? name}`
}

/** Reads what the browser remembers. Anything unexpected is left out. */
export function parseSessions(text: string | null): OpenSessions {
  let found: Partial<OpenSessions>
  try {
    found = (JSON.parse(text ?? '{}') ?? {}) as Partial<OpenSessions>
  } catch {
    return INITIAL
  }
  const listed: readonly unknown[] = Array.isArray(found.names) ? found.names : []
  const names = [...new Set(listed.filter((name): name is string => typeof name === 'string' && NAME.test(name)))]
  const [first] = names
  if (first === undefined) return INITIAL
  return { names: names.slice(0, MAX_SESSIONS), active: names.find((name) => name === found.active) ?? first }
}

/** Adds the session with the lowest free number, and shows it. */
export function withNew({ names, active }: OpenSessions): OpenSessions {
  if (names.length >= MAX_SESSIONS) return { names, active }
  const isFree = (number: number) => !names.includes(`console-${number}`)
  const number = Array.from({ length: MAX_SESSIONS }, (_, index) => index + 1).find(isFree) ?? names.length + 1
  const name = `console-${number}`
  return { names: [...names, name], active: name }
}

/** Removes a session. Its neighbour is shown, or a first session if it was the last one. */
export function without({ names, active }: OpenSessions, name: string): OpenSessions {
  const rest = names.filter((other) => other !== name)
  if (rest.length === 0) return INITIAL
  const neighbour = rest[Math.min(names.indexOf(name), rest.length - 1)] ?? FIRST
  return { names: rest, active: active === name ? neighbour : active }
}

/** The open terminals of a sandbox, which this browser remembers. */
export function useOpenSessions(sandboxId: string): [OpenSessions, (next: OpenSessions) => void] {
  const key = `offshoot-terminals-${sandboxId}`
  const [sessions, setSessions] = useState(() => parseSessions(localStorage.getItem(key)))
  const change = useCallback(
    (next: OpenSessions) => {
      localStorage.setItem(key, JSON.stringify(next))
      setSessions(next)
    },
    [key],
  )
  return [sessions, change]
}
