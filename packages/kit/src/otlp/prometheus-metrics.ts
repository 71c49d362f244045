import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { hrTime, millisToHrTime } from '@opentelemetry/core'
import { emptyResource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'

interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number | undefined>>
  /** The sample's own name; a histogram's samples end in `_bucket`, `_sum` and `_count`. */
  readonly metricName?: string
}

interface Metric {
  readonly name: string
  readonly help: string
  /** `counter`, `gauge`, `histogram` or `summary`. */
  readonly type: string
  readonly values: readonly Sample[]
}

/** A registry of prom-client's, which `GET /metrics` prints as well. */
export interface MetricSource {
  getMetricsAsJSON(): Promise<object[]>
}

interface Interval {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** Reads a Prometheus registry at each export, so that OTLP and `GET /metrics` show the same values. */
export function prometheusMetrics(source: MetricSource, scope: string): MetricProducer {
  const startTime = millisToHrTime(performance.timeOrigin)
  return {
    collect: async () => {
      const found = (await source.getMetricsAsJSON()) as Metric[]
      const interval = { startTime, endTime: hrTime() }
      const metrics = found.map((metric) => metricData(metric, interval)).filter((data) => data !== null)
      return {
        resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: scope }, metrics }] },
        errors: [],
      }
    },
  }
}

/** `null` for a summary, which this service does not have. */
function metricData({ name, help, type, values }: Metric, interval: Interval): MetricData | null {
  const common = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const dataPoints = () => values.map(({ value, labels }) => ({ ...interval, attributes: labels as Attributes, value }))
  switch (type) {
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: dataPoints() }
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: dataPoints() }
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, interval) }
    default:
      return null
  }
}

/** Prometheus counts each observation in every bucket that is large enough; OpenTelemetry counts it in one. */
function histograms(values: readonly Sample[], interval: Interval): DataPoint<Histogram>[] {
  const series = Map.groupBy(values, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  return [...series].map(([labels, samples]) => {
    const valueOf = (suffix: string) => samples.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0
    const buckets = samples.filter(({ metricName }) => metricName?.endsWith('_bucket'))
    return {
      ...interval,
      attributes: JSON.parse(labels) as Attributes,
      value: {
        buckets: {
          boundaries: buckets.map(({ labels: { le } }) => Number(le)).filter((le) => Number.isFinite(le)),
          counts: buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0)),
        },
        sum: valueOf('_sum'),
        count: valueOf('_count'),
      },
    }
  })
}
