import { Deadline } from '@offshoot/kit/deadline'
import type { DataLayout } from './base/data-layout.ts'
import { CommandFailed, runCommand } from './base/run-command.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { bundledProgram } from './images/services.ts'

const PREPARE_WITHIN_MS = 600_000
const COMPLAINT_MAX_LINES = 20

export interface PrepareAgent {
  readonly layout: DataLayout
  readonly report: (line: string) => void
  readonly cancelled: AbortSignal
  /** Factor for the time limit, as for the agent's own limits (OFFSHOOT_KVM_PATIENCE). */
  readonly patience?: number | undefined
  /** A program and its arguments that start the agent's programs. */
  readonly under: readonly string[]
}

/** Runs the agent's accelerator trial and its bakes. Fast if nothing has changed. */
export async function prepareAgent({ layout, report, cancelled, patience = 1, under }: PrepareAgent): Promise<void> {
  const entry = bundledProgram(layout.imagesDir, 'prepare')
  const deadline = Deadline.after(PREPARE_WITHIN_MS * patience, 'preparing the templates', cancelled)
  const complaints: string[] = []
  const onLine = (line: string, stream: 'stdout' | 'stderr') => {
    if (stream === 'stdout') report(line)
    else if (complaints.length < COMPLAINT_MAX_LINES) complaints.push(line)
  }
  try {
    const [file, ...args] = [...under, process.execPath, entry, layout.agentConfig]
    await runCommand(file, args, { deadline, onLine })
  } catch (error) {
    deadline.throwIfOver()
    if (!(error instanceof CommandFailed)) throw error
    throw new SetupFailure(`The templates could not be prepared: ${complaints.join('\n') || error.message}`, {
      cause: error,
    })
  }
}
