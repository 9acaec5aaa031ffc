#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: the product at work. Without KUBECONFIG it builds a real Kubernetes node on
# this machine and gives it three simulated H200; with KUBECONFIG it uses that
# cluster and the GPUs that are there (AIPUB_IMAGE names an image it can pull,
# AIPUB_NODE the node to divide).
set -euo pipefail
cd "$(dirname "$0")/../.."

bold=$'\e[1m' dim=$'\e[2m' off=$'\e[0m'
[ -t 1 ] || bold='' dim='' off=''
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$off"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$off"; }
typed() { # prints a command as one would type it
	local word line=''
	for word in "$@"; do
		case $word in *[\ \|\;\{]*) word="'$word'" ;; esac
		line+=" $word"
	done
	printf '%s$%s%s\n' "$bold" "$line" "$off"
}
show() { # prints a command and runs it
	typed "$@"
	"$@"
}
refused() { # prints a command that must be refused by admission, and its refusal
	typed "$@"
	local said
	if said=$("$@" 2>&1); then
		printf '%s\n' "$said"
		echo "demo: this should have been refused" >&2
		exit 1
	fi
	printf '%s\n' "$said"
	case $said in *'is invalid: '*) ;; *)
		echo "demo: this is not the refusal that was expected" >&2
		exit 1
		;;
	esac
}
# await WHAT SECONDS COMMAND…: waits until the command succeeds.
await() {
	local what=$1 until=$((SECONDS + $2))
	shift 2
	while ! "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $until ]; then
			echo "demo: $what did not happen in time" >&2
			kubectl get pods -A -o wide >&2 || true
			exit 1
		fi
		sleep 0.3
	done
}
offers() { # SET NUMBER
	[ "$(kubectl get node "$node" -o "jsonpath={.status.allocatable['aipub\.io/set-$1']}")" = "$2" ]
}

test/need.sh go
own=''
ours=${AIPUB_CLUSTER_DIR:-/var/lib/aipub-cluster}/etc/admin.kubeconfig
if [ -z "${KUBECONFIG:-}" ] || [ "$KUBECONFIG" = "$ours" ]; then
	test/need.sh linux root gcc
	own=yes
	title "A real Kubernetes node on this machine, with three simulated H200"
	note "The first time this builds Kubernetes, containerd and the image from source: about 25 minutes on two cores, 1 minute afterwards."
	test/e2e/up.sh
	eval "$(test/cluster/cluster.sh env)"
	export PATH=$PWD/bin:$PATH
	node=node-0
	policy=test/e2e/testdata/policy.yaml
else
	[ -r "$KUBECONFIG" ] || { echo "demo: KUBECONFIG=$KUBECONFIG: there is no such file that can be read; name a kubeconfig, or unset KUBECONFIG to build a node here" >&2; exit 1; }
	for c in kubectl helm; do command -v $c >/dev/null || { echo "demo: $c is not installed; it is needed to use the cluster of KUBECONFIG" >&2; exit 1; }; done
	[ -n "${AIPUB_IMAGE:-}" ] || { echo "demo: AIPUB_IMAGE is empty; push the image (docker build -t REGISTRY/aipub:TAG . && docker push …) and name it: AIPUB_IMAGE=REGISTRY/aipub:TAG make demo" >&2; exit 1; }
	node=${AIPUB_NODE:-$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')}
	policy=test/e2e/testdata/policy-whole.yaml
	make -s build
	export PATH=$PWD/bin:$PATH
	title "Installing into the cluster of $KUBECONFIG"
	show helm upgrade --install aipub charts/aipub --namespace aipub-system --create-namespace \
		--set "image.repository=${AIPUB_IMAGE%:*}" --set "image.tag=${AIPUB_IMAGE##*:}" --wait --timeout 5m
fi

title "1. The administrator labels a node and writes one policy"
show kubectl label node "$node" aipub.io/pool=demo --overwrite
note "What would it do? (nothing is changed yet)"
show kubectl aipub plan -f "$policy" --dry-run
show kubectl apply -f "$policy"
await "the node is divided" 60 sh -c "kubectl get nodepartition $node -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].reason}' | grep -qx Applied"
await "the policy is Ready" 60 kubectl wait partitionpolicy/demo --for=condition=Ready --timeout=1s
[ -z "$own" ] || await "the kubelet offers the sets" 60 offers mig-small 4
await "the sets are counted" 60 sh -c "! kubectl aipub sets 2>&1 | grep -qE 'Pending|NotOffered|note:'"
show kubectl aipub nodes
show kubectl aipub sets
if [ -z "$own" ]; then
	note "The rest of the demo needs its own simulated node; run it without KUBECONFIG. To try a pod: kubectl apply -f examples/"
	exit 0
fi

title "2. A researcher asks for a set, and for nothing else"
show kubectl apply -f test/demo/namespace.yaml
# What a run that was interrupted has left: its Jobs would make pods anew, and its quota hold them.
kubectl -n demo delete workspaces,deployments,jobs,pods --all --wait >/dev/null
kubectl delete --ignore-not-found -f test/demo/quota.yaml -f test/demo/reclaim.yaml >/dev/null
await "the node is free" 60 offers small 4
show cat test/demo/small.yaml
show kubectl apply -f test/demo/small.yaml
show kubectl -n demo wait pod/small --for=condition=Ready --timeout=60s
note "CPU and memory were filled in, and exactly one GPU is visible:"
show kubectl -n demo get pod small -o "jsonpath={.spec.containers[0].resources}"
echo
show kubectl -n demo exec small -- sh -c 'env | grep AIPUB; ls /dev | grep nvidia'
note "A second size runs beside it on the same GPU; what overlaps is not offered any more:"
show kubectl apply -f test/demo/medium.yaml
show kubectl -n demo wait pod/medium --for=condition=Ready --timeout=60s
await "the overlap shows" 30 offers medium 1
show kubectl aipub nodes "$node"
show kubectl -n demo delete pod small medium --wait
await "everything is back" 30 offers medium 2
show kubectl aipub sets

title "3. Restarts: kubelet, agent, node"
show kubectl apply -f test/demo/mig.yaml
show kubectl -n demo wait pod/mig --for=condition=Ready --timeout=60s
before=$(kubectl -n demo get pod mig -o 'jsonpath={.status.containerStatuses[0].containerID}')
show test/cluster/cluster.sh restart kubelet
await "everything is offered again" 60 offers mig-small 4
[ "$(kubectl -n demo get pod mig -o 'jsonpath={.status.containerStatuses[0].containerID}')" = "$before" ]
note "The same container runs: $before"
show kubectl -n aipub-system delete pod -l app.kubernetes.io/component=node --wait --grace-period=1
await "the agent is back" 60 sh -c "kubectl -n aipub-system wait pod -l app.kubernetes.io/component=node --for=condition=Ready --timeout=1s"
[ "$(kubectl -n demo get pod mig -o 'jsonpath={.status.containerStatuses[0].containerID}')" = "$before" ]
note "And still: $before"
kubectl -n demo delete pod mig --wait >/dev/null
note "A reboot of the node: the MIG instances are gone, and the agent makes them anew, under the same slice IDs."
show kubectl apply -f test/demo/deployment.yaml
show kubectl -n demo rollout status deployment/reborn --timeout=60s
slices() { kubectl get nodepartition "$node" -o 'jsonpath={range .status.slices[?(@.mig)]}{.id}{"\n"}{end}'; }
instances() { kubectl get nodepartition "$node" -o 'jsonpath={range .status.slices[?(@.mig)]}{.id} is {.mig.uuid}{"\n"}{end}'; }
before=$(slices)
instances
show test/cluster/cluster.sh reboot
await "everything is offered again" 90 offers mig-small 4
await "the controller is back" 90 kubectl -n aipub-system rollout status deployment/aipub-controller --timeout=1s
await "the Deployment's pod runs again" 120 kubectl -n demo rollout status deployment/reborn --timeout=1s
instances
[ "$(slices)" = "$before" ]
note "Pods that ran before a reboot are refused by the kubelet when it starts (kubernetes#128043); their controllers replace them:"
show kubectl -n demo get pods
kubectl -n demo delete deployment reborn --wait --cascade=foreground >/dev/null
kubectl -n demo delete pods --all --wait >/dev/null

title "4. Dynamic Allocation: what is idle is lent, and taken back at once"
kubectl -n demo delete pods --all --wait >/dev/null
await "the node is free" 60 offers medium 2
show kubectl apply -f test/demo/tenants.yaml
show kubectl -n demo wait pod/one pod/two --for=condition=Ready --timeout=60s
now() { date -u +%FT%T.%NZ; }
busy=$(now)
note "Both are busy: half of the GPU each."
sleep 5
show kubectl aipub top --once
note "One rests: the other one has all of it."
show kubectl -n demo exec one -- kill -USR1 1
idle=$(now)
sleep 5
show kubectl aipub top --once
note "It wakes: it has its half back at once (RECLAIM says how long it waited)."
show kubectl -n demo exec one -- kill -USR2 1
woken=$(now)
sleep 5
show kubectl aipub top --once
mkdir -p out
for pod in one two; do kubectl -n demo logs --timestamps $pod >out/$pod.log; done
go run ./test/demo/plot --title "Two pods with half a GPU each" --note "simulated GPU, real kubelet; GPU time in windows of 0.1 s, as the programs measured it" \
	--mark "$busy=both busy" --mark "$idle=one rests: two borrows" --mark "$woken=one wakes: has its share back" \
	one:50=out/one.log two:50=out/two.log >out/sharing.svg
note "What the programs measured, as a picture: out/sharing.svg"
kubectl -n demo delete pod one two --wait >/dev/null

title "5. Quotas for the project and for each person, and a queue that can be ordered"
await "the node is free" 60 offers small 4
show kubectl apply -f test/demo/quota.yaml
await "the quota is in force" 30 sh -c "kubectl get resourcesetquota demo -o 'jsonpath={.status.observedGeneration}' | grep -q ."
show kubectl --as alice apply -f test/demo/workspace-notebook.yaml
show kubectl -n demo wait pod/notebook --for=condition=Ready --timeout=60s
note "A second Workspace is above what one person may have: refused at once."
refused kubectl --as alice apply -f test/demo/workspace-second.yaml
note "Jobs wait instead. The first one takes what the project has left:"
show kubectl --as bob apply -f test/demo/jobs.yaml
await "the first Job runs" 60 kubectl -n demo wait pod -l job-name=first --for=condition=Ready --timeout=1s
await "the others wait" 60 sh -c "[ \$(kubectl aipub queue demo 2>/dev/null | grep -c /job/) = 3 ]"
show kubectl aipub queue demo
show kubectl aipub why -n demo "$(kubectl -n demo get pods -l job-name=urgent -o 'jsonpath={.items[0].metadata.name}')"
note "An administrator moves one to the front, after a look at whom that delays:"
show kubectl aipub queue promote demo/job/urgent --dry-run
show kubectl aipub queue promote demo/job/urgent
show kubectl -n demo delete job first
show kubectl -n demo wait pod -l job-name=urgent --for=condition=Ready --timeout=60s
await "the quota says who holds it now" 30 sh -c "holders=\$(kubectl get resourcesetquota demo -o 'jsonpath={.status.holders[*].name}') && case \" \$holders \" in *' first '*) false ;; *' urgent '*) ;; *) false ;; esac"
show kubectl aipub quota demo
kubectl -n demo delete jobs,pods --all --wait >/dev/null
kubectl delete -f test/demo/quota.yaml >/dev/null

title "6. A Workspace that is forgotten gives its set back, and keeps its work"
await "the node is free" 60 offers small 4
show cat test/demo/reclaim.yaml
show kubectl apply -f test/demo/reclaim.yaml
show kubectl aipub workspace create lab --as alice -n demo --set small --image aipub.test/busybox:1 --home 1Gi:demo-disk --wait -- sh -c 'trap "exit 0" TERM; while sleep 1; do :; done'
note "alice works in it: a file in her home, and a package in the container itself."
show kubectl -n demo exec lab-0 -- sh -c 'echo results >/home/user/notes; echo 1.0 >/package'
note "An hour is long for a demo, so the clock is told that 59 minutes 45 seconds have passed:"
await "its clock runs" 60 sh -c "kubectl -n demo get workspace lab -o 'jsonpath={.status.occupancy.expiresAt}' | grep -q ."
show kubectl -n demo patch workspace lab --subresource status --type merge -p '{"status":{"occupancy":{"heldSeconds":3585}}}'
await "she is warned" 60 sh -c "kubectl -n demo get events --field-selector involvedObject.name=lab -o 'jsonpath={.items[*].reason}' | grep -q ReclaimWarning"
show kubectl aipub workspace list -n demo
await "it is paused" 120 kubectl -n demo wait workspace/lab --for=jsonpath='{.status.phase}'=Paused --timeout=1s
show kubectl aipub workspace show lab -n demo
note "Its set is free. She comes back, and so does everything she had:"
show kubectl aipub workspace resume lab --as alice -n demo --wait
show kubectl -n demo exec lab-0 -- cat /home/user/notes /package
kubectl -n demo delete workspace lab --wait >/dev/null
kubectl delete -f test/demo/reclaim.yaml >/dev/null
await "its pod is gone" 60 sh -c "! kubectl -n demo get pod lab-0"

title "7. What cannot be is refused, with a sentence"
await "admission answers" 60 kubectl apply --dry-run=server -f test/demo/small.yaml
for f in test/demo/refused/*.yaml; do
	note "$(head -1 "$f")"
	refused kubectl apply -f "$f"
done

title "Done"
note "The cluster is still there: eval \"\$(test/cluster/cluster.sh env)\"; PATH=\$PWD/bin:\$PATH; make cluster-down stops it."
