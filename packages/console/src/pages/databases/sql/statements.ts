import { PostgreSQL } from '@codemirror/lang-sql'

export interface StatementText {
  readonly sql: string
  /** Where it begins in the whole text. */
  readonly from: number
  readonly to: number
}

/** The statements of a text, as the grammar of the editor separates them: not at `;` inside a string or a function. */
export function statementsOf(text: string): readonly StatementText[] {
  const { topNode } = PostgreSQL.language.parser.parse(text)
  return topNode.getChildren('Statement').flatMap(({ from, to }) => {
    const sql = text.slice(from, to).replace(/;\s*$/, '')
    return sql.trim() === '' ? [] : [{ sql, from, to }]
  })
}

/** The statement at a position, else the last one before it. */
export function statementAt(text: string, position: number): StatementText | null {
  const all = statementsOf(text)
  return all.findLast(({ from }) => from <= position) ?? all[0] ?? null
}

/** PostgreSQL counts characters from 1; an editor counts UTF-16 units from 0. */
export function offsetOfPosition(sql: string, position: number): number {
  return Array.from(sql)
    .slice(0, position - 1)
    .join('').length
}

/** E.g. `line 3, column 7`. */
export function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
