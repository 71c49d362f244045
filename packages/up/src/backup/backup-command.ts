import { type Invocation, parseCommandLine } from '../base/subcommand.ts'
import { backUp } from './backup.ts'
import { readPassphrase } from './passphrase.ts'

const MIB = 1024 ** 2

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const { product, env, cwd } = invocation
  const line = parseCommandLine(invocation, { 'passphrase-file': { type: 'string' } }, ['FILE|FOLDER'], help(product))
  if (line === null) return
  const passphrase = await readPassphrase(line.options['passphrase-file'], env, cwd)
  const { path, bytes } = await backUp(line.layout, line.operands[0] ?? '', passphrase, stop)
  process.stdout.write(`${path} (${(bytes / MIB).toFixed(1)} MiB)\n`)
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} backup FILE|FOLDER [--data-dir DIR] [--passphrase-file FILE]

Writes the database, settings, secrets and certificates of control and the edge into one file, encrypted with a
passphrase. Everything may run meanwhile. Sandboxes, snapshots, volumes and other objects of the agent are not part of
it. A FOLDER gets a file that is named after the time. An existing file is never replaced.

  --data-dir DIR          the data directory (default ${dataDirText})
  --passphrase-file FILE  its first line is the passphrase (default: the variable OFFSHOOT_BACKUP_PASSPHRASE)
`
}
