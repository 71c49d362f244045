import { describe, expect, it } from 'vitest'
import { type CodeLine, InvalidCodeLine, parseCodeLines } from './code-lines.ts'

const MIB = 1024 * 1024
const END = { type: 'end_of_execution' }

async function parse(...chunks: readonly (string | Uint8Array)[]): Promise<CodeLine[]> {
  const lines: CodeLine[] = []
  for await (const line of parseCodeLines(streamOf(chunks))) lines.push(line)
  return lines
}

async function* streamOf(chunks: Iterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

const text = (...events: readonly unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('')

describe('parseCodeLines', () => {
  it('reads events wherever their bytes are cut', async () => {
    const events = [
      { type: 'number_of_executions', execution_count: 3 },
      { type: 'stdout', text: 'é😀\n', timestamp: 1 },
      { type: 'result', is_main_result: true, text: '1', json: [1, { a: null }], extra: { 'a/b': 'c' } },
      { type: 'error', name: 'E', value: 'v', traceback: 't' },
      { type: 'keepalive' },
      END,
    ]
    const bytes = Buffer.from(text(...events))
    expect(await parse(bytes)).toEqual(events)
    expect(await parse(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events)
  })

  it('stops at the end of the execution, and drops empty lines and unknown fields', async () => {
    const events = text({ type: 'stdout', text: 'a', more: 1 }, END, { type: 'nonsense' })
    expect(await parse(`\n\n${events}`)).toEqual([{ type: 'stdout', text: 'a' }, END])
  })

  it.each([
    ['no JSON', 'x\n'],
    ['an HTML page', '<html></html>\n'],
    ['a value that is no object', '7\n'],
    ['an array', '[]\n'],
    ['no type', '{}\n'],
    ['an unknown type', text({ type: 'exec' })],
    ['a text that is no string', text({ type: 'stdout', text: 7 })],
    ['a missing text', text({ type: 'stderr' })],
    ['an image that is no string', text({ type: 'result', is_main_result: true, png: { a: 1 } })],
    ['a result without its kind', text({ type: 'result', text: 'a' })],
    ['an error without a name', text({ type: 'error', value: '', traceback: '' })],
    ['a count below zero', text({ type: 'number_of_executions', execution_count: -1 })],
    ['a count that is no integer', text({ type: 'number_of_executions', execution_count: 1e300 })],
    ['a prototype for an object', '{"__proto__":{"type":"keepalive"}}\n'],
    ['a deep value', `${'['.repeat(200_000)}\n`],
    ['bytes that are no UTF-8', Uint8Array.of(0x22, 0xff, 0x22, 10)],
    ['a NUL', '\0\n'],
  ])('refuses %s', async (_, chunk) => {
    await expect(parse(chunk)).rejects.toThrow(InvalidCodeLine)
  })

  it.each([
    ['nothing', []],
    ['only a keep-alive', [text({ type: 'keepalive' })]],
    ['a cut line', ['{"type":"end_of_execution"}']],
  ])('refuses an answer of %s that ends', async (_, chunks) => {
    await expect(parse(...chunks)).rejects.toThrow(InvalidCodeLine)
  })

  it('refuses a line that never ends, without keeping it', async () => {
    let sent = 0
    function* endless() {
      for (;;) {
        sent++
        yield Buffer.alloc(MIB, 'a')
      }
    }
    const lines = parseCodeLines(streamOf(endless()))
    await expect(lines.next()).rejects.toThrow('a line is too long')
    expect(sent).toBeLessThan(30)
  })
})
