import type { DataLayout } from './base/data-layout.ts'
import { type Invocation, parseCommandLine } from './base/subcommand.ts'
import { OWN_PROGRAM } from './handover.ts'
import { isRootless } from './rootless/requirements.ts'
import { findRunningService, type RunningService, switchVersion } from './switch-version.ts'
import { replaceProgram } from './systemd/installation.ts'

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const line = parseCommandLine(invocation, {}, [], help(invocation.product))
  if (line === null) return
  const service = await findRunningService(line.layout)
  if (service.program === OWN_PROGRAM) {
    process.stdout.write('This version runs already.\n')
    return
  }
  await change(line.layout, service, OWN_PROGRAM, invocation, stop)
}

/** Changes the version that runs, and the unit that starts it at boot. */
export async function change(
  layout: DataLayout,
  service: RunningService,
  to: string,
  { env }: Invocation,
  stop: AbortSignal,
): Promise<void> {
  await switchVersion(layout, service, to, stop)
  const unit = await replaceProgram({ root: null, isRootless: isRootless(), env, stop }, service.program, to)
  process.stdout.write(`${to} runs now${unit === null ? '' : `, and ${unit} starts it`}.\n`)
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} upgrade [--data-dir DIR]

Has the running service change to this version. VMs keep running; requests are refused for some seconds. If this version
does not become healthy, the service goes back to the one before by itself, and the exit code is 1.

  --data-dir DIR  data directory of the service (default ${dataDirText})
`
}
