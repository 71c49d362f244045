import { resolve } from 'node:path'
import type { Build } from '@offshoot/contract/build'
import { ConflictError } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { Failure } from '../frame/failure.ts'
import { bytes } from '../frame/output.ts'
import { Progress } from '../frame/progress.ts'
import { type Archive, openArchive } from './archive.ts'
import { type MakeOptions, watchBuild } from './watch-build.ts'

interface Options extends MakeOptions {
  readonly size?: number
  readonly cpu?: number
  readonly memory?: number
}

export const run: Action<Options> = async (cli, line) => {
  const { size, cpu, memory, start, ready, replace } = line.options
  const query = {
    name: operand(line, 0),
    size_mb: size,
    cpu,
    memory_mb: memory,
    start_cmd: start,
    ready_cmd: ready,
    replace,
  }
  return watchBuild(cli, line, await upload(cli, operand(line, 1), query))
}

async function upload(cli: Cli, source: string, query: { readonly name: string }): Promise<Build> {
  const api = await cli.api()
  const progress = new Progress(cli, 'reading')
  let archive: Archive | null = null
  let sent = 0
  try {
    archive = await openArchive(cli, source, resolve(cli.cwd, source), (count) => {
      sent += count
      const size = archive?.size ?? null
      progress.say(`uploading ${bytes(sent)}${size === null ? '' : ` of ${bytes(size)}`}`)
    })
    const headers = { 'content-type': 'application/x-tar' }
    const request = { query, body: archive.body, headers, signal: cli.signal, timeoutMs: 0 }
    return await api.request('POST /v1/templates/build', request)
  } catch (error) {
    archive?.check()
    if (!(error instanceof ConflictError)) throw error
    throw new Failure(`there is a template "${query.name}" already`, {
      next: 'replace it with --replace',
      cause: error,
    })
  } finally {
    progress[Symbol.dispose]()
  }
}
