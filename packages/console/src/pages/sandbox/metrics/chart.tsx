import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../../../layout/theme.ts'

interface ChartLine {
  readonly label: string
  /** A colour of the page, e.g. `--accent`. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  /** What it shows, for screen readers. */
  readonly label: string
  readonly times: readonly number[]
  readonly lines: readonly ChartLine[]
  readonly format: (value: number) => string
  /** The values are bytes: the axis has powers of two. */
  readonly isBytes?: boolean
}

const HEIGHT_PX = 180
const AXIS_PX = 76
/** Distances between the marks of an axis of bytes. */
const BYTE_STEPS = Array.from({ length: 40 }, (_, power) => 2 ** (power + 8))

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export function Chart({ label, times, lines, format, isBytes = false }: ChartProps) {
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
  const isDark = useIsDark()
  const look = JSON.stringify(lines.map(({ label: name, color }) => [name, color]))
  const data = useRef<UPlot.AlignedData>([[]])
  useEffect(() => {
    data.current = [[...times], ...lines.map(({ values }) => [...values])]
    plot.current?.setData(data.current)
  }, [times, lines])
  useEffect(() => {
    const { current: parent } = element
    if (parent === null) return
    const style = getComputedStyle(parent)
    const color = (name: string) => style.getPropertyValue(name).trim()
    const axis = {
      stroke: color('--muted'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { stroke: color('--line'), width: 1 },
    }
    const made = new UPlot(
      {
        width: Math.max(parent.clientWidth, 200),
        height: HEIGHT_PX,
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, isBytes ? 1024 : 1)] } },
        axes: [
          { ...axis, space: 90, values: (_plot, values) => values.map((seconds) => clock.format(seconds * 1000)) },
          {
            ...axis,
            size: AXIS_PX,
            values: (_plot, values) => values.map(format),
            ...(isBytes && { incrs: BYTE_STEPS }),
          },
        ],
        series: [
          {},
          ...(JSON.parse(look) as [string, string][]).map(([name, line]) => ({
            label: name,
            stroke: color(line),
            width: 1.5,
            value: (_plot: UPlot, value: number | null) => (value === null ? '–' : format(value)),
          })),
        ],
      },
      data.current,
      parent,
    )
    plot.current = made
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(parent.clientWidth, 200), height: HEIGHT_PX }),
    )
    observer.observe(parent)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
    // The colours are those of the theme.
  }, [look, format, isBytes, isDark])
  return <div ref={element} role="img" aria-label={label} className="min-w-0 overflow-hidden" />
}
