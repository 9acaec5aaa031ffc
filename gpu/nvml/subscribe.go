// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"sync"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// migConfigChange is nvmlEventMigConfigChange of nvml.h, which go-nvml names
// differently from its other events.
const migConfigChange = 0x100

// wanted are the events that say something about health or partitioning.
const wanted = gonvml.EventTypeXidCriticalError | gonvml.EventTypeDoubleBitEccError | migConfigChange |
	gonvml.EventTypeGpuRecoveryAction | gonvml.EventTypeFatalPoisonError | gonvml.EventTypeGpuUnavailableError

// rawEvent is an event in the driver's terms, with the GPU's UUID.
type rawEvent struct {
	where scope
	kind  uint64
	data  uint64
	// lost: the wait failed because some GPU is lost; nothing else is set.
	lost bool
}

// subscribe registers the GPUs and starts waiting. The channel carries events
// until ctx ends; wait returns when the driver's resources are given back.
func (w *watcher) subscribe(ctx context.Context) (events <-chan rawEvent, wait func(), err error) {
	set, ret := w.driver.api.EventSetCreate()
	if ret != gonvml.SUCCESS {
		return nil, nil, fmt.Errorf("create event set: %w", check(ret))
	}
	w.set = set
	registered := 0
	for _, uuid := range w.config.GPUs {
		if err := w.driver.register(uuid, set); err != nil {
			w.log.Info("GPU cannot be watched for events, only probed", "gpu", uuid, "reason", err.Error())
			continue
		}
		registered++
	}
	out := make(chan rawEvent)
	var done sync.WaitGroup
	done.Go(func() {
		if registered > 0 {
			w.driver.pump(ctx, set, out)
		}
		<-ctx.Done()   // GPUs may still be registered until then
		_ = set.Free() // the driver frees what an unloaded session leaves
	})
	return out, done.Wait, nil
}

// register subscribes to those of the wanted events that the GPU supports. It
// uses the parent handle: events of MIG instances arrive through it.
func (d *Driver) register(uuid string, set gonvml.EventSet) error {
	b, err := d.board(uuid)
	if err != nil {
		return err
	}
	supported, ret := b.device().GetSupportedEventTypes()
	if ret != gonvml.SUCCESS {
		return fmt.Errorf("read supported events: %w", check(ret))
	}
	mask := supported & wanted
	if mask == 0 {
		return fmt.Errorf("none of the wanted events is supported (supported: %#x)", supported)
	}
	if ret := b.device().RegisterEvents(mask, set); ret != gonvml.SUCCESS {
		return fmt.Errorf("register events %#x: %w", mask, check(ret))
	}
	return nil
}

// pump moves events from the driver to the channel until ctx ends. A wait is
// cut into slices because it cannot be interrupted.
func (d *Driver) pump(ctx context.Context, set gonvml.EventSet, out chan<- rawEvent) {
	for ctx.Err() == nil {
		data, ret := set.Wait(uint32(waitSlice / time.Millisecond))
		var e rawEvent
		switch ret {
		case gonvml.ERROR_TIMEOUT:
			continue
		case gonvml.SUCCESS:
			uuid, ret := data.Device.GetUUID()
			if ret != gonvml.SUCCESS {
				e = rawEvent{lost: true}
				break
			}
			e = rawEvent{
				where: scope{uuid, instanceID(data.GpuInstanceId), instanceID(data.ComputeInstanceId)},
				kind:  data.EventType,
				data:  data.EventData,
			}
		default:
			e = rawEvent{lost: true}
		}
		select {
		case out <- e:
		case <-ctx.Done():
			return
		}
		if e.lost {
			pause(ctx, retryPause)
		}
	}
}

// pause waits in real time: it keeps the driver's waits apart.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// handle turns one raw event into findings.
func (w *watcher) handle(ctx context.Context, e rawEvent) {
	if e.lost {
		w.startProbes(ctx)
		return
	}
	w.log.V(1).Info("driver event", "gpu", e.where.gpu, "gi", e.where.gi, "ci", e.where.ci, "type", e.kind, "data", e.data)
	if e.kind == migConfigChange {
		w.migChanged(ctx, e.where.gpu)
		return
	}
	r := w.recoveryOf(ctx, e.where.gpu)
	switch e.kind {
	case gonvml.EventTypeXidCriticalError:
		w.tell(w.tracker.xid(e.where, e.data, r))
	case gonvml.EventTypeDoubleBitEccError:
		w.tell(w.tracker.hardware(e.where, ReasonECC, "double-bit ECC error", r))
	case gonvml.EventTypeGpuRecoveryAction:
		w.tell(w.tracker.action(e.where, r))
	case gonvml.EventTypeFatalPoisonError:
		w.tell(w.tracker.hardware(e.where, ReasonFault, "fatal memory poison error", r))
	case gonvml.EventTypeGpuUnavailableError:
		w.tell(w.tracker.hardware(e.where, ReasonFault, "the GPU reports itself unavailable", r))
	}
	w.startProbe(ctx, e.where.gpu)
}

// recoveryOf reads the recovery action, within the time that a probe may take.
// A GPU that does not answer has an unknown one.
func (w *watcher) recoveryOf(ctx context.Context, uuid string) recovery {
	limit, cancel := context.WithTimeout(ctx, w.config.ProbeTimeout)
	defer cancel()
	p, err := call(limit, w.driver, func() (probe, error) { return w.driver.probe(uuid) })
	if err != nil {
		return recovery{}
	}
	return p.recovery
}

// migChanged passes the news on, and drops faults of instances that are gone.
func (w *watcher) migChanged(ctx context.Context, uuid string) {
	limit, cancel := context.WithTimeout(ctx, w.config.ProbeTimeout)
	defer cancel()
	if w.tracker.faulty(uuid) {
		if instances, err := w.driver.Instances(limit, uuid); err == nil {
			w.tell(w.tracker.forget(uuid, func(gi int) bool {
				for _, i := range instances {
					if i.GIID == gi {
						return true
					}
				}
				return false
			}))
		}
	}
	w.emit(Event{Kind: MIGChanged, GPU: uuid, GIID: -1, CIID: -1})
}
