#!/bin/bash
# One chain on four nodes of SLURM, from a file system that all of them see:
#
#     sbatch slurm.sh run lda --data posts.corpus --set topics=100 --split documents --out runs/a
#
# If the job is killed: sbatch slurm.sh resume runs/a --split documents
#SBATCH --job-name=ppl-topics
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
set -euo pipefail

scheduler="$PWD/scheduler-$SLURM_JOB_ID.json"
trap 'kill $(jobs -p) 2>/dev/null; rm -f "$scheduler"' EXIT

dask scheduler --scheduler-file "$scheduler" --port 0 --no-dashboard &
read_address='import json, sys; print(json.load(open(sys.argv[1]))["address"])'
until address=$(python3 -c "$read_address" "$scheduler" 2>/dev/null); do sleep 1; done

# A worker on each node, which ends when the job does; numba takes the cores that SLURM gives it.
srun --kill-on-bad-exit=0 dask worker --scheduler-file "$scheduler" --nworkers 1 --nthreads 1 --no-dashboard &

ppl-topics "$@" --cluster "$address"
