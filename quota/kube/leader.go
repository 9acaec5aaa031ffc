// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/gate"
)

// EventRecorder tells the cluster what happened to an object.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Config are the settings of a Leader.
type Config struct {
	// Namespace in which the fence's ConfigMap is.
	Namespace string
	// Holder names this process, unlike any other that is or was.
	Holder string
	// Client reads from the API server itself, past any cache. It should not be
	// limited in its rate: the loop waits for each answer as it is.
	Client client.Client
	// Events records what happens to pods and workloads; nil records nothing.
	Events EventRecorder
	// Observe is told of each round, for metrics; it may be nil.
	Observe func(Round)
	// Clock; nil is the machine's.
	Clock clock.Clock
	// Batch is how many gates are opened on one intent; 0: 64.
	Batch int
	// Most is how many gates one decision opens; 0: 256.
	Most int
	// Writers is how many requests are under way at once; 0: 16.
	Writers int
}

// Round is what came of one round of the loop.
type Round struct {
	Epoch int64
	// Took is how long the decision took, without the requests.
	Took time.Duration
	// Opened counts openings by grade, Yielded pods asked to go, by reason.
	Opened, Yielded map[string]int
	// Waiting counts pods by project and reason; nil where not all were looked at.
	Waiting map[ProjectReason]int
	// Conflicts are openings that found a pod changed, Unknown those whose outcome
	// had to be settled.
	Conflicts, Unknown int
}

// ProjectReason is a project and a reason to wait.
type ProjectReason struct{ Project, Reason string }

// Leader opens gates. Only one of all replicas' runs at a time, and it proves so
// before each batch.
type Leader struct {
	watch   *Watch
	config  Config
	client  client.Client
	fence   *fence
	nodes   nodeCache
	keeper  gate.Keeper
	refused map[string]time.Time            // until when a pod is not asked to go again
	told    map[string]time.Time            // when a pod's condition was written
	sets    map[string]*api.ResourceSetSpec // as the round sees them
	nonce   int64
	round   Round
	latest  latest

	mu sync.Mutex
	// misfits are to be made again, since they cannot be given the size of their sets.
	misfits []lostPod
}

// replace notes a pod to be made again.
func (l *Leader) replace(p lostPod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.misfits = append(l.misfits, p)
}

// latest is what the last full round saw and decided, for statuses.
type latest struct {
	mu   sync.Mutex
	view *view
	plan *gate.Plan
}

func (l *latest) set(v *view, p *gate.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view, l.plan = v, p
}

func (l *latest) get() (*view, *gate.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view, l.plan
}

// NewLeader makes a leader that knows what a watch knows.
func NewLeader(w *Watch, config Config) *Leader {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	config.Batch, config.Most, config.Writers = orElse(config.Batch, 64), orElse(config.Most, 256), orElse(config.Writers, 16)
	return &Leader{
		watch: w, config: config, client: config.Client, refused: map[string]time.Time{}, told: map[string]time.Time{},
		fence: &fence{
			client: config.Client, holder: config.Holder, now: config.Clock.Now,
			name: client.ObjectKey{Namespace: config.Namespace, Name: FenceName},
		},
	}
}

func orElse(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

// NeedLeaderElection says that only the elected replica runs it.
func (l *Leader) NeedLeaderElection() bool { return true }

const (
	gather = 20 * time.Millisecond // changes that come together are looked at together
	idle   = 10 * time.Second      // a round comes at least this often, for what time alone changes
	retry  = time.Second           // after an error
)

// Start leads until the context ends, or another leader has taken over: then it
// returns an error, and the process must end.
func (l *Leader) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx).WithName("gates")
	ctx = logr.NewContext(ctx, log)
	if err := l.watch.wait(ctx); err != nil {
		return err
	}
	if err := l.begin(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	l.watch.leading.Store(true)
	defer l.watch.leading.Store(false)
	var writer sync.WaitGroup
	defer writer.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writer.Go(func() { l.writeStatuses(ctx) })
	return ignoreEnd(ctx, l.run(ctx))
}

// ignoreEnd leaves out errors that come of the context's end.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, errDeposed) {
		return nil
	}
	return err
}

// begin makes this the only leader and learns what is charged. It tries until it
// has.
func (l *Leader) begin(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for {
		err := l.takeOver(ctx)
		if err == nil {
			return nil
		}
		log.Error(err, "Take over the gates")
		if !l.sleep(ctx, retry) {
			return ctx.Err()
		}
	}
}

func (l *Leader) takeOver(ctx context.Context) error {
	start := l.config.Clock.Now()
	inherited, err := l.fence.takeOver(ctx)
	if err != nil {
		return err
	}
	l.watch.model.inherit(inherited)
	l.settle(ctx)
	n, err := l.relist(ctx)
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("Took over the gates", "epoch", l.fence.record.Epoch,
		"inherited", len(inherited), "pods", n, "took", l.config.Clock.Now().Sub(start).String())
	return nil
}

// run decides whenever something changed.
func (l *Leader) run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for {
		changed, turn := l.watch.model.wait()
		more, err := l.pass(ctx)
		pause := max(gather, l.round.Took)
		switch {
		case errors.Is(err, errDeposed), ctx.Err() != nil:
			return err
		case err != nil:
			log.Error(err, "Open gates")
			pause = retry
		case more:
			continue
		default:
			if _, now := l.watch.model.wait(); now == turn {
				l.await(ctx, changed)
			}
		}
		if !l.sleep(ctx, pause) {
			return nil
		}
	}
}

// await waits for a change, or until time alone may have changed something.
func (l *Leader) await(ctx context.Context, changed <-chan struct{}) {
	timer := l.config.Clock.NewTimer(idle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C():
	}
}

func (l *Leader) sleep(ctx context.Context, d time.Duration) bool {
	timer := l.config.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// pass is one round: settle, decide, carry out. more is true when another one has
// work at once.
func (l *Leader) pass(ctx context.Context) (more bool, err error) {
	l.round = Round{Epoch: l.fence.record.Epoch, Opened: map[string]int{}, Yielded: map[string]int{}}
	l.settle(ctx)
	v, err := l.view(ctx)
	if err != nil {
		return false, err
	}
	start := time.Now()
	plan := l.keeper.Decide(v.Snapshot, l.config.Most)
	l.round.Took = time.Since(start)
	if err := l.carryOut(ctx, &v, &plan); err != nil {
		return false, err
	}
	l.latest.set(&v, &plan)
	l.report(&plan)
	return plan.More || len(v.unmanaged) > l.config.Most, nil
}

func (l *Leader) view(ctx context.Context) (view, error) {
	cluster, err := readCluster(ctx, l.watch.reader, &l.nodes)
	if err != nil {
		return view{}, fmt.Errorf("look at the cluster: %w", err)
	}
	l.sets = cluster.sets
	return l.watch.model.snapshot(cluster, l.config.Clock.Now()), nil
}

func (l *Leader) carryOut(ctx context.Context, v *view, plan *gate.Plan) error {
	if err := l.openAll(ctx, plan.Open); err != nil {
		return err
	}
	if err := l.openUnmanaged(ctx, v.unmanaged); err != nil {
		return err
	}
	lost := slices.Concat(v.lost, l.misfits)
	l.misfits = nil
	if len(plan.Yield)+len(lost) == 0 {
		return nil
	}
	// Nobody is asked to go by a leader that is none any more.
	if err := l.fence.check(ctx); err != nil {
		return err
	}
	l.watch.model.freed(plan.Freed, l.yield(ctx, plan.Yield))
	l.replaceLost(ctx, lost)
	return nil
}

func (l *Leader) report(plan *gate.Plan) {
	if !plan.More {
		l.round.Waiting = map[ProjectReason]int{}
		for i := range plan.Wait {
			w := &plan.Wait[i]
			l.round.Waiting[ProjectReason{w.Claim.Party.Project, w.Reason}]++
		}
	}
	if l.config.Observe != nil {
		l.config.Observe(l.round)
	}
	for uid, until := range l.refused {
		if l.config.Clock.Now().After(until) {
			delete(l.refused, uid)
		}
	}
}

// event records what happened to an object, where somebody records it.
func (l *Leader) event(object runtime.Object, kind, reason, action, note string) {
	if l.config.Events != nil {
		l.config.Events.Eventf(object, nil, kind, reason, action, "%s", short(note))
	}
}

// maxNote is the longest note that the API server takes in an event.
const maxNote = 1000

func short(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return note[:maxNote-4] + " …"
}

// podRef names a pod for an event.
func podRef(namespace, name, uid string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = namespace, name, typeUID(uid)
	return pod
}
