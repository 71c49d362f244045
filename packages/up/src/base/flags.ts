import { parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

export type Flags = ReturnType<typeof parseFlags>

/** @throws {UsageError} */
export function parseFlags(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        'data-dir': { type: 'string' },
        'images-dir': { type: 'string' },
        accelerator: { type: 'string' },
        port: { type: 'string' },
        'edge-port': { type: 'string' },
        'database-port': { type: 'string' },
        'e2b-port': { type: 'string' },
        'ssh-port': { type: 'string' },
        join: { type: 'string' },
        token: { type: 'string' },
        'host-address': { type: 'string' },
        label: { type: 'string', multiple: true },
        zone: { type: 'string' },
        yes: { type: 'boolean' },
        prepare: { type: 'boolean' },
        down: { type: 'boolean' },
        'sign-in-link': { type: 'boolean' },
        doctor: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    return values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
