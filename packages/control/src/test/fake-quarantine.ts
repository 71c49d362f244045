import { randomUUID } from 'node:crypto'
import type { QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import type { FakeAgentState } from './fake-agent-state.ts'
import type { Handled } from './handled.ts'

/** Answers requests about the quarantine as a real agent does. An entry with the reason `stuck` cannot be restored. */
export function answerQuarantine({ quarantine }: FakeAgentState, method: string, path: string): Handled {
  if (method === 'GET') return { status: 200, body: { entries: [...quarantine.values()] } }
  const [, , , name = ''] = path.split('/')
  const entry = quarantine.get(name)
  if (entry === undefined) return { status: 404, body: { error: 'not found' } }
  if (method === 'POST' && entry.reason === 'stuck')
    return { status: 409, body: { error: 'conflict', detail: 'the object has no record' } }
  quarantine.delete(name)
  return { status: 204 }
}

export function addQuarantined({ quarantine }: FakeAgentState, change: Partial<QuarantineEntry> = {}): QuarantineEntry {
  const [entry, id] = [randomUUID(), randomUUID()]
  const since = new Date().toISOString()
  const added: QuarantineEntry = {
    entry,
    state: 'quarantined',
    kind: 'volume',
    id,
    path: `volumes/${id}`,
    reason: 'it has no record',
    layers: [],
    since,
    ...change,
  }
  quarantine.set(added.entry, added)
  return added
}
