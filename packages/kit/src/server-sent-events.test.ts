import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts'

async function read(chunks: readonly Uint8Array[]): Promise<ServerSentEvent[]> {
  const events: ServerSentEvent[] = []
  async function* stream() {
    yield* chunks
  }
  for await (const batch of readServerSentEvents(stream())) events.push(...batch)
  return events
}

describe('readServerSentEvents', () => {
  it('reads fields, comments and data of several lines', async () => {
    const text = ': hello\n\nid: 1\nevent: ev\ndata: {"a":\ndata:1}\n\n:\n\ndata: x\n\n'
    expect(await read([Buffer.from(text)])).toEqual([
      { id: '1', event: 'ev', data: '{"a":\n1}' },
      { id: null, event: 'message', data: 'x' },
    ])
  })

  it('gives nothing of an event that is cut off', async () => {
    expect(await read([Buffer.from('data: whole\n\ndata: half\n')])).toHaveLength(1)
  })

  it('gives the same events however the stream is cut', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ''))
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), fc.constantFrom('\n', '\r\n'), async (lines, cuts, end) => {
        const bytes = Buffer.from(lines.map((text, n) => `id: ${n}${end}data: ${text}${end}${end}`).join(''))
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
        const chunks = places.slice(1).map((to, n) => bytes.subarray(places[n], to))
        expect((await read(chunks)).map(({ data }) => data)).toEqual(lines)
      }),
    )
  })

  it('refuses an event without end', async () => {
    const chunk = Buffer.alloc(512 * 1024, 'x')
    await expect(read([chunk, chunk, chunk])).rejects.toThrow('over')
  })
})
