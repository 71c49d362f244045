import { expect, it } from 'vitest'
import type { Vm } from '../../machine/vm/vm.ts'
import { openChannelAfter } from './open-channel-after.ts'

interface Outcome {
  readonly errors: readonly string[]
  readonly wasKilled: boolean
  readonly isOpen: boolean
}

/** Calls `openChannelAfter` with a VM that records its calls, and a step that ends when and as `done` does. */
async function outcomeOf(done: Promise<void>, leaving?: AbortSignal): Promise<Outcome> {
  const errors: string[] = []
  const steps: Promise<void>[] = []
  let wasKilled = false
  const vm = {
    folder: 'sandboxes/sb_1',
    hasEnded: false,
    kill: async () => {
      wasKilled = true
    },
    shutUntil: (step: Promise<void>) => steps.push(step),
  } as unknown as Vm
  const log = { error: (_: object, text: string) => errors.push(text) } as never
  openChannelAfter({ log }, vm, { done, failure: 'it failed', ...(leaving && { leaving }) })
  const [step] = await Promise.allSettled(steps)
  return { errors, wasKilled, isOpen: step?.status === 'fulfilled' }
}

it('opens the channel after the step', async () => {
  expect(await outcomeOf(Promise.resolve())).toEqual({ errors: [], wasKilled: false, isOpen: true })
})

it('ends a VM whose step failed, and keeps its channel closed', async () => {
  const failed = Promise.reject(new Error('no answer'))
  const { signal } = new AbortController()
  expect(await outcomeOf(failed, signal)).toEqual({ errors: ['it failed'], wasKilled: true, isOpen: false })
})

it('leaves a VM to the delete of its sandbox, which is no error', async () => {
  const failed = Promise.reject(new Error('sandbox was deleted'))
  expect(await outcomeOf(failed, AbortSignal.abort())).toEqual({ errors: [], wasKilled: false, isOpen: false })
})
