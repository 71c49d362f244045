import { closeCompletion } from '@codemirror/autocomplete'
import { PostgreSQL, sql } from '@codemirror/lang-sql'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, type Extension, Prec, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, keymap, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { basicSetup } from 'codemirror'
import { type RefObject, useEffect, useRef } from 'react'

const markError = StateEffect.define<number | null>()
const MARK = Decoration.mark({ class: 'sql-error' })

/** The underlined place of the last error, until the text changes. */
const errorMark = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => {
    const effect = transaction.effects.find((each) => each.is(markError))
    if (effect === undefined) return transaction.docChanged ? Decoration.none : marks
    const at = effect.value
    if (at === null || at >= transaction.state.doc.length) return Decoration.none
    const word = transaction.state.wordAt(at)
    return Decoration.set([MARK.range(at, Math.max(word?.to ?? 0, at + 1))])
  },
  provide: (field) => EditorView.decorations.from(field),
})

const look = EditorView.theme({
  '&': { fontSize: '13px', backgroundColor: 'var(--surface)', color: 'var(--ink)', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-content': { fontFamily: 'var(--font-mono)', caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft) !important',
  },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)' },
  '.sql-error': { textDecoration: 'underline wavy var(--bad)', backgroundColor: 'var(--bad-soft)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--idle)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--muted)', fontStyle: 'italic' },
])

/** Names for the completion: columns by table. */
export type SchemaNames = Readonly<Record<string, readonly string[]>>

export interface EditorHandle {
  readonly text: () => string
  /** The selected text and where it begins; without a selection all of it. */
  readonly selected: () => { readonly text: string; readonly from: number; readonly cursor: number }
  readonly replace: (text: string) => void
  readonly insert: (text: string) => void
  readonly mark: (offset: number | null) => void
}

interface EditorProps {
  readonly initial: string
  readonly names: SchemaNames
  readonly onRun: () => void
  readonly handle: RefObject<EditorHandle | null>
}

const languageOf = (names: SchemaNames): Extension =>
  sql({ dialect: PostgreSQL, schema: names as Record<string, string[]>, upperCaseKeywords: false })

/** The SQL editor: Ctrl+Enter runs. */
export function Editor({ initial, names, onRun, handle }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const language = useRef<Compartment>(null)
  const run = useRef(onRun)
  useEffect(() => {
    run.current = onRun
  }, [onRun])
  useEffect(() => {
    if (host.current === null) return
    const compartment = new Compartment()
    // The list of completions would cover the result.
    const runAndClose = (of: EditorView) => {
      closeCompletion(of)
      run.current()
      return true
    }
    const editor = new EditorView({
      parent: host.current,
      doc: initial,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run: runAndClose }])),
        basicSetup,
        look,
        syntaxHighlighting(colours),
        errorMark,
        placeholder('select …'),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
        compartment.of(languageOf({})),
      ],
    })
    view.current = editor
    language.current = compartment
    handle.current = handleOf(editor)
    return () => {
      handle.current = null
      editor.destroy()
    }
    // The text belongs to the editor once it is there.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [handle])
  useEffect(() => {
    const { current: editor } = view
    const { current: compartment } = language
    if (editor !== null && compartment !== null)
      editor.dispatch({ effects: compartment.reconfigure(languageOf(names)) })
  }, [names])
  return <div ref={host} className="h-56 resize-y overflow-hidden rounded-lg border" />
}

function handleOf(editor: EditorView): EditorHandle {
  const replaceRange = (from: number, to: number, insert: string) => {
    editor.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length } })
    editor.focus()
  }
  return {
    text: () => editor.state.doc.toString(),
    selected: () => {
      const { from, to, empty, head } = editor.state.selection.main
      return {
        text: empty ? editor.state.doc.toString() : editor.state.sliceDoc(from, to),
        from: empty ? 0 : from,
        cursor: head,
      }
    },
    replace: (text) => replaceRange(0, editor.state.doc.length, text),
    insert: (text) => {
      const { from, to } = editor.state.selection.main
      replaceRange(from, to, text)
    },
    mark: (at) =>
      editor.dispatch({
        effects: markError.of(at),
        ...(at !== null && { selection: { anchor: Math.min(at, editor.state.doc.length) }, scrollIntoView: true }),
      }),
  }
}
