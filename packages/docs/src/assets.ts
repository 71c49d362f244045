import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { rolldown } from 'rolldown'
import type { Assets } from './layout.ts'

const SOURCES = join(import.meta.dirname, '../browser')
const SCRIPTS = ['site', 'requests'] as const
const HASH_CHARS = 10

/**
 * Compiles scripts and styles into `assets/`, under names that change with their content.
 * @param index the index of the search
 */
export async function buildAssets(folder: string, index: string): Promise<Assets> {
  await mkdir(join(folder, 'assets'), { recursive: true })
  await cp(join(SOURCES, 'icon.svg'), join(folder, 'assets/icon.svg'))
  const [theme, style] = [await bundle('theme', 'iife'), await readFile(join(SOURCES, 'style.css'), 'utf8')]
  const [site, requests] = await Promise.all(SCRIPTS.map((name) => bundle(name, 'esm')))
  return {
    search: await write('search.json', index),
    style: await write('style.css', style),
    theme: await write('theme.js', theme),
    site: await write('site.js', site ?? ''),
    requests: await write('requests.js', requests ?? ''),
  }

  async function write(name: string, content: string): Promise<string> {
    const path = assetPath(name, content)
    await writeFile(join(folder, path), content)
    return path
  }
}

/** The path of a file below the root of the site, with a hash of its content. */
export function assetPath(name: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, HASH_CHARS)
  const { name: stem, ext } = parse(name)
  return `assets/${stem}-${hash}${ext}`
}

async function bundle(name: string, format: 'esm' | 'iife'): Promise<string> {
  const built = await rolldown({ input: join(SOURCES, `${name}.ts`), platform: 'browser' })
  const { output } = await built.generate({ format, minify: true })
  await built.close()
  return output[0].code
}
