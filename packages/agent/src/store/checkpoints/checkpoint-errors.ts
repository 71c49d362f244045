/** A checkpoint is not what was written: a file is missing or was changed, or it was signed by nobody we know. */
export class CheckpointDamaged extends Error {
  override readonly name = 'CheckpointDamaged'
}

/** A whole checkpoint that this host cannot continue: another QEMU, machine or CPU. */
export class CheckpointIncompatible extends Error {
  override readonly name = 'CheckpointIncompatible'
}
