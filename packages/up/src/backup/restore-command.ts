import { type Invocation, parseCommandLine } from '../base/subcommand.ts'
import { readPassphrase } from './passphrase.ts'
import { restore } from './restore.ts'

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const { product, env, cwd } = invocation
  const line = parseCommandLine(invocation, { 'passphrase-file': { type: 'string' } }, ['FILE'], help(product))
  if (line === null) return
  const passphrase = await readPassphrase(line.options['passphrase-file'], env, cwd)
  const { created_at, version } = await restore(line.layout, line.operands[0] ?? '', passphrase, stop)
  process.stdout.write(
    `Restored the backup of ${created_at} (release ${version}) into ${line.layout.dir}. Start it with ${product.command}.\n`,
  )
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} restore FILE [--data-dir DIR] [--passphrase-file FILE]

Makes a data directory from a backup. DIR must not exist, or contain nothing besides the folders of the agent, images
and logs. If the backup cannot be restored, nothing changes.

  --data-dir DIR          the data directory (default ${dataDirText})
  --passphrase-file FILE  its first line is the passphrase (default: the variable OFFSHOOT_BACKUP_PASSPHRASE)
`
}
