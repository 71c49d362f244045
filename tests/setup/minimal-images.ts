import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { imagesDir } from './offshoot.ts'

const LEFT_OUT = new Set(['.lock', '.building', 'templates'])

/** Copies the images with the template `minimal` alone, so that a test can replace a part of them. */
export async function copyMinimalImages(folder: string): Promise<void> {
  await mkdir(join(folder, 'templates'), { recursive: true })
  const parts = (await readdir(imagesDir)).filter((name) => !LEFT_OUT.has(name)).map((name) => join(imagesDir, name))
  await promisify(execFile)('cp', ['--archive', ...parts, folder])
  await promisify(execFile)('cp', ['--archive', join(imagesDir, 'templates/minimal'), join(folder, 'templates')])
}
