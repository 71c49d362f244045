import { expect, it } from 'vitest'
import { LogStore, MAX_LINES, shownText } from './log-store.ts'

const line = (text: string) =>
  ({ ts: '2026-01-01T00:00:00.000Z', stream: 'stdout', line: text, source: 'exec' }) as const

it('tells its listeners once for all lines of a frame, and keeps the latest', () => {
  const frames: (() => void)[] = []
  const store = new LogStore((flush) => frames.push(flush))
  let told = 0
  store.subscribe(() => (told += 1))
  for (let i = 0; i < MAX_LINES + 5; i++) store.add(line(String(i)))
  expect([frames.length, told, store.lines.length]).toEqual([1, 0, 0])
  frames[0]?.()
  expect([told, store.lines.length, store.lines[0]?.text]).toEqual([1, MAX_LINES, '5'])
  store.gap(1200)
  frames[1]?.()
  expect(store.lines.at(-1)).toMatchObject({ stream: 'gap', text: '1,200 lines are no longer kept' })
})

it('shows lines without colours, and cuts long ones', () => {
  expect(shownText('\u001B[31mred\u001B[0m \u001B]8;;http://x\u0007link\u001B]8;;\u0007')).toBe('red link')
  expect(shownText('<script>')).toBe('<script>')
  expect(shownText('x'.repeat(102_400))).toBe(`${'x'.repeat(4000)}… (102,400 characters)`)
})
