import { type Invocation, parseCommandLine } from './base/subcommand.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { readHandover } from './handover.ts'
import { findRunningService } from './switch-version.ts'
import { change } from './upgrade-command.ts'

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const line = parseCommandLine(invocation, {}, [], help(invocation.product))
  if (line === null) return
  const service = await findRunningService(line.layout)
  const last = await readHandover(line.layout)
  if (last?.state !== 'done' || last.to !== service.program)
    throw new SetupFailure('The version that runs did not come by an upgrade, so there is none to go back to.')
  await change(line.layout, service, last.from, invocation, stop)
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} rollback [--data-dir DIR]

Has the running service go back to the version before the last upgrade. VMs and data stay. Repeat it to undo it.

  --data-dir DIR  data directory of the service (default ${dataDirText})
`
}
