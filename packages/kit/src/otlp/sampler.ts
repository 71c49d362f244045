import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'

/** The sampler that `OTEL_TRACES_SAMPLER` names. The SDK does not read this variable itself. */
export function samplerFromEnvironment(): Sampler {
  const { env } = process
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'
  const own = name.replace('parentbased_', '')
  const root = rootSampler(own, env['OTEL_TRACES_SAMPLER_ARG'] || '1')
  return own === name ? root : new ParentBasedSampler({ root })
}

function rootSampler(name: string, ratio: string): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(Number(ratio)) : new AlwaysOnSampler()
}
