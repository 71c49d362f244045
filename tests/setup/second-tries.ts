import type { Reporter, TestCase } from 'vitest/node'

/** Names, at the end of a run, the tests that passed only when they were tried again: each is a fault to be found, in it or in what it tests. */
export default class SecondTries implements Reporter {
  readonly #names: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return
    const [first] = test.result().errors ?? []
    this.#names.push(
      `${test.module.relativeModuleId} > ${test.fullName}\n    ${first?.stacks?.[0]?.line}: ${first?.message}`,
    )
  }

  onTestRunEnd(): void {
    if (this.#names.length > 0) console.log(['Passed on a second try:', ...this.#names].join('\n  '))
  }
}
