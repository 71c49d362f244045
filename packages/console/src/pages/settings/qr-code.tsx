import { useMemo } from 'react'
import { encode } from 'uqr'

/** Modules of white around the code, without which cameras do not find it. */
const BORDER = 4

/** A QR code that this page draws itself: its text is a secret. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, path } = useMemo(() => {
    const { data } = encode(text, { border: BORDER })
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { size: data.length, path: dark.join('') }
  }, [text])
  return (
    // Dark on white in both themes: many cameras read no inverted code.
    <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} className="w-56 max-w-full rounded bg-white">
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  )
}
