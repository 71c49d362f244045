import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RECORD_READERS, readAllWithoutDescriptors } from '../../test/record-readers.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-records-'))
  for (const file of Object.keys(RECORD_READERS)) await mkdir(join(folder, file))
})
afterEach(() => rm(folder, { recursive: true }))

const CONTENT = '{"id":"00000000-0000-4000-8000-000000000000","layers":[]}'
/** Kinds of damage. Each leaves an existing file. */
const DAMAGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
  empty: (path) => writeFile(path, ''),
  truncated: (path) => writeFile(path, CONTENT.slice(0, 20)),
  'without its fields': (path) => writeFile(path, CONTENT),
  garbled: (path) =>
    writeFile(
      path,
      Buffer.from(CONTENT).map((byte) => byte ^ 0xa5),
    ),
  'of a newer version': (path) => writeFile(path, '{"format":99,"version":99}'),
  'a list': (path) => writeFile(path, '[]'),
  // The kernel answers EIO: nothing is mapped at the address 0.
  'on a bad sector': (path) => symlink('/proc/self/mem', path),
}

it.each(Object.keys(DAMAGES))(
  'reports a record that is %s as unreadable, with its path, and not as absent',
  async (name) => {
    for (const [file, read] of Object.entries(RECORD_READERS)) {
      expect({ file, read: await read(join(folder, file)) }).toEqual({ file, read: { state: 'absent' } })
      const path = join(folder, file, file)
      await DAMAGES[name]?.(path)
      const unreadable = { state: 'unreadable', path, error: expect.any(Error) }
      expect({ file, read: await read(join(folder, file)) }).toEqual({ file, read: unreadable })
    }
  },
)

it('does not report a record as absent if there are no more descriptors', async () => {
  for (const file of Object.keys(RECORD_READERS)) await writeFile(join(folder, file, file), CONTENT)
  const program = `
    import { readAllWithoutDescriptors } from ${JSON.stringify(join(import.meta.dirname, '../../test/record-readers.ts'))}
    console.log(JSON.stringify(await readAllWithoutDescriptors(${JSON.stringify(folder)})))`
  const args = ['--nofile=64', process.execPath, '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)('prlimit', args)
  const read = JSON.parse(stdout) as Awaited<ReturnType<typeof readAllWithoutDescriptors>>
  expect(read).toEqual(Object.keys(RECORD_READERS).map((file) => ({ file, state: 'unreadable', code: 'EMFILE' })))
})
