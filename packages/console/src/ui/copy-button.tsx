import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button, IconButton } from './button.tsx'

const SHOW_DONE_MS = 1500

interface CopyButtonProps {
  readonly text: string
  /** E.g. `Copy the id`. */
  readonly label: string
  /** With its label beside the icon. */
  readonly labelled?: boolean
}

export function CopyButton({ text, label, labelled = false }: CopyButtonProps) {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!isDone) return
    const timer = setTimeout(() => setDone(false), SHOW_DONE_MS)
    return () => clearTimeout(timer)
  }, [isDone])
  const copy = async () => {
    await copyText(text)
    setDone(true)
  }
  const icon = isDone ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />
  const said = isDone ? 'Copied' : label
  return labelled ? (
    <Button small icon={icon} onClick={() => void copy()}>
      {said}
    </Button>
  ) : (
    <IconButton small label={said} icon={icon} onClick={() => void copy()} />
  )
}

/** Browsers offer their clipboard only to pages from HTTPS or the own machine. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
