import type { Result } from './run-sql.ts'

/** A value of a row as text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const field = (text: string) => (/["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** The columns' names and the rows, for a spreadsheet. */
export function tabSeparated({ columns, rows }: Pick<Result, 'columns' | 'rows'>): string {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(textOf))]
  return lines.map((line) => line.map(field).join('\t')).join('\n')
}
