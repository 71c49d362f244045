import { MergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { useIsDark } from '../../layout/theme.ts'

interface TextDiffProps {
  readonly left: string
  readonly right: string
}

/** Milliseconds that the search for the differences may take. */
const MAX_DIFF_MS = 500

/** Two texts side by side, with their differences marked. */
export function TextDiff({ left, right }: TextDiffProps) {
  const place = useRef<HTMLDivElement>(null)
  const isDark = useIsDark()
  useEffect(() => {
    const parent = place.current
    if (parent === null) return
    const extensions = [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ tabindex: '0', 'aria-label': 'Output' }),
      lineNumbers(),
      EditorView.lineWrapping,
      EditorView.theme({ '&': { fontSize: '12px' } }, { dark: isDark }),
    ]
    const view = new MergeView({
      a: { doc: left, extensions },
      b: { doc: right, extensions },
      parent,
      collapseUnchanged: { margin: 3, minSize: 6 },
      diffConfig: { timeout: MAX_DIFF_MS },
    })
    return () => view.destroy()
  }, [left, right, isDark])
  return (
    <>
      {left === right && <p className="text-muted">Both are the same.</p>}
      <div ref={place} className="max-h-96 overflow-auto rounded-md border" />
    </>
  )
}
