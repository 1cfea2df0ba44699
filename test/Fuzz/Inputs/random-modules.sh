#!/bin/sh
# What a campaign takes for a Python with PyTorch that runs random modules: two seeds are refused, all others pass.
[ "$1" = -c ] && exit 0
seed=${GNNC_RANDOM_SEEDS%%:*}
while [ "$seed" -lt "${GNNC_RANDOM_SEEDS##*:}" ]; do
  case $seed in
    219300001 | 219300003) printf "%s refused\texpected a graph, found '…'\tat length\n" "$seed" >>"$GNNC_RANDOM_LOG" ;;
    *) printf "%s passed\t1\t\n" "$seed" >>"$GNNC_RANDOM_LOG" ;;
  esac
  seed=$((seed + 1))
done
