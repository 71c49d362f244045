/**
 * `write-config.ts SOURCE TARGET` writes the configuration file of a process. Each `{"from_file": PATH}` in SOURCE becomes
 * the content of that file, without the line break at its end. Secrets are thus neither in SOURCE nor in the environment
 * of a process.
 *
 * The image contains it. A pod runs it before the process starts.
 */
import { readFileSync, writeFileSync } from 'node:fs'

export function filledIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(filledIn)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [[name, path] = []] = entries
  if (entries.length === 1 && name === 'from_file') return contentOf(path)
  return Object.fromEntries(entries.map(([key, each]) => [key, filledIn(each)]))
}

function contentOf(path: unknown): string {
  if (typeof path !== 'string') throw new Error('from_file must be a path')
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  if (text === '') throw new Error(`${path} is empty`)
  return text
}

if (import.meta.main) {
  const [source, target] = process.argv.slice(2)
  if (source === undefined || target === undefined) throw new Error('usage: write-config.ts SOURCE TARGET')
  const config = filledIn(JSON.parse(readFileSync(source, 'utf8')))
  writeFileSync(target, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
}
