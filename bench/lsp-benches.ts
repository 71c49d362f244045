import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LanguageClient } from '../tests/setup/language-client.ts'
import { openLanguageServer } from '../tests/setup/language-server.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'

const SERVERS = '/usr/local/lib/language-servers'
const TEXT = 'import os\n\nsize: int = os.getcwd()\n'

class Measured {
  readonly initialize = new Samples()
  readonly diagnostics = new Samples()

  /** One editor session with a file that contains one mistake. */
  async session(folder: string, open: () => Promise<LanguageClient>): Promise<void> {
    const client = await this.initialize.time(async () => {
      const opened = await open()
      await opened.initialize(folder)
      return opened
    })
    if (client === null) return
    const path = `${folder}/main.py`
    await this.diagnostics.time(async () => {
      await client.open(path, 'python', TEXT)
      await client.diagnostics(path)
    })
    await client.shutDown()
  }
}

/**
 * Python's server: from the connection to the answer of `initialize`, and from opening a file to its diagnostics.
 * Floor: the same server from the same image, run by the same Node.js on the host.
 */
export async function languageServers(offshoot: Offshoot, n = 3): Promise<Record<string, Figure>> {
  const [guest, native] = [new Measured(), new Measured()]
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-lsp-'))
  try {
    const program = await extractServer(offshoot, folder)
    await writeFile(join(folder, 'main.py'), TEXT)
    await inSandbox(offshoot, async (id) => {
      await offshoot.exec(id, 'mkdir /root/work && cat > /root/work/main.py', { stdin: TEXT })
      for (const _ of rounds(n)) {
        await native.session(folder, async () => startNatively(program))
        await guest.session('/root/work', async () => (await openLanguageServer(offshoot, id, 'python')).client)
      }
    })
  } finally {
    await rm(folder, { recursive: true })
  }
  return {
    lsp_initialize_ms: guest.initialize.figure('ms', native.initialize.p50),
    lsp_diagnostics_ms: guest.diagnostics.figure('ms', native.diagnostics.p50),
  }
}

/** Extracts the servers from the template's image. @returns the path of Python's server */
async function extractServer({ dataDir }: Offshoot, folder: string): Promise<string> {
  const bakes = join(dataDir, 'agent/bakes/base')
  const [bake = ''] = await readdir(bakes)
  const to = join(folder, '.servers')
  await mkdir(to)
  await promisify(execFile)('debugfs', [
    '-R',
    `rdump ${SERVERS}/node_modules/pyright ${to}`,
    join(bakes, bake, 'rootfs.ext4'),
  ])
  return join(to, 'pyright/langserver.index.js')
}

async function startNatively(program: string): Promise<LanguageClient> {
  const server = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] })
  await once(server, 'spawn')
  return new LanguageClient(server.stdout, server.stdin)
}
