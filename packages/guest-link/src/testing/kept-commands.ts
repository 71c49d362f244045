import type { GuestAttachment } from '../guest-attachment.ts'
import type { GuestCommand } from '../guest-command.ts'
import type { GuestLink } from '../link.ts'
import type { LogChunk } from '../log-output.ts'
import { deadlineFor } from './host-guest.ts'
import { until } from './observe.ts'

export const soon = () => deadlineFor('kept command')

type KeepMore = Partial<GuestCommand> & { logBytes?: number; waits?: boolean; label?: string }

/** What tests do with the kept commands of a guest. */
export function keptCommands(linkOf: () => GuestLink) {
  const find = async (id: string) => (await linkOf().kept(soon())).find((kept) => kept.id === id)
  return {
    find,
    keep: (id: string, script: string, more: KeepMore = {}) => {
      const { logBytes, waits, label = script, ...command } = more
      const options = { id, label, waits, ...(logBytes && { logBytes }) }
      return linkOf().keep({ argv: ['sh', '-c', script], ...command }, options, soon())
    },
    attach: (id: string, fromOffset: number | 'end' = 0) => linkOf().attach(id, { fromOffset }, soon()),
    ended: (id: string) => until(`${id} to end`, async () => (await find(id))?.exit !== null),
  }
}

/** All output of a command, until it has ended. */
export async function chunksOf(attachment: GuestAttachment): Promise<LogChunk[]> {
  const chunks: LogChunk[] = []
  const reading = (async () => {
    for await (const chunk of attachment.output) chunks.push(chunk as LogChunk)
  })()
  await soon().race(reading)
  return chunks
}
