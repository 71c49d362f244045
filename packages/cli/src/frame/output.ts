import type { Writable } from 'node:stream'
import { stripVTControlCharacters, styleText } from 'node:util'

/** Where a command writes: results to `stdout`, everything about them to `stderr`. */
export interface Streams {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

/** The forms of output that a command line asks for. */
interface Forms {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** How {@link Output.list} shows entries. */
interface Listing<T> {
  /** What `-q` prints of an entry. */
  readonly id: (entry: T) => string
  readonly headings: readonly string[]
  readonly row: (entry: T) => readonly string[]
  /** A remark instead of an empty table. */
  readonly empty: string
}

export type Style = Parameters<typeof styleText>[0]

/** Writes tables for people, JSON for programs, ids for pipelines. */
export class Output {
  readonly #streams: Streams
  readonly #colours: boolean

  constructor(streams: Streams, env: NodeJS.ProcessEnv) {
    this.#streams = streams
    const refused = Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb'
    this.#colours = Boolean(env['FORCE_COLOR']) || (streams.stdout.isTTY === true && !refused)
  }

  /** Colours `text` if the standard output is a terminal that shows colours. */
  style(style: Style, text: string): string {
    return this.#colours ? styleText(style, text, { validateStream: false }) : text
  }

  /** A line of the result. */
  line(text = ''): void {
    this.#streams.stdout.write(`${text}\n`)
  }

  /** Bytes of the result, as they are. */
  raw(bytes: string | Uint8Array): boolean {
    return this.#streams.stdout.write(bytes)
  }

  /** A remark for a person, beside the result. */
  note(text: string): void {
    this.#streams.stderr.write(`${text}\n`)
  }

  json(value: unknown): void {
    this.line(JSON.stringify(value, null, 2))
  }

  /** Rows below their headings. Without rows it prints only the note, so that a pipeline gets nothing. */
  table(headings: readonly string[], rows: readonly (readonly string[])[], empty: string): void {
    if (rows.length === 0) return this.note(empty)
    const cells = rows.map((row) => row.map((text) => safe(text)))
    const widths = headings.map((heading, i) => Math.max(heading.length, ...cells.map((row) => widthOf(row[i] ?? ''))))
    const lineOf = (row: readonly string[]) =>
      row
        .map((text, i) => (i === row.length - 1 ? text : text + ' '.repeat((widths[i] ?? 0) - widthOf(text))))
        .join('  ')
    this.line(this.style('dim', lineOf(headings)))
    for (const row of cells) this.line(lineOf(row).trimEnd())
  }

  /** A list: JSON for programs, ids for pipelines, a table for people. */
  list<T>({ json, quiet }: Forms, entries: readonly T[], { id, headings, row, empty }: Listing<T>): void {
    if (json) return this.json(entries)
    if (quiet) return entries.forEach((each) => this.line(id(each)))
    this.table(headings, entries.map(row), empty)
  }

  /** What a command made or changed: all of it as JSON for programs, otherwise one line. */
  result({ json }: Forms, value: unknown, line: string): void {
    if (json) this.json(value)
    else this.line(line)
  }

  /** Names with their values, one a line. */
  pairs(pairs: readonly (readonly [string, string | null])[]): void {
    const shown = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null)
    const width = Math.max(...shown.map(([name]) => name.length))
    for (const [name, value] of shown) this.line(`${this.style('dim', name.padEnd(width))}  ${safe(value)}`)
  }
}

/** Control characters but line ends and tabs, and escapes that are no colour. */
// oxlint-disable-next-line no-control-regex
const HARMFUL = /[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F]|\u001B(?!\[\d{1,3}(?:;\d{1,3})*m)/g

/**
 * Text of the server or of a sandbox in a table: without control characters, which could move the cursor or colour the
 * rest. Our own colours stay.
 */
function safe(text: string): string {
  return text.replaceAll(HARMFUL, '\uFFFD').replaceAll(/[\n\t]/g, ' ')
}

/** Text of the server or of a sandbox in a sentence: on one line, without escapes. */
export function printable(text: string): string {
  return safe(text).replaceAll('\u001B', '\uFFFD')
}

function widthOf(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length
}

const AGES: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
]

/** The time since `timestamp`, or until it, in its largest unit: `5m`. */
export function age(timestamp: string, now = Date.now()): string {
  const seconds = Math.round(Math.abs(now - Date.parse(timestamp)) / 1000)
  const [unit, size] = AGES.find(([, size]) => seconds >= size * 2) ?? (['s', 1] as const)
  return `${Math.floor(seconds / size)}${unit}`
}

/** Bytes in binary units, with three digits: `1.25 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = count
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? value : value.toPrecision(value >= 1000 ? 4 : 3)} ${units[unit] ?? ''}`
}
