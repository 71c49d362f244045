import { FairLimit } from '@offshoot/kit/fair-limit'
import { expect, it } from 'vitest'
import { AnswersMemory, MAX_ANSWER_BYTES } from './answer-memory.ts'

const MIB = 1024 * 1024
/** A row of about this size. */
const row = (mib: number) => ['x'.repeat(mib * MIB - 100), null]

it('keeps the rows of one answer up to its limit, over all statements', () => {
  const { memory } = new AnswersMemory().open('a')
  expect(memory.keep(row(20))).toBe(true)
  expect(memory.keep(row(20))).toBe(false)
  memory.drop(row(20))
  expect(memory.keep(row(MAX_ANSWER_BYTES / MIB))).toBe(true)
})

it('refuses a request before it runs when its workspace has no room for another answer, and not another workspace', () => {
  const answers = new AnswersMemory(new FairLimit(64 * MIB, 256 * MIB))
  const [first, second] = [answers.open('a'), answers.open('a')]
  for (const { memory } of [first, second]) expect(memory.keep(row(30))).toBe(true)
  expect(() => answers.open('a')).toThrow('too many large answers at the same time')
  expect(answers.open('b').memory.keep(row(30))).toBe(true)
  second.release()
  expect(answers.open('a').memory.keep(row(30))).toBe(true)
})

it('drops rows of answers that were admitted together and do not all fit', () => {
  const answers = new AnswersMemory(new FairLimit(64 * MIB, 128 * MIB))
  const kept = [1, 2, 3].map(() => answers.open('a')).map(({ memory }) => memory.keep(row(30)))
  expect(kept).toEqual([true, true, false])
})

it('takes no memory for a statement that continues after its answer was dropped', () => {
  const answers = new AnswersMemory(new FairLimit(32 * MIB, 64 * MIB))
  const { memory, release } = answers.open('a')
  release()
  expect(memory.keep(row(1))).toBe(false)
  expect(answers.open('a').memory.keep(row(30))).toBe(true)
})
