import type { Reporter, TestCase } from 'vitest/node'

/** Names, at the end of a run, the tests that passed only when they were tried again: each is a fault to be found, in it or in what it tests. */
export default class SecondTries implements Reporter {
  readonly #names: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`)
  }

  onTestRunEnd(): void {
    if (this.#names.length > 0) console.log(['Passed on a second try:', ...this.#names].join('\n  '))
  }
}
