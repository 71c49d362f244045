import type { AppRow } from '../model/app-row.ts'
import { appById } from '../model/app-statements.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { type VersionSandbox, versionSandboxes } from '../model/instance-statements.ts'
import { byTime } from '../model/app-lines.ts'
import { LogTail, type NumberedLine } from './log-tail.ts'
import type { SentLines } from './line-stream.ts'

/*
 * The output of an app across its versions. A position has the newest version that was followed and, for each sandbox
 * that is kept, the number of the last line in the sandbox's own log: `12,8f0c…=340,91ab…=3`. So it stays valid when old
 * lines are dropped, when another version serves, and when a rollback wakes a sandbox.
 */

interface Position {
  /** The newest version whose lines were sent. */
  version: number
  /** Number of the last line by sandbox. */
  readonly sent: Map<string, number>
}

interface Followed {
  readonly tail: LogTail
  /** Lines before this time belong to an earlier life of the sandbox. RFC 3339. */
  readonly from: string
}

const GONE = '==> an instance ended while nobody followed: its last lines may be missing'

/** Follows the app until it is deleted. The first call decides where to begin. */
export function followVersions(control: AppsContext, { id }: AppRow, requestId: string) {
  const followed = new Map<string, Followed>()
  let position: Position | null = null
  return async (after: string, left: AbortSignal): Promise<SentLines> => {
    const { pool } = control.database
    const [app] = await appById(pool, id)
    if (app === undefined) return { lines: [], isOver: true }
    const sandboxes = await versionSandboxes(pool, id)
    const isFresh = position === null && after === ''
    position ??= isFresh ? { version: newestOf(sandboxes), sent: new Map() } : parsePosition(after)
    const { version, sent } = position
    const lines: { id: string; text: string }[] = []
    if (followed.size === 0 && dropGone(sent, sandboxes)) lines.push({ id: formatPosition(position), text: GONE })
    for (const sandbox of sandboxes) {
      if (followed.has(sandbox.id) || !isWanted(sandbox, position, version)) continue
      const last = sent.get(sandbox.id)
      const from = isFresh || last !== undefined ? '' : sandbox.version_at.toISOString()
      followed.set(sandbox.id, { tail: new LogTail(control, sandbox, last ?? 0, requestId, left), from })
      position.version = Math.max(position.version, sandbox.version)
    }
    for (const { sandboxId, line } of takeInOrder(followed)) {
      sent.set(sandboxId, line.n)
      lines.push({ id: formatPosition(position), text: line.line })
    }
    endGone(followed, sandboxes, sent)
    return { lines, isOver: false }
  }
}

/** Versions that were never live have said nothing to visitors. @param version the newest that was followed before */
function isWanted({ id, is_active, was_live, version: own }: VersionSandbox, { sent }: Position, version: number) {
  return sent.has(id) || is_active || (was_live && own > version)
}

function newestOf(sandboxes: readonly VersionSandbox[]): number {
  return Math.max(0, ...sandboxes.filter((each) => each.was_live).map((each) => each.version))
}

/** Removes sandboxes that no longer exist from what a client has received. Returns whether there were any. */
function dropGone(sent: Map<string, number>, sandboxes: readonly VersionSandbox[]): boolean {
  const kept = new Set<string>(sandboxes.map((each) => each.id))
  const gone = [...sent.keys()].filter((id) => !kept.has(id))
  for (const id of gone) sent.delete(id)
  return gone.length > 0
}

function takeInOrder(followed: ReadonlyMap<string, Followed>): { sandboxId: string; line: NumberedLine }[] {
  const fresh = [...followed].flatMap(([sandboxId, { tail, from }]) =>
    tail.take().flatMap((line) => (line.ts < from ? [] : [{ sandboxId, line }])),
  )
  return fresh.toSorted(({ line: a }, { line: b }) => byTime(a, b))
}

/** Its last lines were taken before. */
function endGone(
  followed: Map<string, Followed>,
  sandboxes: readonly VersionSandbox[],
  sent: Map<string, number>,
): void {
  const kept = new Set<string>(sandboxes.map((each) => each.id))
  for (const [id, { tail }] of followed) {
    if (kept.has(id)) continue
    tail.end()
    followed.delete(id)
    sent.delete(id)
  }
}

function formatPosition({ version, sent }: Position): string {
  return [String(version), ...Array.from(sent, ([id, n]) => `${id}=${n}`)].join(',')
}

/** Ignores what this module has not written. */
function parsePosition(text: string): Position {
  const [, version = '0'] = /^(\d{1,15})(?:,|$)/.exec(text) ?? []
  const sent = Array.from(text.matchAll(/([\w-]{36})=(\d{1,15})/g), ([, id = '', n]) => [id, Number(n)] as const)
  return { version: Number(version), sent: new Map(sent) }
}
