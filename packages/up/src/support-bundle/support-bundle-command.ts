import { stat } from 'node:fs/promises'
import { createGzip } from 'node:zlib'
import { pipeline } from 'node:stream/promises'
import { writeArchive } from '../backup/archive.ts'
import { writeNewFile } from '../backup/write-new-file.ts'
import { parseArguments } from '../base/arguments.ts'
import { doesDataDirExist } from '../base/data-layout.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { type Invocation, parseCommandLine } from '../base/subcommand.ts'
import { supportParts } from './support-bundle.ts'

const KIB = 1024

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const { product, env, cwd } = invocation
  const line = parseCommandLine(invocation, {}, ['FILE|FOLDER'], help(product))
  if (line === null) return
  const { layout } = line
  if (!(await doesDataDirExist(layout))) throw new SetupFailure(`There is no data directory ${layout.dir}.`)
  // The diagnosis is that of a start with the same environment.
  const args = parseArguments(['--data-dir', layout.dir], env, cwd)
  const compress = createGzip()
  const path = await writeNewFile(
    { target: line.operands[0] ?? '', prefix: 'offshoot-support', extension: 'tar.gz', at: new Date() },
    async function* () {
      pipeline(writeArchive(supportParts({ args, layout, product, stop }), {}), compress).catch(() => undefined)
      yield* compress
    },
    stop,
  )
  process.stdout.write(`${path} (${Math.ceil((await stat(path)).size / KIB)} KiB)\n`)
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} support-bundle FILE|FOLDER [--data-dir DIR]

Writes what helps to find a fault into a tar.gz: versions, the findings of the diagnosis, the configuration and the ends
of the logs without secrets, and sizes of tables, queues and folders. It contains no data of workspaces. Look through it
before you send it to somebody. A FOLDER gets a file that is named after the time.

  --data-dir DIR  the data directory (default ${dataDirText})
`
}
