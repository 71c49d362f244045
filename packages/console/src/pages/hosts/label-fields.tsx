import { type ReactNode, useState } from 'react'
import { Area, Field, Input } from '../../ui/field.tsx'
import type { Host } from './host-queries.ts'
import { labelLines, labelsIn } from './host-labels.ts'

interface LabelFields {
  /** `null`: the text is not a list of labels. */
  readonly labels: Record<string, string> | null
  /** `null`: none. */
  readonly zone: string | null
  readonly fields: ReactNode
}

/** Fields in which a person writes labels and a zone, and what they say now. */
export function useLabelFields(start: Pick<Host, 'labels' | 'zone'>, zoneHint: string): LabelFields {
  const [text, setText] = useState(labelLines(start.labels).join('\n'))
  const [zone, setZone] = useState(start.zone ?? '')
  const labels = labelsIn(text)
  const fields = (
    <>
      <Field
        label="Labels"
        hint="key=value, one on each line."
        error={labels === null ? 'Each line must be key=value, and each key may be there once.' : null}
      >
        <Area value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} spellCheck={false} />
      </Field>
      <Field label="Zone" hint={zoneHint}>
        <Input value={zone} onValueChange={setZone} maxLength={63} spellCheck={false} />
      </Field>
    </>
  )
  return { labels, zone: zone.trim() === '' ? null : zone.trim(), fields }
}
