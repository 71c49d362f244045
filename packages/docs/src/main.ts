/** Builds the site of the documentation: node packages/docs/src/main.ts FOLDER */
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { compressFiles } from './compress-files.ts'
import { buildSite } from './site.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node packages/docs/src/main.ts FOLDER')
await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
await buildSite(join(import.meta.dirname, '../../..'), resolve(folder))
await compressFiles(resolve(folder))
