import { sectionsOf, stateOf, type Section } from './device-state.ts'

/**
 * The section of what is common to all CPUs (QEMU, hw/core/cpu-common.c, `vmstate_cpu_common`): whether the CPU waits for an
 * interrupt, and its requests, two 32-bit numbers.
 */
const SECTION = 'cpu_common'
/** Bytes of a section that has nothing else: no exception and no crash. */
const PLAIN_BYTES = 37
/** Of the instance's number, the first number, and the second one. */
const INSTANCE_AT = 16
const HALTED_AT = 24
const REQUESTS_AT = 28
/**
 * CPU_INTERRUPT_HARD and CPU_INTERRUPT_POLL (target/i386/cpu.h): the interrupt controller has an interrupt for the CPU, or may have
 * one. After each load, the CPUs ask it (native/zygote-state.c).
 */
const ASK = 0x02 | 0x10

/**
 * A device state without the sections of CPUs that are as after a reset. When QEMU loads such a section, it drops all
 * translated code. A CPU that waits for an interrupt is then woken once for nothing, which kernels expect.
 */
export function withoutPlainCpus(state: Buffer): Buffer {
  return stateOf(sectionsOf(state).filter((section) => !isPlainCpu(section)))
}

function isPlainCpu({ name, bytes }: Section): boolean {
  if (name !== SECTION || bytes.length !== PLAIN_BYTES) return false
  if ((bytes.readUInt32BE(REQUESTS_AT) & ~ASK) !== 0) return false
  // A reset starts the first CPU, and lets the others wait.
  return bytes.readUInt32BE(INSTANCE_AT) === 0 || bytes.readUInt32BE(HALTED_AT) === 1
}
