import type { Reporter, TestCase } from 'vitest/node'

/** Lists the tests that only passed on their retry. Each points to a fault, in the test or in the code. */
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
