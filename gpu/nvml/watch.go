// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// WatchConfig shapes a health watch. Zero values mean the defaults.
type WatchConfig struct {
	// GPUs are the UUIDs to watch. Default: all that the driver knows.
	GPUs []string
	// IgnoreXids never count, CriticalXids always do; IgnoreXids wins.
	IgnoreXids, CriticalXids []uint64
	// ProbeEvery is the time between two looks at each GPU; default 10 s. It
	// bounds how long a GPU that vanished without an event goes unnoticed.
	ProbeEvery time.Duration
	// ProbeTimeout is how long a GPU may take to answer; default 10 s.
	ProbeTimeout time.Duration
	// StableFor is how long a GPU must be fit before it counts as healthy
	// again; default 30 s.
	StableFor time.Duration
	// Clock is the time source; default the machine's.
	Clock clock.WithTicker
}

// waitSlice bounds one wait for an event, and so how long Watch takes to end.
const waitSlice = 500 * time.Millisecond

// retryPause keeps a failing wait from spinning.
const retryPause = time.Second

func (c WatchConfig) withDefaults() WatchConfig {
	if c.ProbeEvery <= 0 {
		c.ProbeEvery = 10 * time.Second
	}
	if c.ProbeTimeout <= 0 {
		c.ProbeTimeout = 10 * time.Second
	}
	if c.StableFor <= 0 {
		c.StableFor = 30 * time.Second
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

func (c WatchConfig) rules() xidRules {
	set := func(xids []uint64) map[uint64]bool {
		m := make(map[uint64]bool, len(xids))
		for _, x := range xids {
			m[x] = true
		}
		return m
	}
	return xidRules{ignore: set(c.IgnoreXids), critical: set(c.CriticalXids)}
}

// Watch reports the health of each GPU once, then its changes, until ctx ends,
// and then returns nil. emit is called from one goroutine; it must not block for
// long, because events wait behind it.
//
// GPUs that cannot be watched for events are still probed. The error says that
// watching is impossible altogether; it is ErrUnloaded when the driver went
// away, and the health of every GPU is unknown then.
func (d *Driver) Watch(ctx context.Context, c WatchConfig, emit func(Event)) error {
	c = c.withDefaults()
	if len(c.GPUs) == 0 {
		uuids, err := d.uuids(ctx)
		if err != nil {
			return err
		}
		c.GPUs = uuids
	}
	w := &watcher{
		driver:  d,
		config:  c,
		emit:    emit,
		log:     logr.FromContextOrDiscard(ctx).WithName("health"),
		tracker: newTracker(c.StableFor, c.rules()),
		probes:  make(chan probe, len(c.GPUs)),
		probing: map[string]bool{},
		broken:  map[string]bool{},
	}
	return w.run(ctx)
}

// uuids lists the GPUs that answer.
func (d *Driver) uuids(ctx context.Context) ([]string, error) {
	return call(ctx, d, func() ([]string, error) {
		count, ret := d.api.DeviceGetCount()
		if ret != gonvml.SUCCESS {
			return nil, fmt.Errorf("count GPUs: %w", check(ret))
		}
		var out []string
		for i := range count {
			if uuid, err := d.identify(i); err == nil {
				out = append(out, uuid)
			} else if uuid := d.lastAt(i); uuid != "" {
				out = append(out, uuid)
			}
		}
		return out, nil
	})
}

// watcher is one running watch. Its fields belong to the goroutine of run.
type watcher struct {
	driver  *Driver
	config  WatchConfig
	emit    func(Event)
	log     logr.Logger
	tracker *tracker
	probes  chan probe
	probing map[string]bool // probes under way
	broken  map[string]bool // whole GPUs that were told to be unhealthy
	set     gonvml.EventSet
}

func (w *watcher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, wait, err := w.subscribe(ctx)
	if err != nil {
		return err
	}
	defer wait()
	defer cancel() // before wait

	tick := w.config.Clock.NewTicker(w.config.ProbeEvery)
	defer tick.Stop()
	w.startProbes(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			w.startProbes(ctx)
		case p := <-w.probes:
			w.probing[p.gpu] = false
			if p.unloaded {
				return fmt.Errorf("watch GPUs: %w", ErrUnloaded)
			}
			w.tell(w.tracker.probed(w.config.Clock.Now(), p))
		case raw := <-events:
			w.handle(ctx, raw)
		}
	}
}

// tell hands events on. A whole GPU that is fit again may be a new device to the
// driver, so its events are asked for anew.
func (w *watcher) tell(events []Event) {
	for _, e := range events {
		if e.GIID < 0 && !e.Health.OK {
			w.broken[e.GPU] = true
		}
		if e.GIID < 0 && e.Health.OK && w.broken[e.GPU] {
			w.broken[e.GPU] = false
			if err := w.driver.register(e.GPU, w.set); err != nil {
				w.log.Info("GPU cannot be watched for events, only probed", "gpu", e.GPU, "reason", err.Error())
			}
		}
		w.log.V(1).Info("health told", "gpu", e.GPU, "gi", e.GIID, "ci", e.CIID, "ok", e.Health.OK, "reason", e.Health.Reason)
		w.emit(e)
	}
}

// startProbes looks at every GPU that is not being looked at.
func (w *watcher) startProbes(ctx context.Context) {
	for _, uuid := range w.config.GPUs {
		w.startProbe(ctx, uuid)
	}
}

// startProbe looks at one GPU without its lock: a creation under way must not
// pass for a lost device.
func (w *watcher) startProbe(ctx context.Context, uuid string) {
	if w.probing[uuid] {
		return
	}
	w.probing[uuid] = true
	go func() {
		limit, cancel := context.WithTimeout(ctx, w.config.ProbeTimeout)
		defer cancel()
		p, err := call(limit, w.driver, func() (probe, error) { return w.driver.probe(uuid) })
		p.gpu = uuid
		p.slow = errors.Is(err, context.DeadlineExceeded)
		p.unloaded = errors.Is(err, ErrUnloaded)
		p.lost = err != nil && !p.slow && !p.unloaded
		w.probes <- p // has room for one of each GPU
	}()
}
