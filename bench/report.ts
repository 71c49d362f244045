import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Figure, isMoreBetter } from './measure.ts'

const results = join(import.meta.dirname, 'results')
const columns = ['unit', 'n', 'p50', 'p95', 'p99', 'success', 'floor', 'ratio'] as const

const cell = (value: string | number | null) =>
  value === null ? '-' : typeof value === 'string' || Number.isInteger(value) ? String(value) : value.toPrecision(4)

/** Formats the figures as a table. The last column says which direction is better. */
export function table(figures: ReadonlyMap<string, Figure>): string {
  const rows = [
    ['name', ...columns, 'better'],
    ...[...figures].map(([name, figure]) => [
      name,
      ...columns.map((column) => cell(figure[column])),
      isMoreBetter(figure) ? 'higher' : 'lower',
    ]),
  ]
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? []
  return rows
    .map((row) =>
      row.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join('  '),
    )
    .join('\n')
}

/** Writes bench/results/latest.json atomically. */
export async function save(figures: ReadonlyMap<string, Figure>): Promise<void> {
  await mkdir(results, { recursive: true })
  const path = join(results, 'latest.json')
  await writeFile(`${path}.new`, `${JSON.stringify(Object.fromEntries(figures), null, 2)}\n`)
  await rename(`${path}.new`, path)
}
