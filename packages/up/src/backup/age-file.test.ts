import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { hasProgram } from '../base/has-program.ts'
import { decrypt, encrypt } from './age-file.ts'

const CHUNK = 64 * 1024
/** Cheap, because the tests do not measure how hard a passphrase is to guess. */
const WORK_FACTOR = 10

const inPieces = (bytes: Buffer) =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, i) => bytes.subarray(i * 1000, (i + 1) * 1000)),
  )
const sealed = (content: Buffer) => buffer(encrypt(inPieces(content), 'right', WORK_FACTOR))
const opened = (file: Buffer, passphrase = 'right') => buffer(decrypt(inPieces(file), passphrase))

it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])('returns the %d bytes that were encrypted', async (length) => {
  const content = randomBytes(length)
  const file = await sealed(content)
  expect(file.includes(content.subarray(0, 16)) && length > 16).toBe(false)
  expect((await opened(file)).equals(content)).toBe(true)
})

it('refuses a wrong passphrase, and a file of another kind', async () => {
  await expect(opened(await sealed(Buffer.from('x')), 'wrong')).rejects.toThrow('The passphrase is not the one')
  await expect(opened(Buffer.from('x'.repeat(1000)))).rejects.toThrow('not a backup of Offshoot')
  await expect(opened(Buffer.alloc(0))).rejects.toThrow('not a backup of Offshoot')
})

it('refuses a file that was truncated or extended, wherever', async () => {
  const file = await sealed(randomBytes(3 * CHUNK))
  const header = file.indexOf('\n---') + 5
  const chunk = CHUNK + 16
  const lengths = [30, header, header + 60, file.length - 2 * chunk, file.length - chunk, file.length - 1]
  for (const length of lengths) await expect(opened(file.subarray(0, length))).rejects.toThrow('damaged or truncated')
  await expect(opened(Buffer.concat([file, Buffer.from('x')]))).rejects.toThrow('damaged or truncated')
})

it('refuses a file with a changed bit, wherever', async () => {
  const file = await sealed(randomBytes(2 * CHUNK))
  const afterHeader = file.indexOf('\n--- ') + 5
  for (const place of [25, afterHeader, afterHeader + 50, afterHeader + CHUNK, file.length - 1]) {
    const changed = Buffer.from(file)
    changed[place] = (changed[place] ?? 0) ^ 1
    await expect(opened(changed)).rejects.toThrow('damaged or truncated')
  }
})

it('is opened by age', async ({ skip }) => {
  if (!(await hasProgram('age'))) skip('age is not installed')
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-age-'))
  await writeFile(join(folder, 'sealed'), await sealed(Buffer.from('content')))
  // age reads the passphrase from a terminal only.
  await new Promise<void>((resolve, reject) => {
    const line = `age --decrypt --output ${folder}/opened ${folder}/sealed`
    const terminal = execFile('script', ['-qec', line, '/dev/null'], (error) => (error ? reject(error) : resolve()))
    terminal.stdin?.end('right\n')
  })
  expect(await readFile(join(folder, 'opened'), 'utf8')).toBe('content')
  await rm(folder, { recursive: true })
})
