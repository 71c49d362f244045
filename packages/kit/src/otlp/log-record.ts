import { type LogRecord, SeverityNumber } from '@opentelemetry/api'

const SEVERITIES: readonly [atLeast: number, severity: SeverityNumber, text: string][] = [
  [60, SeverityNumber.FATAL, 'FATAL'],
  [50, SeverityNumber.ERROR, 'ERROR'],
  [40, SeverityNumber.WARN, 'WARN'],
  [30, SeverityNumber.INFO, 'INFO'],
  [20, SeverityNumber.DEBUG, 'DEBUG'],
  [0, SeverityNumber.TRACE, 'TRACE'],
]

/** A line of pino's as OpenTelemetry's record; `null` if it is none. The record's context has the trace's ids. */
export function logRecord(line: string): LogRecord | null {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line) as Record<string, unknown>
  } catch {
    return null
  }
  const { level, time, msg, err, pid: _pid, hostname: _host, trace_id: _trace, span_id: _span, ...rest } = fields
  const [, severityNumber, severityText] = SEVERITIES.find(([atLeast]) => Number(level) >= atLeast) ?? [0, 0, '']
  return {
    severityNumber,
    severityText,
    ...(typeof time === 'number' && { timestamp: time }),
    body: typeof msg === 'string' ? msg : '',
    attributes: {
      ...(rest as LogRecord['attributes']),
      ...(typeof err === 'object' && err !== null && exceptionOf(err)),
    },
  }
}

function exceptionOf(err: { type?: unknown; message?: unknown; stack?: unknown }) {
  return {
    'exception.type': String(err.type),
    'exception.message': String(err.message),
    'exception.stacktrace': String(err.stack),
  }
}
