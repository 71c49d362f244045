import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Cli } from '../frame/cli.ts'
import { Failure, UsageError } from '../frame/failure.ts'

/** What is uploaded. */
export interface Archive {
  readonly body: ReadableStream<Uint8Array>
  /** Bytes; `null`: not known. */
  readonly size: number | null
  /** Throws the error for which the archive could not be read. Call it when the upload failed. */
  readonly check: () => void
}

/**
 * Opens the source of a template: an archive, the standard input (`-`), or a folder, which the program `tar` packs.
 * @param path of the source
 * @param onBytes called with the bytes of each piece that is sent
 */
export async function openArchive(
  cli: Cli,
  source: string,
  path: string,
  onBytes: (count: number) => void,
): Promise<Archive> {
  if (source === '-') {
    if (cli.streams.stdin.isTTY) throw new UsageError('pass the archive on the standard input, as in < image.tar')
    return archiveOf(cli.streams.stdin, null, onBytes)
  }
  const found = await stat(path)
  if (found.isDirectory()) return packed(cli, path, onBytes)
  return archiveOf(createReadStream(path), found.isFile() ? found.size : null, onBytes)
}

/**
 * `tar` keeps what an image needs: hard links, set-id bits, and owners. Only root can have files of several owners, so
 * the files of other users become root's.
 */
function packed(cli: Cli, folder: string, onBytes: (count: number) => void): Archive {
  const isRoot = process.getuid?.() === 0
  const asRoot = process.platform === 'linux' ? ['--owner=0', '--group=0'] : ['--uid', '0', '--gid', '0']
  const argv = ['--numeric-owner', ...(isRoot ? [] : asRoot), '-C', folder, '-cf', '-', '.']
  const tar = spawn('tar', argv, { env: cli.env, stdio: ['ignore', 'pipe', 'pipe'], signal: cli.signal })
  let said = ''
  tar.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, 1000)))
  const ended = new Promise<void>((resolve, reject) => {
    tar.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'ENOENT'
          ? new Failure('packing a folder needs the program tar', { next: 'install it, or name an archive', cause })
          : cause,
      ),
    )
    tar.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Failure(`tar could not pack ${folder} (${said.trim()})`, { next: 'make it readable' }))
    })
  })
  // An upload that the server refuses does not read to the end.
  ended.catch(() => undefined)
  return archiveOf(tar.stdout, null, onBytes, ended)
}

/** @param ended rejected if the stream ended too early; the server must not take that for a whole archive */
function archiveOf(
  stream: Readable,
  size: number | null,
  onBytes: (count: number) => void,
  ended = Promise.resolve(),
): Archive {
  let failure: Error | null = null
  async function* pieces() {
    try {
      for await (const piece of stream as AsyncIterable<Uint8Array>) {
        onBytes(piece.byteLength)
        yield piece
      }
      await ended
    } catch (error) {
      failure = error as Error
      throw error
    }
  }
  const body = Readable.toWeb(Readable.from(pieces(), { objectMode: false })) as unknown as ReadableStream<Uint8Array>
  const check = () => {
    if (failure !== null) throw failure
  }
  return { body, size, check }
}
