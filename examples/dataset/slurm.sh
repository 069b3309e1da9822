#!/bin/bash
# Makes a data set on a Slurm cluster: one array task per part, then one job that joins them.
#   sbatch --array=0-15 examples/dataset/slurm.sh 1000000 /scratch/kernels --emit cuda,adjoint
#   sbatch --dependency=afterok:JOB examples/dataset/slurm.sh merge /scratch/kernels
# What follows the folder goes to `kc dataset`. A task that was preempted goes on where it stopped when it is started again.
#SBATCH --cpus-per-task=16
#SBATCH --requeue
set -euo pipefail
rows=$1 folder=$2
if [[ $rows == merge ]]; then
    exec kc dataset merge "$folder"/part-* --out "$folder/whole"
fi
part=${SLURM_ARRAY_TASK_ID:?start this with --array} parts=${SLURM_ARRAY_TASK_COUNT:?}
exec kc dataset -n "$rows" --shard "$part/$parts" --jobs "${SLURM_CPUS_PER_TASK:-0}" --resume -o "$folder/part-$part" "${@:3}"
