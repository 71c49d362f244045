import { resolve } from 'node:path'
import { type Invocation, parseCommandLine } from '../base/subcommand.ts'
import { isRootless } from '../rootless/requirements.ts'
import { uninstallUnit, unitPath } from './installation.ts'
import { UNIT_NAME } from './unit.ts'

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const { env, cwd, product } = invocation
  const line = parseCommandLine(invocation, { root: { type: 'string' } }, [], help(product))
  if (line === null) return
  const { root } = line.options
  const target = { root: root === undefined ? null : resolve(cwd, root), isRootless: isRootless(), env, stop }
  const was = await uninstallUnit(target)
  process.stdout.write(`${unitPath(target)} ${was ? 'is removed' : 'is not there'}. Data and VMs stay.\n`)
}

function help({ subcommands }: Invocation['product']): string {
  return `Usage: ${subcommands} uninstall [--root DIR]

Stops ${UNIT_NAME} and removes what install wrote. VMs keep running, and no data is removed.

  --root DIR  the file system of another machine at DIR
`
}
