import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { feedProgram } from '../host/feed-program.ts'
import { runProgram } from '../host/run-program.ts'

const CHANGE_MS = 20_000

/** The output of `nft -j list set` for a set whose elements have counters. */
const countingSet = z.object({
  nftables: z.array(
    z.object({
      set: z
        .object({
          elem: z
            .array(z.object({ elem: z.object({ val: z.string(), counter: z.object({ packets: z.int() }) }) }))
            .default([]),
        })
        .optional(),
    }),
  ),
})

/** Applies all of `text` or nothing: nft makes one transaction of it. @throws Error with nft's message */
export async function applyRules(text: string): Promise<void> {
  await feedProgram('nft', ['-f', '-'], text, Deadline.after(CHANGE_MS, 'change of the packet filter'))
}

export async function listTables(): Promise<string[]> {
  const deadline = Deadline.after(CHANGE_MS, 'tables of the packet filter')
  const lines = (await runProgram('nft', ['list', 'tables', 'inet'], deadline)).split('\n')
  return lines.flatMap((line) => /^table inet (\S+)$/.exec(line)?.[1] ?? [])
}

/** Packet counters by element of a set. */
export async function readCounters(table: string, set: string): Promise<Map<string, number>> {
  const deadline = Deadline.after(CHANGE_MS, 'counters of the packet filter')
  const text = await runProgram('nft', ['-j', 'list', 'set', 'inet', table, set], deadline)
  const elements = countingSet.parse(JSON.parse(text)).nftables.flatMap((item) => item.set?.elem ?? [])
  return new Map(elements.map(({ elem }) => [elem.val, elem.counter.packets]))
}
