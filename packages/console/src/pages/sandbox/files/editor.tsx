import { MergeView } from '@codemirror/merge'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { basicSetup } from 'codemirror'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import { languageOf } from './languages.ts'

/** The colours are those of the page, so that dark and light need nothing else. */
const THEME = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--surface)', color: 'var(--ink)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, monospace)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--line)' },
})

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--warn)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
  { tag: [tags.typeName, tags.className, tags.propertyName], color: 'var(--idle)' },
  { tag: [tags.heading, tags.strong], fontWeight: '600' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

const COMMON: Extension = [basicSetup, THEME, syntaxHighlighting(HIGHLIGHT)]

/** Keeps the line ends of the file. With mixed ones, CR is a character of its line. */
function lineEndOf(text: string): string {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text) ? '\r\n' : '\n'
}

interface EditorProps {
  readonly path: string
  /** The text at the beginning. Another one replaces what is in the editor. */
  readonly text: string
  readonly onChange: (text: string) => void
  readonly onSave: () => void
}

export function Editor({ path, text, onChange, onSave }: EditorProps) {
  const element = useRef<HTMLDivElement>(null)
  const latest = useRef({ onChange, onSave })
  useEffect(() => {
    latest.current = { onChange, onSave }
  }, [onChange, onSave])
  useEffect(() => {
    if (element.current === null) return
    const language = new Compartment()
    const view = new EditorView({
      parent: element.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([{ key: 'Mod-s', preventDefault: true, run: () => (latest.current.onSave(), true) }]),
          COMMON,
          language.of([]),
          EditorState.lineSeparator.of(lineEndOf(text)),
          EditorView.contentAttributes.of({ 'aria-label': `Content of ${path}` }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.sliceDoc())
          }),
        ],
      }),
    })
    let isGone = false
    const highlight = async () => {
      const found = await languageOf(path)
      if (found !== null && !isGone) view.dispatch({ effects: language.reconfigure(found) })
    }
    void highlight()
    return () => {
      isGone = true
      view.destroy()
    }
  }, [path, text])
  return <div ref={element} className="h-full min-h-0" />
}

interface DiffProps {
  readonly before: string
  readonly after: string
}

/** Two texts side by side. */
export function Diff({ before, after }: DiffProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (element.current === null) return
    const extensions = [COMMON, EditorState.readOnly.of(true), EditorView.editable.of(false)]
    const side = (doc: string, name: string) => ({
      doc,
      extensions: [extensions, EditorView.contentAttributes.of({ 'aria-label': name, tabindex: '0' })],
    })
    const view = new MergeView({
      parent: element.current,
      a: side(before, 'Before'),
      b: side(after, 'After'),
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: true,
    })
    return () => view.destroy()
  }, [before, after])
  return <div ref={element} className="max-h-[60dvh] overflow-auto rounded-md border" />
}
