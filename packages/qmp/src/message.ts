import { QmpConnectionError } from './qmp-error.ts'

/** A message from QEMU (docs/interop/qmp-spec.txt): one greeting, then answers with an id, and events at any time. */
export type QmpMessage =
  | { readonly kind: 'greeting'; readonly qemuVersion: string }
  | { readonly kind: 'return'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number | null; readonly class: string; readonly description: string }
  | { readonly kind: 'event'; readonly event: QmpEvent }

export interface QmpEvent {
  /** QAPI name: `STOP`, `RESUME`, `MIGRATION`, `SHUTDOWN`, … */
  readonly name: string
  readonly data: Readonly<Record<string, unknown>>
}

/** @throws QmpConnectionError when the line is not a QMP message */
export function parseMessage(line: string): QmpMessage {
  const message = parseObject(line)
  if (isObject(message['QMP'])) return { kind: 'greeting', qemuVersion: versionOf(message['QMP']) }
  if (typeof message['event'] === 'string') {
    const data = isObject(message['data']) ? message['data'] : {}
    return { kind: 'event', event: { name: message['event'], data } }
  }
  const id = typeof message['id'] === 'number' ? message['id'] : null
  if (isObject(message['error'])) {
    const { class: errorClass, desc } = message['error']
    return { kind: 'error', id, class: String(errorClass), description: String(desc) }
  }
  if ('return' in message && id !== null) return { kind: 'return', id, value: message['return'] }
  throw new QmpConnectionError(`not a QMP message: ${line.slice(0, 200)}`)
}

function parseObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (isObject(value)) return value
  } catch {
    // Invalid JSON is refused below, as JSON that is not an object.
  }
  throw new QmpConnectionError(`not a QMP message: ${line.slice(0, 200)}`)
}

function versionOf(greeting: Record<string, unknown>): string {
  const version = isObject(greeting['version']) ? greeting['version'] : {}
  const qemu = isObject(version['qemu']) ? version['qemu'] : {}
  return [qemu['major'], qemu['minor'], qemu['micro']].join('.')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
