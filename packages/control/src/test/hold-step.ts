import type { FakeAgent } from './fake-agent.ts'

export interface Held {
  /** Resolves when one of the agents is asked. */
  readonly begun: Promise<void>
  readonly release: () => void
}

/** Holds the requests of a step of a move to these agents until it is released. */
export function holdStep(agents: readonly FakeAgent[], step: string): Held {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  for (const agent of agents)
    agent.onMove = async (action) => {
      if (action !== step) return undefined
      begun.resolve()
      await held.promise
      return undefined
    }
  return { begun: begun.promise, release: () => held.resolve() }
}
