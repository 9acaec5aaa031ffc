# SPDX-License-Identifier: Apache-2.0
#
# see.sh: what run.sh looks with. Each wait has a limit, and says what was not seen.
# shellcheck shell=bash

say() { printf '[%3ds] %s\n' "$SECONDS" "$*"; }
fail() {
	say "NOT SEEN: $*" >&2
	kubectl get clusterqueues,workloads,jobs,pods -A -o wide >&2 || true
	exit 1
}
# await WHAT SECONDS COMMAND…: waits until the command succeeds.
await() {
	local what=$1 limit=$2 until=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || fail "$what (within $limit s)"
		sleep 0.2
	done
	say "seen: $what"
}
# expect WHAT GOT WANTED
expect() {
	[ "$2" = "$3" ] || fail "$1: it is '$2', not '$3'"
	say "seen: $1: ${3:-none}"
}
# get JSONPATH KIND NAME…
get() { kubectl get "${@:2}" -o "jsonpath=$1"; }

# job NAMESPACE NAME SET [RESOURCE…]: makes a Job in the queue $queue, by default "sets",
# that asks for one set, and for nothing else but the resources given. It goes on until
# end is called.
job() {
	local more='' label=''
	[ -z "${queue-sets}" ] || label="kueue.x-k8s.io/queue-name: ${queue-sets}"
	[ $# -lt 4 ] || more=$(printf ', %s' "${@:4}")
	kubectl create -f - >/dev/null <<-YAML
		apiVersion: batch/v1
		kind: Job
		metadata: {name: $2, namespace: $1, labels: {$label}}
		spec:
		  template:
		    spec:
		      restartPolicy: Never
		      terminationGracePeriodSeconds: 0
		      containers:
		      - name: main
		        image: aipub.test/busybox:1
		        command: [/bin/sh, -c, 'until [ -e /ended ]; do sleep 0.2; done']
		        resources: {limits: {aipub.io/set-$3: "1"$more}}
	YAML
}
# end NAMESPACE JOB: its container ends by itself, and the Job is complete.
end() {
	kubectl -n "$1" exec "job/$2" -- touch /ended
	await "job $2 is complete" 30 kubectl -n "$1" wait "job/$2" --for=condition=Complete --timeout=1s
}
# running NAMESPACE JOB…: their pods run on the node.
running() {
	local name
	for name in "${@:2}"; do
		await "job $name runs" 60 kubectl -n "$1" wait pod -l "job-name=$name" --for=condition=Ready --timeout=1s
	done
}
# of_pod JSONPATH NAMESPACE JOB: of the one pod of a Job.
of_pod() { get "{.items[0]$1}" pods -n "$2" -l "job-name=$3"; }
# of_workload JSONPATH NAMESPACE KIND/NAME: of the Workload that Kueue made for it.
of_workload() { get "{.items[0]$1}" workloads -n "$2" -l "kueue.x-k8s.io/job-uid=$(get '{.metadata.uid}' "$3" -n "$2")"; }
# counts NAMESPACE KIND/NAME: what Kueue takes it to use.
counts() { of_workload '.status.admission.podSetAssignments[0].resourceUsage' "$@"; }
says() { of_workload '.status.conditions[?(@.type=="QuotaReserved")].message' "$1" "job/$2" | grep -F "$3"; }
# waits NAMESPACE JOB WORDS: Kueue has decided that the Job waits, with these words; it
# is suspended and has no pod.
waits() {
	await "job $2 waits in Kueue: $3" 30 says "$@"
	expect "job $2 is suspended" "$(get '{.spec.suspend}' job -n "$1" "$2")" true
	expect "pods of job $2" "$(kubectl get pods -n "$1" -l "job-name=$2" -o name)" ''
}
# offers SET NUMBER: what the scheduler sees on the node.
offers() { [ "$(get "{.status.allocatable['aipub\.io/set-$1']}" node node-0)" = "$2" ]; }
all_free() { offers small 4 && offers medium 2; }
# holders NAMESPACE: its pods that hold slices, by the node's own account.
holders() { get "{range .status.slices[?(@.holder.namespace==\"$1\")]}{.holder.pod}{\"\n\"}{end}" nodepartition node-0 | sort; }
hold() { [ "$(holders "$1")" = "$(kubectl get pods -n "$1" --field-selector=status.phase=Running -o name | cut -d/ -f2 | sort)" ] && [ "$(holders "$1" | wc -l)" = "$2" ]; }
