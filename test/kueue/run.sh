#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh: sets under Kueue itself, and under a plain ResourceQuota, in namespaces that
# AIPub does not manage, on the node that make node-up leaves. What docs/migrating.md
# says of them is seen here, or this fails. Everything it made is gone afterwards;
# KEEP=1 leaves it.
set -euo pipefail
SECONDS=0
cd "$(dirname "$0")/../.."
eval "$(test/cluster/cluster.sh env)"
source test/kueue/see.sh

remove() {
	kubectl delete namespace kueue-sets kueue-sizes kueue-apart plain-quota --ignore-not-found --timeout=60s
	kubectl delete resourcesetquota kueue-apart --ignore-not-found
	[ -z "$(kubectl get crd clusterqueues.kueue.x-k8s.io --ignore-not-found)" ] ||
		kubectl delete --timeout=30s --ignore-not-found clusterqueue/kueue-sets clusterqueue/kueue-sizes resourceflavor/kueue-test
	helm uninstall kueue --namespace kueue-system --ignore-not-found --wait --timeout 2m
	kubectl delete namespace kueue-system --ignore-not-found --timeout=60s
	[ -z "${pool:-}" ] || { kubectl delete partitionpolicy demo && kubectl label node node-0 "$pool" --overwrite; }
}
clean_up() {
	local code=$? left
	trap - EXIT
	[ -z "${KEEP:-}" ] || exit $code
	say "cleaning up"
	remove >/dev/null || code=1
	left=$(kubectl get crd,mutatingwebhookconfigurations,validatingwebhookconfigurations,apiservices,clusterroles,clusterrolebindings,namespaces -o name | grep kueue) &&
		{ say "left behind: $left" >&2; code=1; }
	if [ $code = 0 ]; then say "all was seen, and nothing is left"; else say "FAILED" >&2; fi
	exit $code
}

# Two sets of one size, and Jobs that ask for nothing but the set.
one_size() {
	local ns=kueue-sets name
	for name in a b; do job $ns $name small; done
	running $ns a b
	job $ns c small
	waits $ns c 'insufficient unused quota for aipub.io/set-small'
	await "the node says that the two pods hold their slices" 30 hold $ns 2
	for name in a b; do
		expect "limits of $name" "$(of_pod '.spec.containers[0].resources.limits' $ns $name)" "{\"aipub.io/set-small\":\"1\",\"cpu\":\"$cpu\",\"memory\":\"$memory\"}"
		expect "QoS class of $name" "$(of_pod '.status.qosClass' $ns $name)" Guaranteed
		expect "$name sees the set and one GPU" "$(kubectl -n $ns exec job/$name -- sh -c 'echo $AIPUB_SET; cd /dev; ls -d nvidia[0-9]*' | paste -sd' ')" 'small nvidia0'
		# Kueue has suspended the Job until its turn; AIPub has gated and stamped nothing.
		expect "what AIPub wrote on $name" "$(ours $ns $name)" ''
		expect "what Kueue counts for $name" "$(counts $ns job/$name)" "{\"aipub.io/set-small\":\"1\",\"cpu\":\"$cpu\",\"example.com/gpu-percent\":\"25\",\"memory\":\"$memory\"}"
	done
	end $ns a
	running $ns c
	end $ns b
	end $ns c
}

ours() { for at in .metadata.annotations .metadata.labels '.status.conditions[*].type'; do of_pod $at "$@"; done | { grep -o 'aipub.io/[A-Za-z-]*' || true; }; }

# Sizes that share a GPU. The quota has four small and two medium, the GPU has 100 percent.
sizes() {
	local ns=kueue-sizes large
	large=("cpu: $(get '{.spec.cpu}' resourceset medium)" "memory: $(get '{.spec.memory}' resourceset medium)")
	await "the GPU is free again" 30 all_free
	job $ns m1 medium "${large[@]}"
	job $ns s1 small "cpu: $cpu" "memory: $memory"
	running $ns m1 s1
	job $ns m2 medium "${large[@]}"
	waits $ns m2 'insufficient unused quota for example.com/gpu-percent'
	job $ns s2 small "cpu: $cpu" "memory: $memory"
	running $ns s2
	await "the node says that the three pods hold their slices" 30 hold $ns 3
	end $ns m1
	running $ns m2
	end $ns s1
	end $ns s2
	end $ns m2
}

# A namespace that AIPub manages: a queue's name in it says nothing to Kueue.
apart() {
	local ns=kueue-apart
	await "the GPU is free again" 30 all_free
	kubectl apply -f test/kueue/apart.yaml >/dev/null
	job $ns first small
	running $ns first
	job $ns second small
	await "job second waits at AIPub's gate" 30 gated $ns second ProjectQuotaReached
	expect "gates of its pod" "$(of_pod '.spec.schedulingGates[*].name' $ns second)" aipub.io/quota
	expect "Workloads that Kueue made in $ns" "$(kubectl get workloads -n $ns -o name)" ''
	end $ns first
	running $ns second
	end $ns second
}

# The same namespace once Kueue manages it as well: two systems decide, and neither
# knows what the other holds back.
both() {
	local ns=kueue-apart
	await "the GPU is free again" 30 all_free
	sed '/aipub.io.project/d' test/kueue/values.yaml | test/kueue/install.sh >/dev/null
	say "Kueue manages the namespaces of projects as well"
	job $ns third small
	running $ns third
	expect "what Kueue counts for a Job: its template" "$(counts $ns job/third)" '{"aipub.io/set-small":"1","example.com/gpu-percent":"25"}'
	job $ns fourth small
	await "job fourth is admitted by Kueue and waits at AIPub's gate" 30 gated $ns fourth ProjectQuotaReached
	expect "what Kueue counts for it meanwhile" "$(counts $ns job/fourth)" '{"aipub.io/set-small":"1","example.com/gpu-percent":"25"}'
	end $ns third
	running $ns fourth
	end $ns fourth

	for name in d e; do job kueue-sets $name small; done
	running kueue-sets d e
	kubectl apply -f test/kueue/bare.yaml >/dev/null
	await "AIPub waits for Kueue to open its gate" 30 elsewhere $ns
	expect "gates of the pod" "$(get '{.spec.schedulingGates[*].name}' pod bare -n $ns | tr ' ' '\n' | sort | paste -sd' ')" 'aipub.io/quota kueue.x-k8s.io/admission kueue.x-k8s.io/topology'
	expect "what AIPub charges for it meanwhile" "$(get "{.status.used.sets}" resourcesetquota kueue-apart)" ""
	end kueue-sets d
	await "the pod runs" 60 kubectl wait pod/bare -n $ns --for=condition=Ready --timeout=1s
	expect "what Kueue counts for a pod: all that AIPub filled in" "$(counts $ns pod/bare)" "{\"aipub.io/set-small\":\"1\",\"cpu\":\"$cpu\",\"example.com/gpu-percent\":\"25\",\"memory\":\"$memory\"}"
	end kueue-sets e
}
elsewhere() { get '{.status.conditions[?(@.type=="aipub.io/Allocated")].reason}' pod bare -n "$1" | grep -x OtherGates; }
gated() { of_pod '.status.conditions[?(@.type=="aipub.io/Allocated")].reason' "$1" "$2" | grep -x "$3"; }

# A plain ResourceQuota on sets, in a namespace without any queue.
plain() {
	local ns=plain-quota over='exceeded quota: sets, requested: requests.aipub.io/set-small=1, used: requests.aipub.io/set-small=1, limited: requests.aipub.io/set-small=1'
	await "the GPU is free again" 30 all_free
	kubectl create namespace $ns >/dev/null
	kubectl create quota sets -n $ns --hard=requests.aipub.io/set-small=1 >/dev/null
	await "the ResourceQuota counts sets" 30 counted $ns
	queue='' job $ns first small
	running $ns first
	expect "QoS class of a pod that asks for nothing else" "$(of_pod '.status.qosClass' $ns first)" BestEffort
	queue='' job $ns second small
	await "job second has no pod: $over" 30 event $ns "$over"
	end $ns first
	running $ns second # the Job's controller tries again, with a delay that grows
	end $ns second
}
counted() { get '{.status.hard}' resourcequota sets -n "$1" | grep -F requests.aipub.io/set-small; }
event() { get '{.items[*].message}' events -n "$1" | grep -F "$2"; }

remove >/dev/null
trap clean_up EXIT
if [ -z "$(kubectl get partitionpolicy demo --ignore-not-found)" ]; then
	pool=aipub.io/pool=$(get '{.metadata.labels.aipub\.io/pool}' node node-0) # as it is to be afterwards
	kubectl label node node-0 aipub.io/pool=demo --overwrite >/dev/null
	kubectl apply -f test/e2e/testdata/policy.yaml >/dev/null
fi
await "the node offers its sets, all free" 60 all_free
cpu=$(get '{.spec.cpu}' resourceset small)
memory=$(get '{.spec.memory}' resourceset small)

version=$(test/kueue/install.sh <test/kueue/values.yaml)
say "Kueue $version is installed"
await "Kueue takes the queues" 30 kubectl apply -f test/kueue/queues.yaml
# With this, Jobs in kueue-sets need not say what belongs to the set.
kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: kueue-sets}
spec:
  limits:
  - type: Container
    default: {cpu: "$cpu", memory: $memory}
YAML
one_size
sizes
plain
apart
both
