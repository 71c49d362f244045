import type { Extension } from '@codemirror/state'
import { extensionOf } from './content.ts'
import { baseName } from './tree.ts'

type Language = () => Promise<Extension>

const javascript =
  (options: { readonly jsx?: boolean; readonly typescript?: boolean }): Language =>
  async () =>
    (await import('@codemirror/lang-javascript')).javascript(options)
const json: Language = async () => (await import('@codemirror/lang-json')).json()
const markdown: Language = async () => (await import('@codemirror/lang-markdown')).markdown()
const python: Language = async () => (await import('@codemirror/lang-python')).python()
const sql: Language = async () => (await import('@codemirror/lang-sql')).sql()

const LANGUAGES: Readonly<Record<string, Language>> = {
  js: javascript({}),
  mjs: javascript({}),
  cjs: javascript({}),
  jsx: javascript({ jsx: true }),
  ts: javascript({ typescript: true }),
  mts: javascript({ typescript: true }),
  cts: javascript({ typescript: true }),
  tsx: javascript({ jsx: true, typescript: true }),
  json,
  jsonl: json,
  md: markdown,
  markdown,
  py: python,
  sql,
}

/** The language of a file, by its name; `null` for plain text. */
export async function languageOf(path: string): Promise<Extension | null> {
  const language = LANGUAGES[extensionOf(baseName(path))]
  return language === undefined ? null : language()
}
