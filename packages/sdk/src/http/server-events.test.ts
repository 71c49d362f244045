import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ServerEvent, serverEvents } from './server-events.ts'

/** @param failure breaks the stream after the chunks */
function streamOf(chunks: readonly Uint8Array[], failure?: Error): ReadableStream<Uint8Array> {
  const left = [...chunks]
  return new ReadableStream({
    pull: (controller) => {
      const chunk = left.shift()
      if (chunk !== undefined) controller.enqueue(chunk)
      else if (failure === undefined) controller.close()
      else controller.error(failure)
    },
  })
}

async function read(text: string | readonly Uint8Array[]): Promise<ServerEvent[]> {
  const chunks = typeof text === 'string' ? [new TextEncoder().encode(text)] : text
  const events: ServerEvent[] = []
  for await (const event of serverEvents(streamOf(chunks))) events.push(event)
  return events
}

describe('server-sent events', () => {
  it('have fields, comments and data of several lines', async () => {
    const text = ': hello\n\nid: 1\nevent: ev\ndata: {"a":\ndata:1}\n\n:\n\nignored: x\nretry: 5\ndata:  x\n\ndata\n\n'
    expect(await read(text)).toEqual([
      { id: '1', event: 'ev', data: '{"a":\n1}' },
      // The position stays until another one comes. One space after the colon is no part of the data.
      { id: '1', event: 'message', data: ' x' },
      { id: '1', event: 'message', data: '' },
    ])
  })

  it('without data are none', async () => {
    expect(await read('event: ev\n\nid: 7\n\ndata: x\n\n')).toEqual([{ id: '7', event: 'message', data: 'x' }])
  })

  it('that are cut off are none', async () => {
    expect(await read('data: whole\n\ndata: half\n')).toHaveLength(1)
    expect(await read('data: whole\n\ndata: half')).toHaveLength(1)
  })

  it('are the same however the stream is cut, with both ends of lines', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ''))
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), fc.constantFrom('\n', '\r\n'), async (lines, cuts, end) => {
        const text = lines.map((each, n) => `id: ${n}${end}data: ${each}${end}${end}`).join('')
        const bytes = new TextEncoder().encode(text)
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
        const chunks = places.slice(1).map((to, n) => bytes.subarray(places[n], to))
        expect((await read(chunks)).map(({ data }) => data)).toEqual(lines)
      }),
    )
  })

  it('end the connection when the reader leaves', async () => {
    let isCancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: x\n\n')),
      cancel: () => {
        isCancelled = true
      },
    })
    for await (const { data } of serverEvents(endless)) {
      expect(data).toBe('x')
      break
    }
    expect(isCancelled).toBe(true)
  })

  it('throw what breaks the stream, after the events before it', async () => {
    const seen: string[] = []
    const broken = streamOf([new TextEncoder().encode('data: first\n\ndata: second')], new Error('broken'))
    const reading = (async () => {
      for await (const { data } of serverEvents(broken)) seen.push(data)
    })()
    await expect(reading).rejects.toThrow('broken')
    expect(seen).toEqual(['first'])
  })
})
