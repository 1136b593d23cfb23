#!/bin/bash
# In a machine with a far node: runs programs/objects with its objects on it, and says where the
# kernel has them. Prints one line of TAP for each check.
#
#   far_node.sh OBJECTS PLAN_DIR SPEC...     such as  far_node.sh /objects /plans node:1 file:/mnt/pmem
#
# PLAN_DIR holds far.json, near.json, parts.json and phases.json, written by make_plans.py.
n=0 bad=0
objects=$1 plans=$2; shift 2
check() { n=$((n + 1)); if "${@:2}" >"/tmp/run.$n" 2>&1; then echo "ok $n - $1"; else
  bad=$((bad + 1)); echo "not ok $n - $1"; sed 's/^/# /' "/tmp/run.$n"; fi; }
landed() { # RECORD LEAST: every object seen, and its pages on plan
  python3 - "$1" "$2" <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
assert record["exit_status"] == "exited 0", record["exit_status"]
for one in record["objects"]:
    print(one["name"], one["planned"], one["bytes_by_memory"], one["on_plan"])
    assert one["recognised_bytes"] > 0, one["name"]
    assert one["on_plan"] >= float(sys.argv[2]), one["name"]
PY
}
for spec in "$@"; do
  record=/tmp/record.json
  for plan in near far parts; do
    least=0.99; [ $plan = parts ] && least=0.9   # sampled pages of two parts
    check "$plan on $spec" bash -c \
      "nearfar run $plans/$plan.json --map 'far=$spec' -q -o $record -- $objects 8 threads fork exec"
    check "$plan on $spec landed" landed $record $least
  done
  case $spec in node:*)
    check "migration to $spec" bash -c "nearfar run $plans/phases.json --map 'far=$spec' --adapt \
      --hysteresis 50ms -q -o $record -- $objects 8 phases"
    check "pages moved to $spec" python3 -c "
import json
(one,) = json.load(open('$record'))['migrations']
print(one)
assert one['moved_bytes'] >= 0.99 * (8 << 20) and not one['failed_bytes']" ;;
  esac
done
echo "1..$n"; exit $((bad > 0))
