import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../../layout/theme.ts'

const HEIGHT_PX = 220
/** Share of a day's width that its bar takes, and the widest bar in pixels. */
const BAR: [number, number] = [0.7, 48]

interface UsageChartProps {
  /** What the bars are, e.g. `Cost of each day`. */
  readonly label: string
  /** `YYYY-MM-DD`. */
  readonly days: readonly string[]
  readonly values: readonly number[]
  readonly show: (value: number) => string
}

/** A bar for each day. The table below has the same figures for screen readers. */
export function UsageChart({ label, days, values, show }: UsageChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const isDark = useIsDark()
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const style = getComputedStyle(element)
    const color = (name: string) => style.getPropertyValue(name)
    const [ink, line, accent] = [color('--muted'), color('--line'), color('--accent')]
    const paths = uPlot.paths.bars?.({ size: BAR })
    const bars = paths && { paths }
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_self, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        axes: [
          { ...axis, grid: { show: false } },
          { ...axis, size: 64, values: (_self, ticks) => ticks.map(show) },
        ],
        series: [
          {},
          {
            label,
            fill: accent,
            stroke: accent,
            ...bars,
            points: { show: false },
          },
        ],
      },
      [days.map((day) => Date.parse(day) / 1000), [...values]],
      element,
    )
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [label, days, values, show, isDark])
  return <div ref={frame} role="img" aria-label={label} className="h-[220px] w-full min-w-0 overflow-hidden" />
}
