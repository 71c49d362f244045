import { useState } from 'react'

/** How a browser shows all terminals. */
export interface TerminalPreferences {
  /** Pixels. */
  readonly fontSize: number
  /** Reads new output to screen readers. It makes the terminal slower. */
  readonly screenReader: boolean
}

const KEY = 'offshoot-terminal'
const DEFAULT: TerminalPreferences = { fontSize: 14, screenReader: false }
export const FONT_SIZES = { min: 8, max: 32 } as const

function stored(): TerminalPreferences {
  try {
    const { fontSize, screenReader } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<TerminalPreferences>
    const isSize = typeof fontSize === 'number' && fontSize >= FONT_SIZES.min && fontSize <= FONT_SIZES.max
    return { fontSize: isSize ? fontSize : DEFAULT.fontSize, screenReader: screenReader === true }
  } catch {
    return DEFAULT
  }
}

export function usePreferences(): [TerminalPreferences, (change: Partial<TerminalPreferences>) => void] {
  const [preferences, setPreferences] = useState(stored)
  return [
    preferences,
    (change) => {
      const next = { ...preferences, ...change }
      localStorage.setItem(KEY, JSON.stringify(next))
      setPreferences(next)
    },
  ]
}
