import type { Reporter, TestModule } from 'vitest/node'

/** Prints when the files of each project ran, in seconds after the start, and the sum of their durations. */
export default class StageTimes implements Reporter {
  readonly #stages = new Map<string, { files: number; busyMs: number; startMs: number; endMs: number }>()
  #beganMs = 0

  onTestRunStart(): void {
    this.#beganMs = performance.now()
  }

  onTestModuleEnd(module: TestModule): void {
    const { name } = module.project
    const endMs = performance.now() - this.#beganMs
    const tookMs = module.diagnostic().duration
    const stage = this.#stages.get(name) ?? { files: 0, busyMs: 0, startMs: endMs - tookMs, endMs: 0 }
    stage.files += 1
    stage.busyMs += tookMs
    stage.startMs = Math.min(stage.startMs, endMs - tookMs)
    stage.endMs = endMs
    this.#stages.set(name, stage)
  }

  onTestRunEnd(): void {
    for (const [name, { files, busyMs, startMs, endMs }] of this.#stages)
      console.log(
        `${name}: ${files} files from ${seconds(startMs)} s to ${seconds(endMs)} s, ${seconds(busyMs)} s in total`,
      )
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}
